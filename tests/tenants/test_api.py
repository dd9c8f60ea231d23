"""People, teams, clusters and the history by the API, as each may see them."""

import pytest
from django.utils import timezone

from tenants.services import transition_record
from tests.caller import Caller, errors
from tests.factories import (
    ALLOCATABLE,
    ISSUER,
    ClusterFactory,
    NamespaceFactory,
    TeamFactory,
    TeamGroupFactory,
    UserFactory,
    admin,
    approver,
    auditor,
    lead_of,
    member_of,
)

pytestmark = pytest.mark.django_db


def rows(answer):
    assert answer.status_code == 200, answer.content
    return answer.json()["results"]


def test_me():
    alpha, beta = TeamFactory(slug="alpha"), TeamFactory(slug="beta")
    TeamFactory()
    user = UserFactory(
        subject="amara",
        name="Amara",
        groups=["alpha", "alpha-leads", "berth-approvers", "beta"],
    )
    assert Caller(user).get("me/").json() == {
        "id": str(user.pk),
        "issuer": ISSUER,
        "subject": "amara",
        "name": "Amara",
        "email": "amara@example.org",
        "groups": ["alpha", "alpha-leads", "berth-approvers", "beta"],
        "groups_known": True,
        "roles": ["approver"],
        "teams": [
            {"id": str(alpha.pk), "slug": "alpha", "name": "Alpha", "roles": ["lead", "member"]},
            {"id": str(beta.pk), "slug": "beta", "name": "Beta", "roles": ["member"]},
        ],
    }


@pytest.mark.parametrize(("groups", "known"), [(None, False), ([], True)])
def test_unknown_groups_are_not_no_groups(groups, known):
    TeamFactory()
    me = Caller(UserFactory(groups=groups)).get("me/").json()
    assert (me["groups"], me["groups_known"], me["roles"], me["teams"]) == (groups, known, [], [])


def test_teams():
    alpha, beta = TeamFactory(slug="alpha"), TeamFactory(slug="beta")
    for person in (lead_of(alpha), member_of(alpha)):
        (row,) = rows(Caller(person).get("teams/"))
        assert row == {
            "id": str(alpha.pk),
            "slug": "alpha",
            "name": "Alpha",
            "groups": [
                {"name": "alpha-leads", "role": "lead"},
                {"name": "alpha", "role": "member"},
            ],
        }
        assert Caller(person).get(f"teams/{alpha.pk}/").json() == row
        errors(Caller(person).get(f"teams/{beta.pk}/"), 404)
    for person in (approver(), auditor(), admin()):
        assert len(rows(Caller(person).get("teams/"))) == 2
    assert rows(Caller(UserFactory()).get("teams/")) == []
    assert rows(Caller(UserFactory(groups=None)).get("teams/")) == []


def test_a_person_of_several_groups_sees_a_team_once():
    team = TeamFactory()
    TeamGroupFactory(team=team, name="third")
    person = UserFactory(groups=["third", team.slug, f"{team.slug}-leads"])
    assert len(rows(Caller(person).get("teams/"))) == 1


def test_clusters_and_whether_they_are_reached():
    now = timezone.now()
    ClusterFactory(slug="a-here")
    ClusterFactory(slug="b-lost", lost_since=now, lost_message="10.0.0.1 refused")
    ClusterFactory(slug="c-new", watched_at=None, allocatable=None)
    off = ClusterFactory(slug="d-off", enabled=False)
    listed = rows(Caller(UserFactory()).get("clusters/"))
    assert [(c["slug"], c["reachable"]) for c in listed] == [
        ("a-here", True),
        ("b-lost", False),
        ("c-new", None),
    ]
    assert [c["allocatable"] for c in listed] == [ALLOCATABLE, ALLOCATABLE, None]
    assert "10.0.0.1" not in str(listed)
    assert "kubeconfig" not in str(listed)
    errors(Caller(UserFactory()).get(f"clusters/{off.pk}/"), 404)
    assert Caller(auditor()).get(f"clusters/{off.pk}/").json()["enabled"] is False


def test_history():
    team, other = TeamFactory(), TeamFactory()
    namespace = NamespaceFactory(team=team)
    actor = UserFactory(name="Amara")
    line = transition_record(
        subject_type="request",
        subject_id=7,
        action="approve",
        actor=actor,
        team=team,
        from_state="submitted",
        to_state="approved",
        reason="Fine.",
        data={"version": 2},
    )
    transition_record(
        subject_type="namespace",
        subject_id=namespace.pk,
        action="ready",
        actor=None,
        team=team,
        namespace=namespace,
    )
    transition_record(subject_type="request", subject_id=8, action="deny", actor=None, team=other)
    newest, oldest = rows(Caller(member_of(team)).get("history/"))
    assert (newest["action"], newest["actor"]) == ("ready", None)
    assert newest["namespace"] == str(namespace.pk)
    assert oldest == {
        "id": line.pk,
        "at": oldest["at"],
        "subject_type": "request",
        "subject_id": "7",
        "action": "approve",
        "from_state": "submitted",
        "to_state": "approved",
        "team": team.slug,
        "namespace": None,
        "actor": {"id": str(actor.pk), "name": "Amara"},
        "reason": "Fine.",
        "data": {"version": 2},
    }
    assert rows(Caller(UserFactory()).get("history/")) == []
    caller = Caller(auditor())
    assert len(rows(caller.get("history/"))) == 3
    assert len(rows(caller.get("history/", team=other.slug))) == 1
    assert len(rows(caller.get("history/", subject_type="request", subject_id="7"))) == 1
    assert len(rows(caller.get("history/", namespace=namespace.pk))) == 1
    assert set(errors(caller.get("history/", namespace="x"))) == {"namespace"}


@pytest.mark.parametrize(
    "path", ["me/", "teams/", "clusters/", "history/", "namespaces/", "usage/"]
)
def test_what_is_read_is_not_written(path):
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        errors(Caller(admin()).send(method, path), 405)
    errors(Caller().get(path), 401)
