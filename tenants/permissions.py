"""Who a person is to the portal and to a team. Pure: groups in, answers out."""

from collections.abc import Collection
from enum import StrEnum

from django.conf import settings

from tenants.models import Team, TeamGroup, User


class Role(StrEnum):
    """A role on the whole portal, given by IdP groups that the settings name."""

    ADMIN = "admin"
    APPROVER = "approver"
    AUDITOR = "auditor"


def roles_of(groups: Collection[str] | None) -> frozenset[Role]:
    """The portal roles that these groups give; none where the provider did not say (None)."""
    named = {
        Role.ADMIN: settings.BERTH_ADMIN_GROUPS,
        Role.APPROVER: settings.BERTH_APPROVER_GROUPS,
        Role.AUDITOR: settings.BERTH_AUDITOR_GROUPS,
    }
    return frozenset(role for role, names in named.items() if set(names) & set(groups or ()))


def groups_of(user: User) -> list[str]:
    """The groups that give this person rights: none where unknown, or where switched off."""
    return user.groups or [] if user.is_active else []


def has_role(user: User, *roles: Role) -> bool:
    """Whether this person holds one of these roles on the whole portal."""
    return bool(roles_of(groups_of(user)) & set(roles))


def sees_everything(user: User) -> bool:
    """Approvers, auditors and admins see every team; others see their own."""
    return has_role(user, Role.ADMIN, Role.APPROVER, Role.AUDITOR)


def is_in_team(user: User, team: Team, role: TeamGroup.Role | None = None) -> bool:
    """Whether one of the person's groups is a group of the team (in this role, if one is named)."""
    groups = set(groups_of(user))
    return any(
        group.name in groups and role in (None, group.role) for group in team.team_groups.all()
    )


def leads(user: User, team: Team) -> bool:
    """Whether the person may ask for this team."""
    return is_in_team(user, team, TeamGroup.Role.LEAD)
