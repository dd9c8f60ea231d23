"""What convergence can say of a namespace, in the form Kubernetes uses for conditions."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, NotRequired, TypedDict

Status = Literal["True", "False", "Unknown"]

# The condition that sums up the others.
READY = "Ready"


class Condition(TypedDict):
    """One condition, as in Kubernetes' `metav1.Condition`.

    `reason` is a CamelCase word for programs, `message` a sentence for people. `lastTransitionTime`
    is when `status` last changed, RFC 3339.
    """

    type: str
    status: Status
    reason: str
    message: str
    lastTransitionTime: str
    observedGeneration: NotRequired[int]


def with_condition(
    conditions: list[Condition],
    *,
    type: str,
    status: Status,
    reason: str,
    message: str = "",
    generation: int,
    at: datetime,
) -> list[Condition]:
    """`conditions` with that of this type set; its time moves only when its status does."""
    before = condition_of(conditions, type)
    unchanged = before is not None and before["status"] == status
    after = Condition(
        type=type,
        status=status,
        reason=reason,
        message=message,
        lastTransitionTime=before["lastTransitionTime"]
        if before is not None and unchanged
        else at.isoformat(),
        observedGeneration=generation,
    )
    kept = [c for c in conditions if c["type"] != type]
    return [*kept, after]


def condition_of(conditions: list[Condition], type: str) -> Condition | None:
    """The condition of this type, if it was ever set."""
    return next((c for c in conditions if c["type"] == type), None)


def is_true(conditions: list[Condition], type: str) -> bool:
    """Whether this condition was set and holds."""
    found = condition_of(conditions, type)
    return found is not None and found["status"] == "True"


def summary(conditions: list[Condition]) -> Mapping[str, Status]:
    """Type to status, for filters and metrics."""
    return {c["type"]: c["status"] for c in conditions}
