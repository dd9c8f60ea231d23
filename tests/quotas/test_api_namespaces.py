"""Namespaces and their use by the API."""

import pytest
from django.utils import timezone

from tenants.states import with_condition
from tests.caller import Caller, errors
from tests.factories import (
    AMOUNTS,
    ClusterFactory,
    GrantFactory,
    NamespaceFactory,
    UsageFactory,
    UserFactory,
    auditor,
    member_of,
)

pytestmark = pytest.mark.django_db


def ready(namespace, status="True"):
    namespace.conditions = with_condition(
        namespace.conditions,
        type="Ready",
        status=status,
        reason="Converged",
        generation=1,
        at=timezone.now(),
    )
    namespace.save()
    return namespace


def names(answer):
    assert answer.status_code == 200, answer.content
    return [row["name"] for row in answer.json()["results"]]


def test_a_namespace_with_grant_and_conditions():
    namespace = ready(NamespaceFactory(name="team-alpha", uid="u1", observed_generation=1))
    grant = GrantFactory(namespace=namespace)
    seen = Caller(member_of(namespace.team)).get(f"namespaces/{namespace.pk}/").json()
    (condition,) = seen.pop("conditions")
    assert (condition["type"], condition["status"]) == ("Ready", "True")
    assert seen.pop("created_at")
    assert seen.pop("grant") == {
        "id": grant.pk,
        "request": grant.request_id,
        "amounts": AMOUNTS,
        "limit_default": grant.limit_default,
        "limit_default_request": grant.limit_default_request,
        "starts_at": None,
        "ends_at": None,
        "created_at": grant.created_at.isoformat().replace("+00:00", "Z"),
    }
    assert seen == {
        "id": str(namespace.pk),
        "name": "team-alpha",
        "team": namespace.team.slug,
        "cluster": namespace.cluster.slug,
        "uid": "u1",
        "generation": 1,
        "observed_generation": 1,
        "ready": True,
        "released_at": None,
    }


def test_without_a_grant():
    namespace = NamespaceFactory()
    seen = Caller(auditor()).get(f"namespaces/{namespace.pk}/").json()
    assert (seen["grant"], seen["ready"], seen["conditions"]) == (None, False, [])


def test_lists_are_filtered():
    cluster = ClusterFactory()
    one = ready(NamespaceFactory(name="one", cluster=cluster))
    two = ready(NamespaceFactory(name="two", team=one.team), status="False")
    NamespaceFactory(name="three", cluster=cluster)
    caller = Caller(auditor())
    assert set(names(caller.get("namespaces/"))) == {"one", "two", "three"}
    assert names(caller.get("namespaces/", cluster=cluster.slug)) == ["one", "three"]
    assert names(caller.get("namespaces/", team=two.team.slug)) == ["one", "two"]
    assert names(caller.get("namespaces/", ready="true")) == ["one"]
    assert names(caller.get("namespaces/", ready="false")) == ["three", "two"]
    assert names(caller.get("namespaces/", name="two")) == ["two"]
    assert set(names(Caller(member_of(one.team)).get("namespaces/"))) == {"one", "two"}
    assert names(Caller(UserFactory()).get("namespaces/")) == []


def test_use_is_numbers_with_their_age():
    namespace = NamespaceFactory()
    usage = UsageFactory(
        cluster=namespace.cluster,
        namespace_name=namespace.name,
        spec_hard={"requests.memory": "1.2Gi", "pods": "5k", "requests.nvidia.com/gpu": "0"},
        used={"requests.memory": "0.6Gi", "pods": "5", "requests.nvidia.com/gpu": "1"},
    )
    seen = Caller(member_of(namespace.team)).get(f"namespaces/{namespace.pk}/usage/").json()
    (quota,) = seen.pop("quotas")
    assert seen == {
        "namespace": str(namespace.pk),
        "name": namespace.name,
        "team": namespace.team.slug,
        "cluster": namespace.cluster.slug,
    }
    assert (quota["name"], quota["reported"]) == ("dev-quota", True)
    assert quota["as_of"] >= usage.changed_at.isoformat()[:19]
    by_resource = {row["resource"]: row for row in quota["rows"]}
    memory = by_resource["requests.memory"]
    assert (memory["used"], memory["hard"]) == ("644245094.4", "1288490188.8")
    assert memory["percent"] == pytest.approx(50)
    assert by_resource["pods"]["percent"] == pytest.approx(0.1)
    gpu = by_resource["requests.nvidia.com/gpu"]
    assert (gpu["percent"], gpu["level"], gpu["hard"]) == (None, "over", "0")


def test_what_is_not_reported_is_null():
    namespace = NamespaceFactory()
    UsageFactory(cluster=namespace.cluster, namespace_name=namespace.name, hard=None, used=None)
    seen = Caller(auditor()).get(f"namespaces/{namespace.pk}/usage/").json()
    (quota,) = seen["quotas"]
    assert quota["reported"] is False
    assert {(row["used"], row["level"]) for row in quota["rows"]} == {(None, "unreported")}


def test_the_use_of_all_in_as_many_queries_as_of_one(django_assert_max_num_queries):
    cluster = ClusterFactory()
    for namespace in NamespaceFactory.create_batch(8, cluster=cluster):
        UsageFactory(cluster=cluster, namespace_name=namespace.name)
    NamespaceFactory(name="quiet")
    caller = Caller(auditor())
    with django_assert_max_num_queries(7):
        seen = caller.get("usage/").json()
    assert seen["count"] == 9
    assert {len(row["quotas"]) for row in seen["results"]} == {0, 1}
    assert len(caller.get("usage/", cluster=cluster.slug).json()["results"]) == 8
    own = caller.get("usage/", name="quiet").json()["results"]
    assert [row["quotas"] for row in own] == [[]]


def test_use_of_others_is_404():
    namespace = NamespaceFactory()
    errors(Caller(UserFactory()).get(f"namespaces/{namespace.pk}/usage/"), 404)
    errors(Caller(UserFactory()).get(f"namespaces/{namespace.pk}/"), 404)
    assert Caller(UserFactory()).get("usage/").json()["results"] == []
