"""Celery's entry points. Each takes a key, may run twice, late or never, and decides nothing."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from quotas.reconcile import namespace_reconcile, namespaces_due
from tenants.nudge import RECONCILE, nudge


@shared_task(name=RECONCILE)
def reconcile_namespace(namespace_id: str) -> None:
    """Converge one namespace."""
    namespace_reconcile(UUID(namespace_id))


@shared_task(name="quotas.sweep")
def sweep() -> int:
    """Nudge every namespace that is behind, whatever became of its first nudge; how many."""
    due = namespaces_due(at=timezone.now())
    for namespace_id in due:
        nudge(namespace_id)
    return len(due)
