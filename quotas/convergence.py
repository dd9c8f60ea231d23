"""How far the cluster has come with a namespace, told for people. Pure: reads what is loaded."""

from dataclasses import dataclass
from typing import Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from cluster.steps import STEPS
from tenants.models import Cluster, Namespace
from tenants.states import READY, Condition, condition_of

NOT_STARTED = "NotStarted"

StepState = Literal["done", "current", "waiting", "failed", "pending"]
Health = Literal["ready", "updating", "waiting", "scheduled", "failed"]

# A step that this table does not know yet is shown by its condition's own name.
LABELS = {
    "NamespaceCreated": gettext_noop("Namespace created"),
    "LimitsApplied": gettext_noop("Defaults for containers set"),
    "QuotaApplied": gettext_noop("Quota set"),
    "QuotaEnforced": gettext_noop("Quota enforced by the cluster"),
    "RoleApplied": gettext_noop("Role in place"),
    "AccessBound": gettext_noop("Team has access"),
    "ServiceAccountReady": gettext_noop("Service account ready"),
    READY: gettext_noop("Ready to use"),
}
HEALTH = {
    "ready": gettext_noop("ready"),
    "updating": gettext_noop("being set up"),
    "waiting": gettext_noop("waiting for the cluster"),
    "scheduled": gettext_noop("starts later"),
    "failed": gettext_noop("stopped"),
}


@dataclass(frozen=True, kw_only=True)
class StepView:
    """One step on the way to Ready; `message` is the server's own words where it objects."""

    type: str
    label: str
    state: StepState
    reason: str
    message: str
    since: str


@dataclass(frozen=True, kw_only=True)
class Convergence:
    """All steps in order, and what they come to; `message` says what none of the steps says."""

    health: Health
    label: str
    message: str
    steps: list[StepView]
    done: int


def convergence_of(namespace: Namespace) -> Convergence:
    """How far this namespace has come. Its cluster must be loaded."""
    health = _health(namespace)
    steps: list[StepView] = []
    stuck = False
    for type in (*(step.condition for step in STEPS), READY):
        condition = condition_of(namespace.conditions, type)
        state = _state(condition, stuck=stuck, stopped=health in ("failed", "scheduled"))
        # Whatever comes after a step that is not done can't have been done for good either.
        stuck = stuck or state in ("current", "waiting", "failed")
        told = condition if state in ("waiting", "failed") else None
        steps.append(
            StepView(
                type=type,
                label=_(LABELS.get(type, type)),
                state=state,
                reason=told["reason"] if told else "",
                message=told["message"] if told else "",
                since=condition["lastTransitionTime"] if condition else "",
            )
        )
    message = _message(namespace, health)
    return Convergence(
        health=health,
        label=_(HEALTH[health]),
        message="" if any(step.message == message for step in steps) else message,
        steps=steps,
        done=sum(step.state == "done" for step in steps),
    )


def is_away(cluster: Cluster) -> bool:
    """Whether the cluster does not answer, or never has."""
    return cluster.lost_since is not None or cluster.watched_at is None


def _state(condition: Condition | None, *, stuck: bool, stopped: bool) -> StepState:
    if condition is None:
        return "pending" if stuck or stopped else "current"
    if condition["status"] == "True":
        return "done"
    # Ready repeats what an earlier step said: one place is enough to say it.
    if stuck or condition["reason"] == NOT_STARTED:
        return "pending"
    return "failed" if condition["status"] == "False" else "waiting"


def _health(namespace: Namespace) -> Health:
    ready = condition_of(namespace.conditions, READY)
    settled = namespace.observed_generation >= namespace.generation
    if ready and ready["status"] == "True":
        return "ready" if settled else "updating"
    if ready and settled:
        return "scheduled" if ready["reason"] == NOT_STARTED else "failed"
    if is_away(namespace.cluster) or ready:
        return "waiting"
    return "updating"


def _message(namespace: Namespace, health: Health) -> str:
    ready = condition_of(namespace.conditions, READY)
    if health == "waiting" and is_away(namespace.cluster):
        return namespace.cluster.lost_message or _("The cluster has not been reached yet.")
    if health == "ready" or ready is None:
        return ""
    return ready["message"]
