"""One tenant on the real server, step by step, whatever stands in the way."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import yaml
from aiohttp import web

from cluster import steps
from cluster.client import Client, Connection
from cluster.errors import Busy, ClusterError, Conflict, NameTaken, NotFound, Unreachable, Waiting
from cluster.steps import REPLACES_ANNOTATION, STEPS
from cluster.tenant import (
    GUARD_NAME,
    MANAGED_BY_LABEL,
    NAMESPACE_ID_LABEL,
    QUOTA_NAME,
    Object,
    Tenant,
    desired_manifests,
    namespace_manifest,
    own_labels,
    role_binding_manifest,
    role_binding_name,
)
from tests.cluster.test_tenant import PROMISED, differences
from tests.functional.cluster.conftest import plain_namespace
from tests.functional.proxy import Fault, Proxy, status

pytestmark = pytest.mark.cluster

OnCluster = Callable[..., Any]
NewTenant = Callable[..., Tenant]


async def converge(client: Client, tenant: Tenant) -> Tenant:
    for step in STEPS:
        tenant = await step.run(client, tenant) or tenant
    return tenant


async def live_objects(client: Client, tenant: Tenant) -> dict[str, Object]:
    """What stands of the tenant, by kind; of the quotas the granted one."""
    found = {}
    for manifest in desired_manifests(tenant):
        kind, metadata = manifest["kind"], manifest["metadata"]
        if metadata["name"] == GUARD_NAME:
            continue
        try:
            found[kind] = await client.get(
                kind, metadata["name"], namespace=metadata.get("namespace", "")
            )
        except NotFound:
            continue
    return found


def versions(objects: dict[str, Object]) -> dict[str, str]:
    return {kind: live["metadata"]["resourceVersion"] for kind, live in objects.items()}


def test_all_of_it_stands_as_promised(on_cluster: OnCluster, new_tenant: NewTenant) -> None:
    tenant = new_tenant()

    async def work(client: Client) -> tuple[Tenant, dict[str, Object]]:
        made = await converge(client, tenant)
        return made, await live_objects(client, tenant)

    made, live = on_cluster(work)
    assert made.uid == live["Namespace"]["metadata"]["uid"]
    promised = PROMISED.replace("team-alpha", tenant.namespace)
    for wanted in yaml.safe_load_all(promised):
        assert list(differences(wanted, live[wanted["kind"]])) == []
    limits = live["LimitRange"]["spec"]["limits"]
    assert limits == [
        {
            "type": "Container",
            "default": {"cpu": "1", "memory": "1Gi"},
            "defaultRequest": {"cpu": "500m", "memory": "512Mi"},
        }
    ]
    assert live["ResourceQuota"]["status"]["used"].keys() == tenant.hard.keys()


def test_a_second_pass_writes_nothing(on_cluster: OnCluster, new_tenant: NewTenant) -> None:
    # Amounts in forms that the server rewrites.
    tenant = new_tenant(
        hard={"requests.memory": "1.23456Gi", "limits.memory": "1024Mi", "limits.cpu": "1000m"}
    )

    async def work(client: Client) -> list[dict[str, str]]:
        made = await converge(client, tenant)
        before = versions(await live_objects(client, tenant))
        assert await converge(client, made) == made
        return [before, versions(await live_objects(client, tenant))]

    before, after = on_cluster(work)
    assert before == after


def test_a_foreign_namespace_is_left_alone(on_cluster: OnCluster, new_tenant: NewTenant) -> None:
    tenant = new_tenant()

    async def work(client: Client) -> list[Object]:
        before = await client.create(plain_namespace(tenant, **{NAMESPACE_ID_LABEL: "another"}))
        with pytest.raises(NameTaken):
            await converge(client, tenant)
        assert (await live_objects(client, tenant)).keys() == {"Namespace"}
        return [before, await client.get("Namespace", tenant.namespace)]

    before, after = on_cluster(work)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


def test_made_although_the_answer_was_lost(
    on_cluster: OnCluster, new_tenant: NewTenant, proxy: Proxy, proxied: Connection
) -> None:
    tenant = new_tenant()
    proxy.faults.append(Fault(lambda method, _: method == "POST", after=lambda: True))

    async def work(client: Client) -> Tenant:
        with pytest.raises(Unreachable):
            await converge(client, tenant)
        return await converge(client, tenant)

    assert on_cluster(work, through=proxied).uid
    assert [method for method, _ in proxy.requests].count("POST") == 2


def test_a_deleted_namespace_is_made_again(on_cluster: OnCluster, new_tenant: NewTenant) -> None:
    tenant = new_tenant()

    async def work(client: Client) -> None:
        first = await converge(client, tenant)
        await client.delete("Namespace", tenant.namespace, uid=first.uid)
        with pytest.raises(Waiting) as caught:
            await converge(client, first)
        assert caught.value.reason == "NamespaceTerminating"
        assert await steps._within(20, lambda: gone(client, tenant))
        second = await converge(client, first)
        assert second.uid != first.uid
        assert (await live_objects(client, tenant)).keys() == {
            manifest["kind"] for manifest in desired_manifests(tenant)
        }
        # The worker died before it could note the new uid.
        assert await converge(client, first) == second

    on_cluster(work)


async def gone(client: Client, tenant: Tenant) -> bool:
    try:
        await client.get("Namespace", tenant.namespace)
    except NotFound:
        return True
    return False


def test_a_namespace_whose_labels_went_is_still_ours(
    on_cluster: OnCluster, new_tenant: NewTenant
) -> None:
    tenant = new_tenant()

    async def work(client: Client) -> None:
        made = await converge(client, tenant)
        bare = {"metadata": {"labels": {NAMESPACE_ID_LABEL: None, MANAGED_BY_LABEL: "somebody"}}}
        await client.patch("Namespace", tenant.namespace, bare)
        assert await converge(client, made) == made
        live = await client.get("Namespace", tenant.namespace)
        assert live["metadata"]["labels"].items() >= own_labels(tenant).items()

    on_cluster(work)


def test_a_later_namesake_is_not_ours(on_cluster: OnCluster, new_tenant: NewTenant) -> None:
    """A copy restored from somewhere carries our label and is another namespace all the same."""
    tenant = new_tenant(uid="11111111-2222-3333-4444-555555555555")

    async def work(client: Client) -> None:
        await client.create(plain_namespace(tenant, **{NAMESPACE_ID_LABEL: tenant.namespace_id}))
        with pytest.raises(NameTaken):
            await converge(client, tenant)
        assert (await live_objects(client, tenant)).keys() == {"Namespace"}

    on_cluster(work)


@pytest.mark.parametrize("stands", [True, False])
def test_an_apply_with_a_uid_is_for_that_one_only(
    on_cluster: OnCluster, new_tenant: NewTenant, stands: bool
) -> None:
    tenant = new_tenant()
    other = replace(tenant, uid="11111111-2222-3333-4444-555555555555")

    async def work(client: Client) -> None:
        if stands:
            await client.create(plain_namespace(tenant))
        with pytest.raises(Conflict):
            await client.apply(namespace_manifest(other))
        assert await gone(client, tenant) is not stands

    on_cluster(work)


def test_a_terminating_namespace_is_waited_for(
    on_cluster: OnCluster, new_tenant: NewTenant
) -> None:
    tenant = new_tenant()

    async def work(client: Client) -> str:
        made = await converge(client, tenant)
        account = {"finalizers": ["example.com/held"]}
        await client.patch(
            "ServiceAccount", "default", {"metadata": account}, namespace=tenant.namespace
        )
        await client.delete("Namespace", tenant.namespace)
        words = ""

        async def explained() -> bool:
            nonlocal words
            with pytest.raises(Waiting) as caught:
                await converge(client, made)
            assert caught.value.reason == "NamespaceTerminating"
            words = caught.value.message
            return "example.com/held" in words

        assert await steps._within(20, explained)
        with pytest.raises(ClusterError) as refused:
            await steps.limits_applied(client, made)
        assert refused.value.retryable
        await client.patch(
            "ServiceAccount",
            "default",
            {"metadata": {"finalizers": None}},
            namespace=tenant.namespace,
        )
        return words

    assert "is being deleted" in on_cluster(work)


def test_labels_that_are_no_longer_wanted_go(on_cluster: OnCluster, new_tenant: NewTenant) -> None:
    tenant = new_tenant(labels={"berth.dev/team": "alpha", "berth.dev/grant-id": "1"})

    async def work(client: Client) -> dict[str, str]:
        made = await converge(client, tenant)
        await client.patch(
            "Namespace", tenant.namespace, {"metadata": {"labels": {"theirs": "stays"}}}
        )
        await converge(client, replace(made, labels={"berth.dev/team": "beta"}))
        live = await client.get("Namespace", tenant.namespace)
        labels: dict[str, str] = live["metadata"]["labels"]
        return labels

    labels = on_cluster(work)
    assert labels["berth.dev/team"] == "beta"
    assert "berth.dev/grant-id" not in labels
    assert labels[NAMESPACE_ID_LABEL] == tenant.namespace_id


def test_the_quota_holds_exactly_our_keys(on_cluster: OnCluster, new_tenant: NewTenant) -> None:
    tenant = new_tenant()

    async def work(client: Client) -> Object:
        made = await converge(client, tenant)
        foreign = {
            "spec": {
                "hard": {"count/configmaps": "5", "pods": "1000"},
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": "In", "values": ["x"]}
                    ]
                },
            },
        }
        await client.patch("ResourceQuota", QUOTA_NAME, foreign, namespace=tenant.namespace)
        fewer = {key: amount for key, amount in tenant.hard.items() if key != "limits.cpu"}
        await converge(client, replace(made, hard=fewer))
        return await client.get("ResourceQuota", QUOTA_NAME, namespace=tenant.namespace)

    live = on_cluster(work)
    expected = {key: amount for key, amount in tenant.hard.items() if key != "limits.cpu"}
    assert live["spec"] == {"hard": expected}
    assert live["status"]["hard"] == expected
    assert live["status"]["used"].keys() == expected.keys()


def test_another_writer_is_faster_at_the_quota(
    on_cluster: OnCluster, new_tenant: NewTenant, proxy: Proxy, proxied: Connection
) -> None:
    tenant = new_tenant()

    async def work(client: Client) -> Object:
        made = await converge(client, tenant)
        extra = {"spec": {"hard": {"count/secrets": "5"}}}
        await client.patch("ResourceQuota", QUOTA_NAME, extra, namespace=tenant.namespace)
        patches = [0]

        def second_patch(method: str, path: str) -> bool:
            patches[0] += method == "PATCH" and path.endswith(QUOTA_NAME)
            return method == "PATCH" and path.endswith(QUOTA_NAME) and patches[0] == 2

        proxy.faults.append(
            Fault(second_patch, before=lambda: status(409, "Conflict", "has been modified"))
        )
        await steps.quota_applied(client, made)
        return await client.get("ResourceQuota", QUOTA_NAME, namespace=tenant.namespace)

    assert on_cluster(work, through=proxied)["spec"] == {"hard": dict(tenant.hard)}


def test_no_access_before_the_quota_is_reported(
    on_cluster: OnCluster,
    new_tenant: NewTenant,
    proxy: Proxy,
    proxied: Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(steps, "QUOTA_PATIENCE_S", 0.2)
    tenant = new_tenant()
    silent = {"metadata": {"name": QUOTA_NAME}, "spec": {"hard": dict(tenant.hard)}, "status": {}}

    def unreported() -> Any:
        return web.json_response(silent)

    proxy.faults.append(
        Fault(
            lambda method, path: method == "GET" and path.endswith(QUOTA_NAME),
            before=unreported,
            times=10_000,
        )
    )

    async def work(client: Client) -> set[str]:
        with pytest.raises(Waiting) as caught:
            await converge(client, tenant)
        assert caught.value.reason == "QuotaNotReported"
        assert "requests.nvidia.com/gpu" in caught.value.message
        return set(await live_objects(client, tenant))

    assert not {"Role", "RoleBinding"} & on_cluster(work, through=proxied)


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("dev-limits", {"Namespace"}),
        ("dev-quota", {"Namespace", "LimitRange"}),
        ("ml-developer", {"Namespace", "LimitRange", "ResourceQuota"}),
    ],
)
def test_what_fails_stops_all_that_comes_after(
    on_cluster: OnCluster,
    new_tenant: NewTenant,
    proxy: Proxy,
    proxied: Connection,
    name: str,
    left: set[str],
) -> None:
    tenant = new_tenant()
    words = "failed calling webhook: context deadline exceeded"
    proxy.faults.append(
        Fault(
            lambda method, path: method == "PATCH" and path.endswith(name),
            before=lambda: status(500, "InternalError", words),
        )
    )

    async def work(client: Client) -> None:
        with pytest.raises(Busy) as caught:
            await converge(client, tenant)
        assert str(caught.value) == words
        assert set(await live_objects(client, tenant)) == left
        await converge(client, tenant)
        assert len(await live_objects(client, tenant)) == 5

    on_cluster(work, through=proxied)


def test_a_binding_to_another_role_is_replaced(
    on_cluster: OnCluster, new_tenant: NewTenant
) -> None:
    tenant = new_tenant()

    async def work(client: Client) -> Object:
        await steps.namespace_created(client, tenant)
        other = role_binding_manifest(tenant)
        other["roleRef"]["name"] = "view"
        await client.create(other)
        await converge(client, tenant)
        return await client.get(
            "RoleBinding", role_binding_name(tenant), namespace=tenant.namespace
        )

    live = on_cluster(work)
    assert live["roleRef"]["name"] == "ml-developer"
    assert [subject["name"] for subject in live["subjects"]] == list(tenant.groups)


def test_subjects_that_somebody_added_go(on_cluster: OnCluster, new_tenant: NewTenant) -> None:
    tenant = new_tenant()

    async def work(client: Client) -> list[str]:
        made = await converge(client, tenant)
        wider = {
            "subjects": [{"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}]
        }
        name = role_binding_name(tenant)
        await client.patch("RoleBinding", name, wider, namespace=tenant.namespace)
        await converge(client, replace(made, groups=("a", "b")))
        live = await client.get("RoleBinding", name, namespace=tenant.namespace)
        return [subject["name"] for subject in live["subjects"]]

    assert on_cluster(work) == ["a", "b"]


def test_without_groups_nobody_has_access(on_cluster: OnCluster, new_tenant: NewTenant) -> None:
    tenant = new_tenant()

    async def work(client: Client) -> Object:
        made = await converge(client, tenant)
        await converge(client, replace(made, groups=()))
        return await client.get(
            "RoleBinding", role_binding_name(tenant), namespace=tenant.namespace
        )

    assert not on_cluster(work).get("subjects")


def test_replacing_says_what_was_replaced(on_cluster: OnCluster, new_tenant: NewTenant) -> None:
    tenant = new_tenant(uid="11111111-2222-3333-4444-555555555555")

    async def work(client: Client) -> Object:
        await steps.namespace_created(client, tenant)
        return await client.get("Namespace", tenant.namespace)

    assert on_cluster(work)["metadata"]["annotations"] == {REPLACES_ANNOTATION: tenant.uid}


def test_what_is_withheld_is_zero_in_an_object_of_its_own(
    on_cluster: OnCluster, new_tenant: NewTenant
) -> None:
    tenant = new_tenant(withheld=("requests.nvidia.com/mig-1g.10gb", "requests.amd.com/gpu"))

    async def hard(client: Client, name: str) -> Object:
        quota = await client.get("ResourceQuota", name, namespace=tenant.namespace)
        assert quota["spec"].get("hard") == quota["status"].get("hard")
        return quota["spec"].get("hard") or {}

    async def work(client: Client) -> None:
        made = await converge(client, tenant)
        assert await hard(client, GUARD_NAME) == dict.fromkeys(tenant.withheld, "0")
        assert (await hard(client, QUOTA_NAME)).keys() == tenant.hard.keys()
        # Granted later: it leaves the guard.
        await converge(client, replace(made, withheld=tenant.withheld[1:]))
        assert await hard(client, GUARD_NAME) == {"requests.amd.com/gpu": "0"}
        await converge(client, replace(made, withheld=()))
        assert await hard(client, GUARD_NAME) == {}

    on_cluster(work)
