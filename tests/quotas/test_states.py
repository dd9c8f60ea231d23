"""Every state against every action, through the services, on PostgreSQL."""

import pytest
from django.db import DatabaseError, transaction

from quotas.errors import Conflict
from quotas.models import Grant, QuotaRequest, Review
from quotas.states import TRANSITIONS, Action, Status, after, before
from tenants.models import Namespace, Transition
from tests.factories import QuotaRequestFactory, approver, lead_of
from tests.quotas.actions import act, trace

pytestmark = pytest.mark.django_db

ACTOR = {Action.APPROVE: "approver", Action.DENY: "approver"}
ON_REQUESTS = [action for action in Action if action != Action.SUBMIT]


def somebody_for(action, request):
    return approver() if action in ACTOR else lead_of(request.team)


@pytest.mark.parametrize("action", ON_REQUESTS)
@pytest.mark.parametrize("status", Status)
def test_every_state_times_every_action(status, action):
    request = QuotaRequestFactory(status=status)
    actor = somebody_for(action, request)
    was = trace()
    expected = after(status, action)
    if expected is None:
        with pytest.raises(Conflict):
            act(action, actor=actor, request=request)
        assert trace() == was
        assert request.status == status
        return
    assert act(action, actor=actor, request=request).status == expected
    assert QuotaRequest.objects.get(pk=request.pk).status == expected
    line = Transition.objects.get(subject_type="request", subject_id=request.pk)
    assert (line.action, line.from_state, line.to_state) == (action, status, expected)
    assert (line.actor, line.team) == (actor, request.team)


def test_submit_makes_the_first_state():
    like = QuotaRequestFactory(status=Status.DENIED)
    made = act(Action.SUBMIT, actor=lead_of(like.team), request=like)
    assert made.status == after(None, Action.SUBMIT) == Status.SUBMITTED
    line = Transition.objects.get()
    assert (line.action, line.from_state, line.to_state) == ("submit", "", "submitted")


@pytest.mark.parametrize("status", Status)
def test_nothing_is_submitted_twice(status):
    assert after(status, Action.SUBMIT) is None


def test_the_table_knows_each_state_and_action():
    assert {action for _status, action in TRANSITIONS} == set(Action)
    assert set(TRANSITIONS.values()) == set(Status)
    assert before(Action.SUBMIT) == []


def test_approving_leaves_review_grant_namespace_and_two_lines():
    request = QuotaRequestFactory()
    act(Action.APPROVE, actor=approver(), request=request)
    namespace, grant, review = Namespace.objects.get(), Grant.objects.get(), Review.objects.get()
    assert (namespace.name, namespace.cluster) == (request.name, request.cluster)
    assert (namespace.generation, namespace.observed_generation) == (1, 0)
    assert (grant.amounts, grant.namespace) == (request.amounts, namespace)
    assert (review.decision, review.version) == ("approve", 1)
    assert request.namespace == namespace
    lines = Transition.objects.order_by("pk").values_list("subject_type", "action", "namespace")
    assert list(lines) == [("request", "approve", None), ("namespace", "grant", namespace.pk)]


@pytest.mark.parametrize("change", ["update", "delete"])
def test_the_history_cannot_be_rewritten(change):
    act(Action.WITHDRAW, actor=lead_of((r := QuotaRequestFactory()).team), request=r)
    lines = Transition.objects.all()
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        lines.update(reason="never") if change == "update" else lines.delete()
    assert Transition.objects.get().reason == ""
