"""Who may do what to a request. Pure apart from the team's groups, which callers prefetch."""

from quotas.models import QuotaRequest
from quotas.states import Action, Status, after
from tenants.models import Team, User
from tenants.permissions import Role, has_role, leads


def may_submit(user: User, team: Team) -> bool:
    """Leads ask for their team."""
    return leads(user, team)


def may(user: User, action: Action, request: QuotaRequest) -> bool:
    """Whether this person may do this to this request, as far as the person is concerned.

    Nobody decides on a request that they asked for or whose present version they wrote, whatever
    groups they are in. Whether the request's state allows it is another question (quotas.states).
    """
    if action in (Action.APPROVE, Action.DENY):
        own = user.pk in (request.requester_id, request.editor_id)
        return has_role(user, Role.APPROVER) and not own
    return leads(user, request.team)


def actions_open(user: User, request: QuotaRequest) -> set[Action]:
    """What this person may do to this request as it stands now."""
    status = Status(request.status)
    return {a for a in Action if may(user, a, request) and after(status, a) is not None}
