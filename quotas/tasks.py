"""Celery's entry points. Each takes a key, may run twice, late or never, and decides nothing."""

import logging
from typing import Any
from uuid import UUID

from celery import shared_task
from celery.signals import worker_ready
from django.utils import timezone

from cluster import bridge
from cluster.errors import ClusterError
from quotas.reconcile import connection_of, namespace_reconcile, namespaces_due
from tenants.models import Cluster
from tenants.nudge import RECONCILE, nudge

log = logging.getLogger(__name__)


@shared_task(name=RECONCILE)
def reconcile_namespace(namespace_id: str) -> None:
    """Converge one namespace."""
    namespace_reconcile(UUID(namespace_id))


@shared_task(name="quotas.sweep")
def sweep() -> int:
    """Nudge every namespace that is behind, whatever became of its first nudge; how many."""
    due = namespaces_due(at=timezone.now())
    nudge(*due)
    return len(due)


@worker_ready.connect
def warm_up(**kwargs: Any) -> None:
    """Load the Kubernetes client and connect before somebody waits for it."""
    for cluster in Cluster.objects.filter(enabled=True):
        try:
            client = bridge.client_for(connection_of(cluster))
            bridge.run(client.version(), timeout=5)
        except ClusterError as error:
            log.info("cluster %s is not there yet: %s", cluster.slug, error)
