"""Conditions keep Kubernetes' rule: the time moves only when the status does."""

from datetime import UTC, datetime, timedelta

from tenants.states import condition_of, is_true, with_condition

AT = datetime(2027, 1, 1, tzinfo=UTC)


def ready(conditions, status, *, after=0, reason="R"):
    return with_condition(
        conditions,
        type="Ready",
        status=status,
        reason=reason,
        generation=1,
        at=AT + timedelta(seconds=after),
    )


def test_time_is_that_of_the_last_change_of_status():
    once = ready([], "False")
    again = ready(once, "False", after=60, reason="Other")
    assert condition_of(again, "Ready")["lastTransitionTime"] == AT.isoformat()
    assert condition_of(again, "Ready")["reason"] == "Other"
    changed = ready(again, "True", after=90)
    assert condition_of(changed, "Ready")["lastTransitionTime"] > AT.isoformat()
    assert len(changed) == 1


def test_never_set_is_not_true():
    assert not is_true([], "Ready")
    assert is_true(ready([], "True"), "Ready")
