"""Two at once, on real transactions: one outcome, one line of history each, the loser is told."""

import threading

import pytest
from django.db import connections

from quotas import services
from quotas.errors import Conflict, Refused
from quotas.models import Grant, QuotaRequest, Review
from quotas.states import Action, Status
from tenants.models import Namespace, Transition
from tests.factories import QuotaRequestFactory, approver, lead_of
from tests.quotas.actions import act, wish

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 6


def race(*calls):
    """Run these at once, each on its own connection; what each returned or raised."""
    barrier = threading.Barrier(len(calls))
    results = [None] * len(calls)

    def run(number, call):
        try:
            barrier.wait(timeout=10)
            results[number] = call()
        except (Conflict, Refused) as error:
            results[number] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert not any(thread.is_alive() for thread in threads)
    return results


def doing(action, request, actor):
    """The action on a copy of its own, as another process would have it."""
    own = QuotaRequest.objects.get(pk=request.pk)
    return lambda: act(action, actor=actor, request=own)


def lines(request):
    return list(
        Transition.objects.filter(subject_type="request", subject_id=request.pk).values_list(
            "action", flat=True
        )
    )


A, D, W, E = Action.APPROVE, Action.DENY, Action.WITHDRAW, Action.EDIT
OUTCOME = {A: Status.APPROVED, D: Status.DENIED, W: Status.WITHDRAWN, E: Status.SUBMITTED}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(A, A, id="Two approvers at once"),
        pytest.param(A, W, id="approve vs withdraw"),
        pytest.param(A, E, id="approver approves what the requester just edited"),
        pytest.param(D, A, id="deny vs approve"),
        pytest.param(D, D, id="two denials"),
        pytest.param(W, W, id="two withdrawals"),
        pytest.param(W, E, id="withdraw vs edit"),
        pytest.param(E, E, id="two edits"),
    ],
)
def test_one_wins(first, second):
    for _round in range(ROUNDS):
        request = QuotaRequestFactory()
        actors = [
            approver() if action in (A, D) else lead_of(request.team) for action in (first, second)
        ]
        results = race(doing(first, request, actors[0]), doing(second, request, actors[1]))
        lost = [isinstance(result, Conflict) for result in results]
        assert sorted(lost) == [False, True], results
        winner = lost.index(False)
        action = (first, second)[winner]
        request.refresh_from_db()
        assert request.status == OUTCOME[action]
        assert request.version == (2 if action == E else 1)
        assert request.editor == (actors[winner] if action == E else request.requester)
        assert lines(request) == [action]
        assert Review.objects.filter(request=request).count() == (action in (A, D))
        assert Grant.objects.filter(request=request).count() == (action == A)
        assert Namespace.objects.filter(name=request.name).count() == (action == A)


def submitting(actor, wanted, **options):
    return lambda: services.request_submit(actor=actor, wish=wanted, **options)


def editing(actor, request, wanted):
    return lambda: services.request_edit(actor=actor, request=request, version=1, wish=wanted)


def test_two_submits_of_the_same_name():
    for number in range(ROUNDS):
        stands = QuotaRequestFactory(status=Status.DENIED)
        wanted = wish(stands, name=f"wanted-at-once-{number}")
        results = race(*(submitting(lead_of(stands.team), wanted) for _ in range(2)))
        lost = [result for result in results if isinstance(result, Refused)]
        assert [list(error.problems) for error in lost] == [["name"]]
        made = QuotaRequest.objects.get(name=wanted.name)
        assert lines(made) == ["submit"]


def test_edit_to_a_name_that_another_submits():
    for number in range(ROUNDS):
        request = QuotaRequestFactory()
        wanted = wish(request, name=f"renamed-{number}")
        edited, submitted = race(
            editing(lead_of(request.team), request, wanted),
            submitting(lead_of(request.team), wanted),
        )
        assert sorted(isinstance(r, Refused) for r in (edited, submitted)) == [False, True]
        assert QuotaRequest.objects.filter(name=wanted.name).count() == 1
        request.refresh_from_db()
        assert request.version == (1 if isinstance(edited, Refused) else 2)


def test_the_same_submission_sent_twice_at_once():
    for number in range(ROUNDS):
        stands = QuotaRequestFactory(status=Status.DENIED)
        wanted = wish(stands, name=f"sent-twice-{number}")
        send = submitting(lead_of(stands.team), wanted, idempotency_key=f"key-{number}")
        first, second = race(send, send)
        assert first == second
        assert lines(first) == ["submit"]


@pytest.mark.parametrize("action", [A, D, W])
def test_the_same_decision_sent_twice_at_once(action):
    for _round in range(ROUNDS):
        request = QuotaRequestFactory()
        actor = lead_of(request.team) if action == W else approver()
        first, second = race(*(doing(action, request, actor) for _ in range(2)))
        assert first.status == second.status == OUTCOME[action]
        assert lines(request) == [action]
        assert Review.objects.filter(request=request).count() == (action in (A, D))
