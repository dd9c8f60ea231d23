"""The life of a request as one table. What people decide, never what the cluster has reached."""

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class Status(TextChoices):
    """Where a request stands among people."""

    SUBMITTED = "submitted", _("waiting for approval")
    APPROVED = "approved", _("approved")
    DENIED = "denied", _("denied")
    WITHDRAWN = "withdrawn", _("withdrawn")


class Action(TextChoices):
    """What somebody can do to a request."""

    SUBMIT = "submit", _("submit")
    EDIT = "edit", _("edit")
    APPROVE = "approve", _("approve")
    DENY = "deny", _("deny")
    WITHDRAW = "withdraw", _("withdraw")


# (state before, action) -> state after; what is missing here is not possible. None: not yet made.
TRANSITIONS: dict[tuple[Status | None, Action], Status] = {
    (None, Action.SUBMIT): Status.SUBMITTED,
    (Status.SUBMITTED, Action.EDIT): Status.SUBMITTED,
    (Status.SUBMITTED, Action.APPROVE): Status.APPROVED,
    (Status.SUBMITTED, Action.DENY): Status.DENIED,
    (Status.SUBMITTED, Action.WITHDRAW): Status.WITHDRAWN,
}


def after(status: Status | None, action: Action) -> Status | None:
    """The state that this action leads to, or None where it is not possible."""
    return TRANSITIONS.get((status, action))


def before(action: Action) -> list[Status]:
    """The states from which this action is possible."""
    return [was for was, what in TRANSITIONS if what == action and was is not None]
