"""The part of the history that stands beside a request or a namespace."""

from django.db.models import Q

from tenants.models import Namespace, Transition, User
from tenants.selectors import history_visible

LINES = 50


def history_of(
    user: User, *, namespace: Namespace | None = None, request_id: int | None = None
) -> list[Transition]:
    """The newest lines about this request, and about the namespace that came of it."""
    about = Q(namespace=namespace) if namespace else Q()
    if request_id is not None:
        about |= Q(subject_type="request", subject_id=str(request_id))
    return list(history_visible(user).filter(about).distinct()[:LINES])
