"""Reads of requests and use, always as one person may see them."""

from django.db.models import QuerySet

from quotas.models import QuotaRequest
from quotas.states import Status
from tenants.models import Team, User
from tenants.permissions import sees_everything


def requests_visible(user: User) -> QuerySet[QuotaRequest]:
    """The requests this person may see: of own teams, or all for those who watch over everybody."""
    requests = QuotaRequest.objects.select_related(
        "team", "cluster", "requester", "namespace__cluster"
    ).prefetch_related("team__team_groups", "reviews__reviewer")
    if sees_everything(user):
        return requests
    return requests.filter(team__in=Team.objects.filter(team_groups__name__in=user.groups or []))


def requests_waiting(user: User) -> QuerySet[QuotaRequest]:
    """The visible requests that nobody has decided on, oldest first."""
    return requests_visible(user).filter(status=Status.SUBMITTED).order_by("submitted_at")
