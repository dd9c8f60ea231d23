"""Requests by the API: who sees what, what is taken, and what is told when it is not."""

import json

import pytest

from quotas.models import QuotaRequest
from quotas.states import Action, Status
from tenants.models import Transition
from tests.caller import Caller, errors
from tests.factories import (
    AMOUNTS,
    LIMIT_DEFAULT,
    LIMIT_DEFAULT_REQUEST,
    ROOM,
    ClusterFactory,
    QuotaRequestFactory,
    TeamFactory,
    UserFactory,
    approver,
    auditor,
    lead_of,
    member_of,
)
from tests.quotas.actions import act, body, trace

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return TeamFactory(slug="alpha")


@pytest.fixture
def lead(team):
    return lead_of(team, name="Amara")


@pytest.fixture
def caller(lead):
    ClusterFactory(slug="dev")
    return Caller(lead)


def test_submit(caller, lead, team):
    answer = caller.post(
        "requests/",
        body(limit_default={"cpu": "2", "memory": "4Gi"}, ends_at="2099-01-01T00:00:00+02:00"),
    )
    assert answer.status_code == 201, answer.content
    request = QuotaRequest.objects.get()
    assert (request.team, request.requester, request.editor) == (team, lead, lead)
    assert answer.json() == {
        "id": request.pk,
        "version": 1,
        "status": "submitted",
        "team": "alpha",
        "cluster": "dev",
        "name": "team-alpha",
        "amounts": AMOUNTS,
        "limit_default": {"cpu": "2", "memory": "4Gi"},
        "limit_default_request": LIMIT_DEFAULT_REQUEST,
        "starts_at": None,
        "ends_at": "2098-12-31T22:00:00Z",
        "reason": "Training.",
        "requester": {"id": str(lead.pk), "name": "Amara"},
        "editor": {"id": str(lead.pk), "name": "Amara"},
        "submitted_at": request.submitted_at.isoformat().replace("+00:00", "Z"),
        "decided_at": None,
        "reviews": [],
        "namespace": None,
    }
    assert caller.get(f"requests/{request.pk}/").json() == answer.json()


def test_the_whole_way_to_a_grant(caller):
    made = caller.post("requests/", body()).json()
    path = f"requests/{made['id']}/"
    edited = caller.patch(path, {"version": 1, "amounts": {**ROOM, "pods": "5"}}).json()
    assert (edited["version"], edited["amounts"]) == (2, {**ROOM, "pods": "5"})
    assert edited["reason"] == made["reason"]
    boss = Caller(approver())
    approved = boss.post(f"{path}approve/", {"version": 2, "comment": "Fine."}).json()
    assert approved["status"] == "approved"
    (review,) = approved["reviews"]
    assert (review["decision"], review["version"], review["comment"]) == ("approve", 2, "Fine.")
    namespace = caller.get(f"namespaces/{approved['namespace']}/").json()
    assert namespace["grant"]["amounts"] == {**ROOM, "pods": "5"}
    assert namespace["grant"]["request"] == made["id"]


def test_put_replaces_everything(caller):
    made = caller.post("requests/", body(limit_default={"cpu": "2", "memory": "4Gi"})).json()
    path = f"requests/{made['id']}/"
    missing = errors(caller.put(path, {"version": 1, "reason": "Only this."}))
    assert set(missing) == {"team", "cluster", "name", "amounts"}
    again = caller.put(path, {**body(name="renamed"), "version": 1}).json()
    assert (again["name"], again["version"]) == ("renamed", 2)
    assert again["limit_default"] == LIMIT_DEFAULT


@pytest.mark.parametrize("method", ["put", "patch"])
def test_an_edit_names_its_version(caller, method):
    made = caller.post("requests/", body()).json()
    sent = getattr(caller, method)(f"requests/{made['id']}/", body(reason="x"))
    assert set(errors(sent)) == {"version"}


@pytest.mark.parametrize("what", ["approve", "deny", "withdraw"])
@pytest.mark.parametrize("version", [None, "", "two", 0, -1, True, 1.5, [], {}])
def test_a_decision_names_its_version(what, version):
    request = QuotaRequestFactory()
    actor = lead_of(request.team) if what == "withdraw" else approver()
    sent = {"comment": "No."} if what == "deny" else {}
    if version is not None:
        sent["version"] = version
    answer = Caller(actor).post(f"requests/{request.pk}/{what}/", sent)
    assert set(errors(answer)) == {"version"}
    assert QuotaRequest.objects.get().status == Status.SUBMITTED


@pytest.mark.parametrize("version", [2, 2**31, 2**63, 10**400])
def test_a_version_that_never_was_is_a_conflict(version):
    request = QuotaRequestFactory()
    answer = Caller(approver()).post(f"requests/{request.pk}/approve/", {"version": version})
    errors(answer, 409)


def test_a_conflict_tells_how_the_request_is_now():
    request = QuotaRequestFactory()
    act(Action.EDIT, actor=lead_of(request.team), request=request)
    answer = Caller(approver()).post(f"requests/{request.pk}/approve/", {"version": 1})
    errors(answer, 409)
    told = answer.json()
    assert told["detail"] == "This request has changed since it was shown to you."
    assert told["request"] == Caller(auditor()).get(f"requests/{request.pk}/").json()
    assert told["request"]["version"] == 2


# --- seeing ---------------------------------------------------------------------------------------


def test_lists_are_filtered(lead):
    alpha = QuotaRequestFactory(team__slug="beta", name="one")
    beta = QuotaRequestFactory(team=alpha.team, status=Status.DENIED)
    other = QuotaRequestFactory(cluster=beta.cluster)
    caller = Caller(auditor())

    def listed(**query):
        return {row["id"] for row in caller.get("requests/", **query).json()["results"]}

    assert listed() == {alpha.pk, beta.pk, other.pk}
    assert listed(team="beta") == {alpha.pk, beta.pk}
    assert listed(team="beta", status="denied") == {beta.pk}
    assert listed(cluster=beta.cluster.slug) == {beta.pk, other.pk}
    assert listed(name="one") == {alpha.pk}
    assert listed(team="nobody") == set()
    assert set(errors(caller.get("requests/", status="finished"))) == {"status"}


def test_lists_come_in_pages(django_assert_max_num_queries):
    team = TeamFactory()
    QuotaRequestFactory.create_batch(7, team=team)
    caller = Caller(member_of(team))
    with django_assert_max_num_queries(12):
        first = caller.get("requests/", page_size=3).json()
    assert (first["count"], len(first["results"])) == (7, 3)
    assert len(caller.get("requests/", page_size=3, page=3).json()["results"]) == 1
    assert len(caller.get("requests/", page_size=10**30).json()["results"]) == 7
    for page in ("0", "4", "-1", "x", "9" * 5000):
        errors(caller.get("requests/", page_size=3, page=page), 404)


@pytest.mark.parametrize("pk", ["0", "9" * 30, "9" * 5000, "x", "1.0", "-1", "%00", "1%00"])
def test_ids_that_cannot_be_are_404(pk):
    status = 400 if "%00" in pk else 404
    assert Caller(auditor()).get(f"requests/{pk}/").status_code == status


def test_nobody_unknown_reads_or_writes():
    request = QuotaRequestFactory()
    for answer in (
        Caller().get("requests/"),
        Caller().get(f"requests/{request.pk}/"),
        Caller().post("requests/", body()),
        Caller().post(f"requests/{request.pk}/approve/", {"version": 1}),
    ):
        errors(answer, 401)
        assert "Bearer" in answer.headers["WWW-Authenticate"]


def test_a_session_needs_the_csrf_token():
    request = QuotaRequestFactory()
    strict = Caller(approver(), enforce_csrf_checks=True)
    errors(strict.post(f"requests/{request.pk}/approve/", {"version": 1}), 403)
    assert QuotaRequest.objects.get().status == Status.SUBMITTED


# --- repeating ------------------------------------------------------------------------------------

KEY = "Idempotency-Key"


def test_a_submission_can_be_repeated(caller):
    first = caller.post("requests/", body(), **{KEY: "a1"})
    again = caller.post("requests/", body(), **{KEY: "a1"})
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert Transition.objects.count() == 1
    other = caller.post("requests/", body(name="other"), **{KEY: "a1"})
    errors(other, 409)
    assert caller.post("requests/", body(name="other"), **{KEY: "a2"}).status_code == 201


def test_without_a_key_a_repeated_submission_finds_its_name_taken(caller):
    caller.post("requests/", body())
    assert errors(caller.post("requests/", body())) == {
        "name": ["This name is taken on this cluster."]
    }


@pytest.mark.parametrize("key", ["", "x" * 256, "clé", "a\tb"])
def test_keys_are_short_and_plain(caller, key):
    assert set(errors(caller.post("requests/", body(), **{KEY: key}))) == {KEY}


@pytest.mark.parametrize("what", ["approve", "deny", "withdraw"])
def test_a_decision_can_be_repeated(what):
    request = QuotaRequestFactory()
    actor = lead_of(request.team) if what == "withdraw" else approver()
    sent = {"version": 1, **({"comment": "No."} if what == "deny" else {})}
    first, again = (Caller(actor).post(f"requests/{request.pk}/{what}/", sent) for _ in range(2))
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()


# --- what is sent ---------------------------------------------------------------------------------

READ_ONLY = [
    "id",
    "status",
    "requester",
    "editor",
    "submitted_at",
    "decided_at",
    "reviews",
    "namespace",
    "approved_by",
    "idempotency_key",
    "digest",
    "",
]


@pytest.mark.parametrize("field", READ_ONLY)
def test_what_cannot_be_set_is_refused_by_name(caller, field):
    path = f"requests/{caller.post('requests/', body()).json()['id']}/"
    was = trace()
    for answer in (
        caller.post("requests/", body(name="other", **{field: "approved"})),
        caller.patch(path, {"version": 1, field: "approved"}),
        caller.put(path, {**body(), "version": 1, field: "approved"}),
        caller.post(f"{path}withdraw/", {"version": 1, field: "approved"}),
    ):
        assert set(errors(answer)) == {field}
    assert trace() == was


def test_everything_that_is_wrong_is_told_at_once(caller):
    answer = caller.post("requests/", {"team": "nobody", "amounts": {"pods": True}, "extra": 1})
    assert set(errors(answer)) == {"team", "cluster", "name", "amounts/pods", "reason", "extra"}


@pytest.mark.parametrize("field", ["team", "cluster", "name", "reason"])
@pytest.mark.parametrize("value", [None, True, 1, 1.5, [], {}, ["alpha"], {"slug": "alpha"}])
def test_text_is_text(caller, field, value):
    assert set(errors(caller.post("requests/", body(**{field: value})))) == {field}


@pytest.mark.parametrize("field", ["amounts", "limit_default", "limit_default_request"])
@pytest.mark.parametrize("value", [None, True, 1, "4", [], ["4"]])
def test_amounts_are_an_object(caller, field, value):
    assert set(errors(caller.post("requests/", body(**{field: value})))) == {field}


@pytest.mark.parametrize("field", ["starts_at", "ends_at"])
@pytest.mark.parametrize(
    "value",
    [
        True,
        1,
        1.5,
        [],
        {},
        "",
        "tomorrow",
        "2027-13-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59-14:00",
        "9999-12-31T23:59:59Z",
    ],
)
def test_moments_are_moments(caller, field, value):
    assert field in errors(caller.post("requests/", body(**{field: value})))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"[" * 200_000,
        b'{"amounts": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"amounts": NaN}',
        b'{"amounts": {"pods": Infinity}}',
        b'{"version": ' + b"9" * 5000 + b"}",
        b'{"name": "\xff\xfe"}',
    ],
    ids=lambda content: repr(content[:20]),
)
def test_what_is_no_wish_is_400(caller, content):
    errors(caller.send("POST", "requests/", content))


def test_another_media_type_is_not_taken(caller):
    text = caller.client.post("/api/v1/requests/", "name: x", content_type="text/plain")
    errors(text, 415)
    form = caller.client.post("/api/v1/requests/", body())
    assert form.status_code in (400, 415)


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("what", ["approve", "deny", "withdraw"])
def test_nothing_is_decided_by_another_method(method, what):
    """Approve by GET."""
    request = QuotaRequestFactory()
    actor = lead_of(request.team) if what == "withdraw" else approver()
    errors(Caller(actor).send(method, f"requests/{request.pk}/{what}/", {"version": 1}), 405)
    assert QuotaRequest.objects.get().status == Status.SUBMITTED


def test_requests_are_not_deleted():
    request = QuotaRequestFactory()
    errors(Caller(lead_of(request.team)).send("DELETE", f"requests/{request.pk}/"), 405)


@pytest.mark.parametrize("path", ["requests", "nothing/", "requests/1", "requests/1/burn/", ""])
@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "OPTIONS"])
def test_other_addresses_are_404_without_redirect(path, method):
    errors(Caller(auditor()).send(method, path, body()), 404)


def test_errors_speak_the_caller_s_language(caller):
    answer = caller.client.post(
        "/api/v1/requests/",
        json.dumps(body(name=5)),
        content_type="application/json",
        headers={"Accept-Language": "zh-hans"},
    )
    assert answer.headers["Content-Language"] == "zh-hans"


def test_a_member_sees_the_team_and_may_not_ask(team, caller):
    errors(Caller(member_of(team)).post("requests/", body()), 403)


def test_a_person_of_no_team(caller):
    answer = Caller(UserFactory()).post("requests/", body())
    nowhere = Caller(UserFactory()).post("requests/", body(team="nowhere"))
    assert answer.json() == nowhere.json()
    assert errors(answer) == {"team": ["There is none of this name."]}
