"""Reads of requests and use, always as one person may see them."""

from django.db.models import Prefetch, QuerySet

from quotas.models import Grant, QuotaRequest
from quotas.states import Status
from tenants.models import Namespace, Team, User
from tenants.permissions import groups_of, sees_everything
from tenants.selectors import namespaces_visible


def requests_visible(user: User) -> QuerySet[QuotaRequest]:
    """The requests this person may see: of own teams, or all for those who watch over everybody."""
    requests = QuotaRequest.objects.select_related(
        "team", "cluster", "requester", "editor", "namespace__cluster"
    ).prefetch_related("team__team_groups", "reviews__reviewer")
    if sees_everything(user):
        return requests
    return requests.filter(team__in=Team.objects.filter(team_groups__name__in=groups_of(user)))


def requests_waiting(user: User) -> QuerySet[QuotaRequest]:
    """The visible requests that nobody has decided on, oldest first."""
    return requests_visible(user).filter(status=Status.SUBMITTED).order_by("submitted_at")


def namespaces_granted(user: User) -> QuerySet[Namespace]:
    """The namespaces this person may see, each with its grant, if any, in `live_grants`."""
    live = Grant.objects.filter(superseded_at=None)
    return namespaces_visible(user).prefetch_related(
        Prefetch("grants", queryset=live, to_attr="live_grants")
    )
