"""Situations in which systems like this one failed, met at the API."""

import pytest

from quotas.models import QuotaRequest
from quotas.states import Status
from tests.caller import Caller, errors
from tests.factories import (
    AMOUNTS,
    ClusterFactory,
    NamespaceFactory,
    QuotaRequestFactory,
    TeamFactory,
    approver,
    auditor,
    lead_of,
)
from tests.quotas.actions import body, trace

pytestmark = pytest.mark.django_db

NUL, HALF = "a\x00b", "a\ud800b"


# --- workflow -------------------------------------------------------------------------------------


def test_two_approvers_one_after_the_other():
    request = QuotaRequestFactory()
    path = f"requests/{request.pk}/approve/"
    first, second = (Caller(approver()).post(path, {"version": 1}) for _ in range(2))
    assert first.status_code == 200
    errors(second, 409)
    assert second.json()["request"]["status"] == "approved"


def test_approve_after_withdraw():
    request = QuotaRequestFactory()
    path = f"requests/{request.pk}/"
    assert Caller(lead_of(request.team)).post(f"{path}withdraw/", {"version": 1}).status_code == 200
    errors(Caller(approver()).post(f"{path}approve/", {"version": 1}), 409)
    assert QuotaRequest.objects.get().status == Status.WITHDRAWN


def test_approver_approves_what_the_requester_just_edited():
    request = QuotaRequestFactory()
    path = f"requests/{request.pk}/"
    lead = Caller(lead_of(request.team))
    assert (
        lead.patch(path, {"version": 1, "amounts": {**AMOUNTS, "pods": "800"}}).status_code == 200
    )
    errors(Caller(approver()).post(f"{path}approve/", {"version": 1}), 409)
    assert QuotaRequest.objects.get().status == Status.SUBMITTED


def test_approve_by_get():
    request = QuotaRequestFactory()
    boss = Caller(approver())
    for what in ("approve", "deny", "withdraw"):
        errors(boss.get(f"requests/{request.pk}/{what}/", version=1, comment="x"), 405)
    assert QuotaRequest.objects.get().status == Status.SUBMITTED


def test_requester_cannot_approve_own_request():
    team = TeamFactory()
    both = lead_of(team)
    both.groups.append("berth-approvers")
    both.save()
    ClusterFactory(slug="dev")
    caller = Caller(both)
    made = caller.post("requests/", body(team=team.slug)).json()
    for what in ("approve", "deny"):
        answer = caller.post(f"requests/{made['id']}/{what}/", {"version": 1, "comment": "Mine."})
        errors(answer, 403)
        assert answer.json()["detail"] == "Nobody decides on a request of their own."


# --- drf ------------------------------------------------------------------------------------------


def test_object_permissions_do_not_apply_to_list_or_create():
    """Lead of team A lists or posts for team B, or PATCHes `team`, `status`, `approved_by`."""
    theirs = QuotaRequestFactory()
    namespace = NamespaceFactory(team=theirs.team)
    lead = lead_of(TeamFactory())
    own = QuotaRequestFactory(team__slug="own", cluster=theirs.cluster)
    lead.groups.append("own-leads")
    lead.save()
    caller = Caller(lead)
    was = trace()
    for resource in ("requests", "namespaces", "usage", "history", "teams"):
        listed = caller.get(f"{resource}/", team=theirs.team.slug).json()["results"]
        assert theirs.team.slug not in str(listed)
    for path in (
        f"requests/{theirs.pk}/",
        f"teams/{theirs.team.pk}/",
        f"namespaces/{namespace.pk}/",
        f"namespaces/{namespace.pk}/usage/",
    ):
        errors(caller.get(path), 404)
    for what in ("approve", "deny", "withdraw"):
        sent = {"version": 1, "comment": "x"}
        errors(caller.post(f"requests/{theirs.pk}/{what}/", sent), 404)
    errors(caller.patch(f"requests/{theirs.pk}/", {"version": 1, "reason": "x"}), 404)
    answer = caller.post("requests/", body(theirs))
    assert set(errors(answer)) == {"team"}
    for field, value in {
        "team": theirs.team.slug,
        "status": "approved",
        "approved_by": "me",
        "requester": str(lead.pk),
    }.items():
        answer = caller.patch(f"requests/{own.pk}/", {"version": 1, field: value})
        assert set(errors(answer)) == {field}
    assert trace() == was


@pytest.mark.parametrize("text", [NUL, HALF, "\x00", "\ud800"], ids=ascii)
def test_nul_byte_in_a_body(text):
    request = QuotaRequestFactory()
    lead = Caller(lead_of(request.team))
    was = trace()
    path = f"requests/{request.pk}/"
    bodies = [
        body(request, **{"name": "other", **changes})
        for changes in (
            {"team": text},
            {"cluster": text},
            {"name": text},
            {"reason": text},
            {"ends_at": text},
            {"amounts": {text: "1"}},
            {"amounts": {"pods": text}},
            {"limit_default": {"cpu": text}},
            {text: text},
        )
    ]
    for sent in bodies:
        errors(lead.post("requests/", sent))
        assert lead.patch(path, {"version": 1, **sent}).status_code == 400
    boss = Caller(approver())
    for what in ("approve", "deny"):
        answer = boss.post(f"{path}{what}/", {"version": 1, "comment": text})
        assert answer.status_code == 400
    assert trace() == was


@pytest.mark.parametrize(
    "address",
    [
        "requests/?team={}",
        "requests/?status={}",
        "requests/?cluster={}",
        "requests/?name={}",
        "requests/?page={}",
        "requests/?page_size={}",
        "requests/?anything={}",
        "requests/?{}=1",
        "namespaces/?team={}",
        "namespaces/?ready={}",
        "usage/?name={}",
        "history/?subject_id={}",
        "history/?namespace={}",
        "teams/{}/",
        "clusters/{}/",
        "namespaces/{}/",
        "namespaces/{}/usage/",
        "requests/{}/",
        "{}/",
    ],
)
def test_nul_byte_in_an_address(address):
    answer = Caller(auditor()).client.get(f"/api/v1/{address.format('%00')}")
    assert answer.status_code in (400, 404)


def test_nul_byte_in_a_key():
    request = QuotaRequestFactory()
    headers = {"Idempotency-Key": NUL}
    answer = Caller(lead_of(request.team)).post("requests/", body(request, name="x"), **headers)
    assert set(errors(answer)) == {"Idempotency-Key"}
