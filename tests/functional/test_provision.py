"""From an approval to what stands in the real cluster."""

import threading
from datetime import timedelta

import pytest
import yaml
from django.utils import timezone

from cluster import bridge
from cluster.errors import Forbidden
from cluster.quantities import same
from quotas.reconcile import namespace_reconcile, namespaces_due
from quotas.sightings import cluster_offers
from tenants.models import Namespace, TeamGroup, Transition
from tenants.states import condition_of, is_true
from tests.factories import AMOUNTS, ClusterFactory, TeamFactory, TeamGroupFactory
from tests.functional.proxy import Fault

pytestmark = pytest.mark.cluster

# What the platform's handbook shows for a team: it must come out so, names included.
SEED = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: ml-developer}
rules:
- apiGroups: ["", "apps", "batch"]
  resources: ["pods", "deployments", "jobs", "services"]
  verbs: ["get", "list", "watch", "create", "update", "patch", "delete"]
- apiGroups: [""]
  resources: ["pods/log"]
  verbs: ["get", "list"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: NAMESPACE-binding}
subjects:
- {kind: Group, name: data-science-alpha, apiGroup: rbac.authorization.k8s.io}
roleRef: {kind: Role, name: ml-developer, apiGroup: rbac.authorization.k8s.io}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: dev-quota}
spec:
  hard:
    requests.cpu: "20"
    requests.memory: "100Gi"
    limits.cpu: "40"
    limits.memory: "200Gi"
    requests.nvidia.com/gpu: "4"
    pods: "10"
"""


BASE = {key: amount for key, amount in AMOUNTS.items() if "/" not in key}


def alpha():
    team = TeamFactory(slug="alpha", groups=False)
    TeamGroupFactory(team=team, name="data-science-alpha", role=TeamGroup.Role.MEMBER)
    TeamGroupFactory(team=team, name="data-science-alpha-leads", role=TeamGroup.Role.LEAD)
    return team


def reconciled(request):
    namespace_reconcile(request.namespace_id)
    return Namespace.objects.get(pk=request.namespace_id)


def actions(namespace):
    lines = Transition.objects.filter(subject_type="namespace", subject_id=str(namespace.pk))
    return list(lines.order_by("id").values_list("action", flat=True))


def test_what_stands_is_what_the_handbook_shows(cluster_row, live, approved):
    name = live.name()
    namespace = reconciled(approved(cluster_row, name, team=alpha()))
    assert is_true(namespace.conditions, "Ready")
    assert namespace.observed_generation == namespace.generation
    assert namespace.uid == live.get("Namespace", name)["metadata"]["uid"]
    for wanted in yaml.safe_load_all(SEED.replace("NAMESPACE", name)):
        found = live.get(wanted["kind"], wanted["metadata"]["name"], name)
        assert found["apiVersion"] == wanted["apiVersion"]
        for field in wanted.keys() - {"metadata", "spec"}:
            assert found[field] == wanted[field]
        hard = wanted.get("spec", {}).get("hard", {})
        assert found.get("spec", {}).get("hard", {}).keys() == hard.keys()
        assert all(same(found["spec"]["hard"][key], hard[key]) for key in hard)
    assert actions(namespace) == ["grant", "created", "ready"]


def test_a_second_pass_changes_nothing(cluster_row, live, approved):
    name = live.name()
    request = approved(cluster_row, name)
    reconciled(request)
    places = [
        ("Namespace", name, ""),
        ("ResourceQuota", "dev-quota", name),
        ("LimitRange", "dev-limits", name),
        ("Role", "ml-developer", name),
        ("RoleBinding", f"{name}-binding", name),
    ]
    before = [live.get(*place)["metadata"]["resourceVersion"] for place in places]
    namespace = reconciled(request)
    assert [live.get(*place)["metadata"]["resourceVersion"] for place in places] == before
    assert actions(namespace) == ["grant", "created", "ready"]


def test_millibytes_are_no_difference(cluster_row, live, approved):
    name = live.name()
    request = approved(
        cluster_row, name, amounts={**AMOUNTS, "requests.memory": "1.2Gi", "pods": "1e1"}
    )
    reconciled(request)
    quota = live.get("ResourceQuota", "dev-quota", name)
    assert quota["spec"]["hard"]["requests.memory"] == "1288490188800m"
    reconciled(request)
    again = live.get("ResourceQuota", "dev-quota", name)
    assert again["metadata"]["resourceVersion"] == quota["metadata"]["resourceVersion"]


def test_somebody_elses_namespace_is_left_alone(cluster_row, live, approved):
    name = live.name()
    before = live.call(
        "create", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    )
    namespace = reconciled(approved(cluster_row, name))
    created = condition_of(namespace.conditions, "NamespaceCreated")
    assert (created["status"], created["reason"]) == ("False", "NameTaken")
    assert namespace.uid == ""
    after = live.get("Namespace", name)["metadata"]
    assert "berth.dev/namespace-id" not in (after.get("labels") or {})
    assert after["uid"] == before["metadata"]["uid"]
    assert live.find("RoleBinding", f"{name}-binding", name) is None
    # It stops here until somebody changes something.
    assert namespace.observed_generation == namespace.generation


def test_deleted_from_outside_is_made_again(cluster_row, live, approved):
    name = live.name()
    request = approved(cluster_row, name)
    first = reconciled(request)
    live.call("delete", "ResourceQuota", "dev-quota", namespace=name)
    live.call("delete", "RoleBinding", f"{name}-binding", namespace=name)
    again = reconciled(request)
    assert live.get("ResourceQuota", "dev-quota", name)
    assert live.get("RoleBinding", f"{name}-binding", name)
    assert again.uid == first.uid


def test_what_another_manager_added_to_the_quota_is_taken_out(cluster_row, live, approved):
    name = live.name()
    request = approved(cluster_row, name)
    reconciled(request)
    live.call(
        "patch",
        "ResourceQuota",
        "dev-quota",
        {"spec": {"hard": {"pods": "99", "services": "1"}}},
        namespace=name,
    )
    reconciled(request)
    hard = live.get("ResourceQuota", "dev-quota", name)["spec"]["hard"]
    assert hard.keys() == request.amounts.keys()
    assert hard["pods"] == "10"


def test_the_same_task_twice_at_once(cluster_row, live, approved):
    name = live.name()
    request = approved(cluster_row, name)
    start = threading.Barrier(4)

    def work():
        from django.db import connection

        start.wait()
        try:
            namespace_reconcile(request.namespace_id)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    namespace = Namespace.objects.get(pk=request.namespace_id)
    assert is_true(namespace.conditions, "Ready")
    assert actions(namespace) == ["grant", "created", "ready"]


def test_an_unreachable_cluster_is_waiting_not_failure(transactional_db, approved, tmp_path):
    config = tmp_path / "kubeconfig"
    config.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "x",
                "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
                "clusters": [{"name": "x", "cluster": {"server": "http://127.0.0.1:9"}}],
                "users": [{"name": "x", "user": {}}],
            }
        )
    )
    request = approved(ClusterFactory(kubeconfig=str(config)), "waiting")
    try:
        namespace = reconciled(request)
    finally:
        bridge.close()
    assert condition_of(namespace.conditions, "NamespaceCreated")["status"] == "Unknown"
    assert condition_of(namespace.conditions, "Ready")["reason"] == "Unreachable"
    assert namespace.observed_generation < namespace.generation
    # It is looked at again, though not at once.
    assert namespaces_due(at=timezone.now()) == []
    assert namespaces_due(at=timezone.now() + timedelta(minutes=2)) == [namespace.pk]


def test_a_grant_for_later_waits_for_its_day(cluster_row, live, approved):
    name = live.name()
    starts_at = timezone.now() + timedelta(days=30)
    request = approved(cluster_row, name, starts_at=starts_at)
    namespace = reconciled(request)
    assert live.find("Namespace", name) is None
    assert condition_of(namespace.conditions, "Ready")["reason"] == "NotStarted"
    assert namespaces_due(at=starts_at - timedelta(seconds=1)) == []
    assert namespaces_due(at=starts_at) == [namespace.pk]


def test_past_its_end_nothing_new_starts(cluster_row, live, approved):
    name = live.name()
    request = approved(cluster_row, name, ends_at=timezone.now() + timedelta(days=1))
    namespace = reconciled(request)
    assert namespaces_due(at=timezone.now() + timedelta(days=1, seconds=1)) == [namespace.pk]
    request.grant.ends_at = timezone.now()
    request.grant.save()
    reconciled(request)
    hard = live.get("ResourceQuota", "dev-quota", name)["spec"]["hard"]
    assert set(hard.values()) == {"0"}
    assert hard.keys() == request.amounts.keys()


def test_an_amount_that_no_node_offers_makes_no_namespace(cluster_row, live, approved):
    name = live.name()
    cluster_row.allocatable = None
    cluster_row.save()
    request = approved(cluster_row, name, amounts={**BASE, "requests.nvida.com/gpu": "1"})
    cluster_row.allocatable = {"cpu": "64", "nvidia.com/gpu": "8"}
    cluster_row.save()
    namespace = reconciled(request)
    ready = condition_of(namespace.conditions, "Ready")
    assert ready["reason"] == "Refused"
    assert "nvida.com/gpu" in ready["message"]
    assert live.find("Namespace", name) is None


def test_what_a_grant_does_not_name_there_is_none_of(cluster_row, live, approved):
    name = live.name()
    cluster_row.allocatable = {"cpu": "64", "memory": "1Ti", "pods": "99", "nvidia.com/gpu": "8"}
    cluster_row.save()
    request = approved(cluster_row, name, amounts=BASE)
    assert is_true(reconciled(request).conditions, "Ready")
    assert live.get("ResourceQuota", "dev-quota", name)["spec"]["hard"].keys() == BASE.keys()
    guard = live.get("ResourceQuota", "berth-guard", name)
    assert guard["spec"]["hard"] == {"requests.nvidia.com/gpu": "0"}
    with pytest.raises(Forbidden, match="exceeded quota: berth-guard"):
        live.call(
            "create",
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "gpu", "namespace": name},
                "spec": {
                    "containers": [
                        {
                            "name": "main",
                            "image": "x",
                            "resources": {"limits": {"nvidia.com/gpu": "1"}},
                        }
                    ]
                },
            },
        )


def test_nothing_is_made_before_the_nodes_are_known(cluster_row, live, approved):
    name = live.name()
    cluster_row.allocatable = None
    cluster_row.save()
    request = approved(cluster_row, name)
    namespace = reconciled(request)
    assert condition_of(namespace.conditions, "Ready")["reason"] == "NodesUnknown"
    assert live.find("Namespace", name) is None
    assert namespace.observed_generation < namespace.generation


def test_a_new_accelerator_reaches_every_guard(cluster_row, live, approved):
    name = live.name()
    request = approved(cluster_row, name)
    reconciled(request)
    cluster_offers(cluster_row, {**cluster_row.allocatable, "amd.com/gpu": "4"})
    namespace = Namespace.objects.get(pk=request.namespace_id)
    assert namespace.observed_generation < namespace.generation
    reconciled(request)
    hard = live.get("ResourceQuota", "berth-guard", name)["spec"]["hard"]
    assert hard["requests.amd.com/gpu"] == "0"


def test_an_approval_from_before_the_nodes_were_seen_is_held_against_them(
    cluster_row, live, approved
):
    name = live.name()
    cluster_row.allocatable = None
    cluster_row.save()
    request = approved(
        cluster_row, name, amounts={**AMOUNTS, "limits.cpu": "1G", "requests.cpu": "1G"}
    )
    cluster_row.allocatable = {"cpu": "64", "memory": "9Ti", "pods": "99", "nvidia.com/gpu": "8"}
    cluster_row.save()
    namespace = reconciled(request)
    ready = condition_of(namespace.conditions, "Ready")
    assert ready["reason"] == "Refused"
    assert "have 64" in ready["message"]
    assert live.find("Namespace", name) is None


def test_waiting_in_between_leaves_no_second_line(proxy, proxied_row, live, approved):
    request = approved(proxied_row, live.name())
    reconciled(request)
    proxy.faults.append(Fault(lambda m, p: m == "PATCH", before=lambda: None))
    assert not is_true(reconciled(request).conditions, "Ready")
    assert actions(reconciled(request)) == ["grant", "created", "ready"]
