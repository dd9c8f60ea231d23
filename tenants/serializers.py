"""How the API writes people, teams, clusters and the history."""

from typing import Any

from rest_framework import serializers

from tenants.models import Cluster, Team, TeamGroup, Transition, User
from tenants.permissions import Role, is_in_team, roles_of


class PersonSerializer(serializers.ModelSerializer[User]):
    """Somebody, as others see them."""

    name = serializers.CharField(source="__str__", read_only=True)

    class Meta:
        model = User
        fields = ["id", "name"]
        read_only_fields = fields


class MembershipSerializer(serializers.ModelSerializer[Team]):
    """A team and what one is there."""

    roles = serializers.SerializerMethodField()

    class Meta:
        model = Team
        fields = ["id", "slug", "name", "roles"]
        read_only_fields = fields

    def get_roles(self, team: Team) -> list[TeamGroup.Role]:
        user = self.context["request"].user
        return [role for role in TeamGroup.Role if is_in_team(user, team, role)]


class MeSerializer(serializers.Serializer[User]):
    """Who the caller is to the portal.

    `groups` is null where the identity provider did not say, which is not the same as none: then
    nothing that a group would give is given.
    """

    id = serializers.UUIDField(read_only=True)
    issuer = serializers.CharField(read_only=True)
    subject = serializers.CharField(read_only=True)
    name = serializers.CharField(read_only=True)
    email = serializers.CharField(read_only=True)
    groups = serializers.ListField(child=serializers.CharField(), allow_null=True, read_only=True)
    groups_known = serializers.SerializerMethodField()
    roles = serializers.SerializerMethodField()
    teams = MembershipSerializer(many=True, read_only=True)

    def get_groups_known(self, user: User) -> bool:
        return user.groups is not None

    def get_roles(self, user: User) -> list[Role]:
        return sorted(roles_of(user.groups))


class TeamGroupSerializer(serializers.ModelSerializer[TeamGroup]):
    class Meta:
        model = TeamGroup
        fields = ["name", "role"]
        read_only_fields = fields


class TeamSerializer(serializers.ModelSerializer[Team]):
    """A team and its groups at the identity provider."""

    groups = TeamGroupSerializer(source="team_groups", many=True, read_only=True)

    class Meta:
        model = Team
        fields = ["id", "slug", "name", "groups"]
        read_only_fields = fields


class ClusterSerializer(serializers.ModelSerializer[Cluster]):
    """A cluster as the portal last saw it.

    `allocatable` is what all its nodes offer together, per resource, null until they were seen.
    `reachable` is null until the cluster was first tried; `watched_at` is up to when what is told
    of it is known to be current.
    """

    allocatable = serializers.DictField(
        child=serializers.CharField(), allow_null=True, read_only=True
    )
    reachable = serializers.SerializerMethodField()

    class Meta:
        model = Cluster
        fields = [
            "id",
            "slug",
            "name",
            "enabled",
            "allocatable",
            "reachable",
            "watched_at",
            "lost_since",
        ]
        read_only_fields = fields

    def get_reachable(self, cluster: Cluster) -> bool | None:
        if cluster.lost_since is not None:
            return False
        return True if cluster.watched_at is not None else None


class TransitionSerializer(serializers.ModelSerializer[Transition]):
    """One line of the history. `actor` is null where Berth itself acted."""

    team = serializers.SlugRelatedField[Team](slug_field="slug", read_only=True)
    actor = PersonSerializer(read_only=True, allow_null=True)
    data: Any = serializers.DictField(read_only=True)

    class Meta:
        model = Transition
        fields = [
            "id",
            "at",
            "subject_type",
            "subject_id",
            "action",
            "from_state",
            "to_state",
            "team",
            "namespace",
            "actor",
            "reason",
            "data",
        ]
        read_only_fields = fields
