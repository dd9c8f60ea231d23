"""Reads of teams, clusters and namespaces, always as one person may see them."""

from django.db.models import Q, QuerySet

from tenants.models import Cluster, Namespace, Team, TeamGroup, Transition, User
from tenants.permissions import groups_of, sees_everything


def teams_visible(user: User) -> QuerySet[Team]:
    """The teams this person may see: own ones, or all for those who watch over everybody."""
    if sees_everything(user):
        return Team.objects.prefetch_related("team_groups")
    return teams_of(user)


def teams_of(user: User) -> QuerySet[Team]:
    """The teams that one of this person's groups belongs to."""
    teams = Team.objects.prefetch_related("team_groups")
    return teams.filter(team_groups__name__in=groups_of(user)).distinct()


def teams_led(user: User) -> QuerySet[Team]:
    """The teams this person may ask for."""
    return (
        Team.objects.prefetch_related("team_groups")
        .filter(team_groups__name__in=groups_of(user), team_groups__role=TeamGroup.Role.LEAD)
        .distinct()
    )


def namespaces_visible(user: User) -> QuerySet[Namespace]:
    """The namespaces this person may see."""
    namespaces = Namespace.objects.select_related("cluster", "team")
    if sees_everything(user):
        return namespaces
    mine = Team.objects.filter(team_groups__name__in=groups_of(user))
    return namespaces.filter(team__in=mine)


def clusters_enabled() -> QuerySet[Cluster]:
    """The clusters on which something may be asked for."""
    return Cluster.objects.filter(enabled=True)


def clusters_visible(user: User) -> QuerySet[Cluster]:
    """The clusters this person may see: the enabled ones, or all."""
    return Cluster.objects.all() if sees_everything(user) else clusters_enabled()


def history_visible(user: User) -> QuerySet[Transition]:
    """The history lines this person may read: all, or those of the own teams."""
    lines = Transition.objects.select_related("actor", "team", "namespace__cluster")
    if sees_everything(user):
        return lines
    mine = Team.objects.filter(team_groups__name__in=groups_of(user))
    return lines.filter(Q(team__in=mine) | Q(namespace__team__in=mine))
