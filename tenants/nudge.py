"""Nudges: sent after commit, by task name, and never in the way of what they follow."""

import logging
from collections.abc import Sequence
from uuid import UUID

from celery import current_app
from django.db import transaction

log = logging.getLogger(__name__)

RECONCILE = "quotas.reconcile_namespace"


def nudge(*namespace_ids: UUID) -> None:
    """Ask for a reconcile of these namespaces once the transaction has committed.

    Losing it costs only time: the sweep finds every namespace that is behind. So a broker that is
    down is logged and nothing more.
    """
    transaction.on_commit(lambda: _send(namespace_ids), robust=True)


def _send(namespace_ids: Sequence[UUID]) -> None:
    try:
        for namespace_id in namespace_ids:
            current_app.send_task(RECONCILE, args=[str(namespace_id)], retry=False)
    # Whatever the broker's library raises: what was just committed stands.
    except Exception as error:
        log.warning("no nudge for %s and what follows, the sweep does it: %s", namespace_id, error)
