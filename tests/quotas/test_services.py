"""What services refuse, what they leave behind, and what may be repeated."""

import contextlib
import socket
import time
from dataclasses import replace
from datetime import timedelta

import pytest
import redis
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from dev.valkey import Valkey
from portal.celery import app
from quotas import services
from quotas.checks import wish_digest
from quotas.errors import Conflict, NotAllowed, Refused
from quotas.models import QuotaRequest, Review
from quotas.states import Action, Status
from tenants.models import Namespace, Transition
from tests.factories import AMOUNTS, NamespaceFactory, QuotaRequestFactory, approver, lead_of
from tests.quotas.actions import act, trace, wish

pytestmark = pytest.mark.django_db


def submit(request, *, actor=None, key="", **changes):
    return services.request_submit(
        actor=actor or lead_of(request.team),
        wish=wish(request, name=changes.pop("name", "another"), **changes),
        idempotency_key=key,
    )


@pytest.fixture
def stands():
    return QuotaRequestFactory()


REFUSED = {
    "no name": ({"name": ""}, "name"),
    "long name": ({"name": "a" * 64}, "name"),
    "reserved prefix": ({"name": "kube-foo"}, "name"),
    "reserved": ({"name": "default"}, "name"),
    "openshift": ({"name": "openshift-x"}, "name"),
    "capitals": ({"name": "Team"}, "name"),
    "nothing asked": (
        {"amounts": {k: v for k, v in AMOUNTS.items() if k != "pods"}},
        "amounts/pods",
    ),
    "more than there is": ({"amounts": {**AMOUNTS, "pods": "1000000"}}, "amounts/pods"),
    "a GPU nobody has": (
        {"amounts": {**AMOUNTS, "requests.amd.com/gpu": "1"}},
        "amounts/requests.amd.com/gpu",
    ),
    "default above": ({"limit_default_request": {"cpu": "2"}}, "limit_default_request/cpu"),
    "no reason": ({"reason": " \n"}, "reason"),
    "a novel": ({"reason": "x" * 2001}, "reason"),
    "past end": ({"ends_at": timezone.now() - timedelta(minutes=1)}, "ends_at"),
    "end before start": (
        {
            "starts_at": timezone.now() + timedelta(days=2),
            "ends_at": timezone.now() + timedelta(days=1),
        },
        "ends_at",
    ),
    "far future": ({"ends_at": timezone.now() + timedelta(days=40_000)}, "ends_at"),
    "far past": ({"starts_at": timezone.now() - timedelta(days=40_000)}, "starts_at"),
}


@pytest.mark.parametrize(("changes", "path"), REFUSED.values(), ids=REFUSED)
def test_submit_and_edit_refuse_alike(stands, changes, path):
    was = trace()
    with pytest.raises(Refused) as submitted:
        submit(stands, **changes)
    with pytest.raises(Refused) as edited:
        services.request_edit(
            actor=lead_of(stands.team), request=stands, version=1, wish=wish(stands, **changes)
        )
    assert set(submitted.value.problems) == set(edited.value.problems) == {path}
    assert trace() == was
    assert stands.version == 1


def test_a_team_in_which_nobody_works_gets_nothing(stands):
    stands.team.team_groups.filter(role="member").delete()
    with pytest.raises(Refused) as refused:
        submit(stands)
    assert set(refused.value.problems) == {"team"}


def test_a_waiting_request_reserves_its_name_on_its_cluster(stands):
    with pytest.raises(Refused) as refused:
        submit(stands, name=stands.name)
    assert set(refused.value.problems) == {"name"}
    elsewhere = QuotaRequestFactory(name=stands.name)
    assert elsewhere.cluster != stands.cluster


def test_a_namespace_holds_its_name_until_it_is_released(stands):
    namespace = NamespaceFactory(cluster=stands.cluster)
    with pytest.raises(Refused):
        submit(stands, name=namespace.name)
    Namespace.objects.update(released_at=timezone.now())
    assert submit(stands, name=namespace.name).name == namespace.name


def test_an_edit_may_keep_the_name_and_change_the_rest(stands):
    lead = lead_of(stands.team)
    services.request_edit(
        actor=lead, request=stands, version=1, wish=wish(stands, amounts={**AMOUNTS, "pods": "1"})
    )
    stands = QuotaRequest.objects.get()
    assert (stands.version, stands.editor, stands.amounts) == (2, lead, {**AMOUNTS, "pods": "1"})
    assert Transition.objects.get().data["amounts"] == {**AMOUNTS, "pods": "1"}


def test_an_approval_is_for_the_version_shown(stands):
    act(Action.EDIT, actor=lead_of(stands.team), request=stands)
    with pytest.raises(Conflict):
        act(Action.APPROVE, actor=approver(), request=stands, version=1)
    assert act(Action.APPROVE, actor=approver(), request=stands, version=2).status == "approved"


def test_an_edit_by_an_approver_bars_only_that_version():
    request = QuotaRequestFactory()
    both = lead_of(request.team)
    both.groups.append("berth-approvers")
    both.save()
    act(Action.EDIT, actor=both, request=request)
    with pytest.raises(NotAllowed):
        act(Action.APPROVE, actor=both, request=request, version=2)


def test_what_cannot_be_granted_any_more_is_not_approved(stands):
    QuotaRequest.objects.update(ends_at=timezone.now() - timedelta(seconds=1))
    was = trace()
    with pytest.raises(Refused) as refused:
        act(Action.APPROVE, actor=approver(), request=stands)
    assert set(refused.value.problems) == {"ends_at"}
    assert trace() == was
    assert stands.status == Status.SUBMITTED


def test_a_cluster_that_was_disabled_grants_nothing(stands):
    stands.cluster.enabled = False
    stands.cluster.save()
    with pytest.raises(Refused) as refused:
        act(Action.APPROVE, actor=approver(), request=QuotaRequest.objects.get())
    assert set(refused.value.problems) == {"cluster"}


@pytest.mark.parametrize("comment", ["", "  ", "x" * 2001])
def test_a_denial_needs_a_reason_of_some_length(stands, comment):
    with pytest.raises(Refused) as refused:
        services.request_deny(actor=approver(), request=stands, version=1, comment=comment)
    assert set(refused.value.problems) == {"comment"}
    assert not Review.objects.exists()


# --- repeating ------------------------------------------------------------------------------------


def test_the_same_key_and_wish_is_the_same_request(stands):
    lead = lead_of(stands.team)
    first = submit(stands, actor=lead, key="k")
    act(Action.WITHDRAW, actor=lead, request=first)
    again = submit(stands, actor=lead, key="k")
    assert (again, again.status) == (first, Status.WITHDRAWN)
    assert Transition.objects.filter(action="submit").count() == 1


def test_the_same_key_for_another_wish_is_a_conflict(stands):
    lead = lead_of(stands.team)
    submit(stands, actor=lead, key="k")
    for changes in ({"reason": "Other."}, {"amounts": {"pods": "1"}}, {"name": "other"}):
        with pytest.raises(Conflict):
            submit(stands, actor=lead, key="k", **changes)


def test_keys_are_each_person_s_own(stands):
    first = submit(stands, key="k", name="one")
    assert submit(stands, key="k", name="two") != first


def test_the_key_of_a_refused_wish_is_free_again(stands):
    lead = lead_of(stands.team)
    with pytest.raises(Refused):
        submit(stands, actor=lead, key="k", reason="")
    assert submit(stands, actor=lead, key="k").idempotency_key == "k"


def test_a_wish_s_fingerprint_knows_moments_not_zones(stands):
    moment = timezone.now()
    here = wish(stands, ends_at=moment)
    there = replace(here, ends_at=moment.astimezone(timezone.get_fixed_timezone(480)))
    assert wish_digest(here) == wish_digest(there)
    assert wish_digest(here) != wish_digest(replace(here, ends_at=None))


@pytest.mark.parametrize("action", [Action.APPROVE, Action.DENY, Action.WITHDRAW])
def test_the_same_person_s_same_decision_again(stands, action):
    actor = lead_of(stands.team) if action == Action.WITHDRAW else approver()
    act(action, actor=actor, request=stands)
    was = trace()
    again = act(action, actor=actor, request=QuotaRequest.objects.get())
    assert again.status == stands.status
    assert trace() == was
    with pytest.raises(Conflict):
        act(action, actor=actor, request=stands, version=2)
    other = lead_of(stands.team) if action == Action.WITHDRAW else approver()
    with pytest.raises(Conflict):
        act(action, actor=other, request=stands)


def test_a_denial_with_other_words_is_no_repeat(stands):
    actor = approver()
    act(Action.DENY, actor=actor, request=stands)
    with pytest.raises(Conflict):
        services.request_deny(actor=actor, request=stands, version=1, comment="Other words.")


# --- the nudge ------------------------------------------------------------------------------------


@pytest.fixture
def broker():
    """Points Celery at another broker, and back afterwards."""
    was = app.conf.broker_url

    def point(url):
        app.conf.broker_url = url
        app._after_fork()  # forgets connections

    yield point
    point(was)


def queue(valkey):
    return valkey.llen(f"{settings.REDIS_PREFIX}celery")


@pytest.mark.django_db(transaction=True)
def test_an_approval_nudges_once_committed(stands, valkey, broker):
    broker(app.conf.broker_url)
    with transaction.atomic():
        act(Action.APPROVE, actor=approver(), request=stands)
        assert queue(valkey) == 0
    assert queue(valkey) == 1


@pytest.mark.django_db(transaction=True)
def test_nothing_is_sent_on_rollback(stands, valkey, broker):
    broker(app.conf.broker_url)
    with transaction.atomic():
        act(Action.APPROVE, actor=approver(), request=stands)
        transaction.set_rollback(True)
    assert QuotaRequest.objects.get().status == Status.SUBMITTED
    assert queue(valkey) == 0


@pytest.fixture(params=["away", "full", "mute"])
def bad_broker(request, tmp_path):
    """The address of a broker that is not there, takes nothing, or says nothing."""
    with contextlib.ExitStack() as stack:
        if request.param == "full":
            valkey = stack.enter_context(Valkey(tmp_path / "valkey"))
            with redis.Redis.from_url(valkey.url) as client:
                client.config_set("maxmemory-policy", "noeviction")
                client.config_set("maxmemory", "1")
            yield valkey.url
        elif request.param == "mute":
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
        else:
            yield "redis://127.0.0.1:1/0"


@pytest.mark.django_db(transaction=True)
def test_with_the_broker_down_an_approval_answers_at_once(
    request, stands, broker, bad_broker, caplog
):
    """The approval stands and is dispatched later, by the sweep."""
    broker(bad_broker)
    start = time.monotonic()
    act(Action.APPROVE, actor=approver(), request=stands)
    # Only a broker that takes the connection and then says nothing costs its whole timeout.
    mute = settings.CELERY_BROKER_TRANSPORT_OPTIONS["socket_timeout"]
    assert time.monotonic() - start < (mute + 2 if request.node.callspec.id == "mute" else 2)
    assert Namespace.objects.get().observed_generation < Namespace.objects.get().generation
    assert "the sweep does it" in caplog.text
