"""The API's reads of people, teams, clusters and the history, as the caller may see them."""

from typing import cast

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.mixins import ListModelMixin, RetrieveModelMixin
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from tenants.models import Cluster, Team, Transition, User
from tenants.selectors import clusters_visible, history_visible, teams_of, teams_visible
from tenants.serializers import (
    ClusterSerializer,
    MeSerializer,
    TeamSerializer,
    TransitionSerializer,
)


class MeView(APIView):
    """Who the caller is: identity, roles, teams, and whether the groups are known."""

    @extend_schema(responses=MeSerializer)
    def get(self, request: Request) -> Response:
        user = cast(User, request.user)
        user.teams = teams_of(user)  # type: ignore[attr-defined]
        return Response(MeSerializer(user, context={"request": request}).data)


class TeamViewSet(ListModelMixin, RetrieveModelMixin, GenericViewSet[Team]):
    """Teams: one's own, or all for those who watch over everybody."""

    queryset = Team.objects.none()
    serializer_class = TeamSerializer
    lookup_value_converter = "uuid"

    def get_queryset(self) -> QuerySet[Team]:
        return teams_visible(cast(User, self.request.user))


class ClusterViewSet(ListModelMixin, RetrieveModelMixin, GenericViewSet[Cluster]):
    """Clusters on which something can be asked for, with what they offer."""

    queryset = Cluster.objects.none()
    serializer_class = ClusterSerializer
    lookup_value_converter = "uuid"

    def get_queryset(self) -> QuerySet[Cluster]:
        return clusters_visible(cast(User, self.request.user))


class HistoryFilter(django_filters.FilterSet):
    """What happened to one thing, in one team, or by one action."""

    team = django_filters.CharFilter(field_name="team__slug")
    namespace = django_filters.UUIDFilter()
    subject_type = django_filters.CharFilter()
    subject_id = django_filters.CharFilter()
    action = django_filters.CharFilter()

    class Meta:
        model = Transition
        fields: list[str] = []


class HistoryViewSet(ListModelMixin, GenericViewSet[Transition]):
    """The history, newest first. Nothing in it is ever changed."""

    queryset = Transition.objects.none()
    serializer_class = TransitionSerializer
    filterset_class = HistoryFilter

    def get_queryset(self) -> QuerySet[Transition]:
        return history_visible(cast(User, self.request.user))
