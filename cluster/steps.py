"""How one tenant comes to be what it should be: idempotent steps, in the order that is safe.

Limits come before access. A step that fails or waits stops those after it, so that nobody holds a
namespace without limits, wherever a failure falls. Each step reads or writes the live object
itself; none relies on having run before.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cluster.client import Client
from cluster.errors import AlreadyExists, Conflict, Invalid, NameTaken, NotFound, Waiting
from cluster.quantities import same
from cluster.tenant import (
    NAMESPACE_ID_LABEL,
    Object,
    Tenant,
    guard_manifest,
    limit_range_manifest,
    namespace_manifest,
    own_labels,
    quota_manifest,
    role_binding_manifest,
    role_binding_name,
    role_manifest,
)

# The uid of the namespace that this one replaces, for a worker that died before it noted the new.
REPLACES_ANNOTATION = "berth.dev/replaces-uid"

POLL_FIRST_S = 0.005
POLL_MOST_S = 0.25
POLL_GROWTH = 1.5
QUOTA_PATIENCE_S = 5.0
ACCOUNT_PATIENCE_S = 3.0
CLEANING_TRIES = 3


@dataclass(frozen=True)
class Step:
    """One step: the condition it makes true and that condition's reason then.

    `run` returns the tenant where it learned something new about it (its uid), else None. It raises
    Waiting where the cluster is still at it, and ClusterError.
    """

    condition: str
    reason: str
    run: Callable[[Client, Tenant], Coroutine[Any, Any, Tenant | None]]


async def namespace_created(client: Client, tenant: Tenant) -> Tenant:
    """The namespace stands, is ours, and carries our labels.

    A new one is made by POST, since only that tells whether one was there. NameTaken where the one
    there is not ours; Waiting while it is being deleted.
    """
    live = await _find(client, tenant) if tenant.uid else None
    if live is None:
        live = await _make(client, tenant)
    _check_ours(live, tenant)
    tenant = replace(tenant, uid=live["metadata"]["uid"])
    await client.apply(namespace_manifest(tenant))
    return tenant


async def limits_applied(client: Client, tenant: Tenant) -> None:
    """Containers that name no requests and limits get some."""
    await client.apply(limit_range_manifest(tenant))


async def quota_applied(client: Client, tenant: Tenant) -> None:
    """The quotas ask for exactly our amounts, whoever else has written to them."""
    for manifest in _quotas(tenant):
        await _apply_exactly(client, manifest)


async def _apply_exactly(client: Client, manifest: Object) -> None:
    """Apply a quota, and take out what others have put into it."""
    name, namespace = manifest["metadata"]["name"], manifest["metadata"]["namespace"]
    for _ in range(CLEANING_TRIES):
        live = await client.apply(manifest)
        spec = live["spec"]
        if spec.get("scopes"):
            raise Invalid(
                f"ResourceQuota {name} was made by somebody else for the scopes"
                f" {', '.join(spec['scopes'])} only, and these cannot be changed. Remove it."
            )
        foreign = _foreign(spec, manifest["spec"]["hard"])
        if not foreign:
            return
        version = live["metadata"]["resourceVersion"]
        body = {"metadata": {"resourceVersion": version}, "spec": foreign}
        try:
            await client.patch("ResourceQuota", name, body, namespace=namespace)
        except Conflict:
            continue  # changed meanwhile, by the quota controller most likely
        return
    raise Waiting("QuotaContended", f"Something else keeps changing {name}.")


async def quota_enforced(client: Client, tenant: Tenant) -> None:
    """The cluster has taken the quotas up. Until its status says so, a quota limits nothing."""
    missing = ""
    waiting = _quotas(tenant)

    async def reported() -> bool:
        nonlocal missing
        while waiting:
            name = waiting[0]["metadata"]["name"]
            live = await client.get("ResourceQuota", name, namespace=tenant.namespace)
            if missing := unreported(live, waiting[0]["spec"]["hard"]):
                return False
            waiting.pop(0)
        return True

    if not await _within(QUOTA_PATIENCE_S, reported):
        raise Waiting("QuotaNotReported", missing)


def _quotas(tenant: Tenant) -> list[Object]:
    return [quota_manifest(tenant), guard_manifest(tenant)]


async def role_applied(client: Client, tenant: Tenant) -> None:
    """The role stands, in the very namespace that is ours."""
    # Both in one go; the check keeps the binding that follows out of a later namesake.
    done = await asyncio.gather(
        client.apply(role_manifest(tenant)), _find(client, tenant), return_exceptions=True
    )
    for outcome in done:
        if isinstance(outcome, BaseException):
            raise outcome
    live = done[1]
    if not isinstance(live, dict):
        raise Waiting("NamespaceGone", "The namespace was deleted meanwhile.")
    _check_ours(live, tenant)


async def access_bound(client: Client, tenant: Tenant) -> None:
    """The team's groups, and nobody else, hold the role."""
    manifest = role_binding_manifest(tenant)
    try:
        await client.apply(manifest)
    except Invalid as error:
        if "roleRef" not in error.fields():
            raise
        # A binding's role never changes; the one in the way goes, if it still is that one.
        name = role_binding_name(tenant)
        live = await client.get("RoleBinding", name, namespace=tenant.namespace)
        await client.delete(
            "RoleBinding",
            name,
            namespace=tenant.namespace,
            uid=live["metadata"]["uid"],
            resource_version=live["metadata"]["resourceVersion"],
        )
        await client.apply(manifest)


async def service_account_ready(client: Client, tenant: Tenant) -> None:
    """The default service account is there; without it the team's first pod is refused."""

    async def found() -> bool:
        try:
            await client.get("ServiceAccount", "default", namespace=tenant.namespace)
        except NotFound:
            return False
        return True

    if not await _within(ACCOUNT_PATIENCE_S, found):
        raise Waiting(
            "ServiceAccountMissing", "The cluster has not made the default service account yet."
        )


STEPS: tuple[Step, ...] = (
    Step("NamespaceCreated", "Created", namespace_created),
    Step("LimitsApplied", "Applied", limits_applied),
    Step("QuotaApplied", "Applied", quota_applied),
    Step("QuotaEnforced", "Reported", quota_enforced),
    Step("RoleApplied", "Applied", role_applied),
    Step("AccessBound", "Bound", access_bound),
    Step("ServiceAccountReady", "Found", service_account_ready),
)


def unreported(live: Object, wanted: Mapping[str, str]) -> str:
    """What a live quota lacks before it limits everything it should; empty where nothing."""
    name = live["metadata"]["name"]
    spec, status = live["spec"].get("hard") or {}, live.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    if not _equal(spec, wanted):
        return f"{name} was changed meanwhile."
    late = [key for key, amount in wanted.items() if not same(hard.get(key), amount)]
    unseen = [key for key in wanted if key not in used]
    if late or unseen or not _equal(hard, wanted):
        keys = ", ".join(sorted({*late, *unseen} or hard.keys() - wanted.keys()))
        return f"The cluster has not taken up {name} yet ({keys}). Until then it limits nothing."
    return ""


def _equal(live: Object, wanted: Mapping[str, str]) -> bool:
    return live.keys() == wanted.keys() and all(same(live[key], wanted[key]) for key in live)


def _foreign(spec: Object, wanted: Mapping[str, str]) -> Object:
    """A merge patch for what others have put into the quota's spec; empty where nothing."""
    foreign: Object = {field: None for field in spec if field not in ("hard", "scopes")}
    keys = (spec.get("hard") or {}).keys() - wanted.keys()
    if keys:
        foreign["hard"] = dict.fromkeys(sorted(keys))
    return foreign


async def _find(client: Client, tenant: Tenant) -> Object | None:
    try:
        return await client.get("Namespace", tenant.namespace)
    except NotFound:
        return None


async def _make(client: Client, tenant: Tenant) -> Object:
    """The namespace, made now or found already there."""
    # Only what never changes: a label sent by POST could not be dropped by a later apply.
    manifest = namespace_manifest(replace(tenant, uid="", labels={}, annotations={}))
    if tenant.uid:
        manifest["metadata"]["annotations"] = {REPLACES_ANNOTATION: tenant.uid}
    try:
        return await client.create(manifest)
    except AlreadyExists:
        live = await _find(client, tenant)
        if live is None:
            raise Waiting(
                "NamespaceGone", f"The namespace {tenant.namespace} was deleted just now."
            ) from None
        return live


def _check_ours(live: Object, tenant: Tenant) -> None:
    metadata = live["metadata"]
    if metadata.get("deletionTimestamp"):
        conditions = (live.get("status") or {}).get("conditions") or []
        words = [c["message"] for c in conditions if c.get("status") == "True" and c.get("message")]
        raise Waiting(
            "NamespaceTerminating",
            " ".join([f"The namespace {tenant.namespace} is being deleted.", *words]),
        )
    label = own_labels(tenant)[NAMESPACE_ID_LABEL]
    labelled = (metadata.get("labels") or {}).get(NAMESPACE_ID_LABEL) == label
    # One that was ours stays ours, whoever took its label off.
    if not labelled and tenant.uid != metadata["uid"]:
        raise NameTaken(
            f"The namespace {tenant.namespace} is there already and was not made by Berth"
            " for this request. It is left as it is."
        )
    replaces = (metadata.get("annotations") or {}).get(REPLACES_ANNOTATION)
    if tenant.uid and tenant.uid not in (metadata["uid"], replaces):
        raise NameTaken(
            f"The namespace {tenant.namespace} is not the one that was granted (uid"
            f" {tenant.uid}) but one of the same name made later. It is left as it is."
        )


async def _within(patience_s: float, done: Callable[[], Awaitable[bool]]) -> bool:
    """Ask until it is done or patience ends; quickly at first, then less and less often."""
    loop = asyncio.get_running_loop()
    end, pause = loop.time() + patience_s, POLL_FIRST_S
    while not await done():
        if loop.time() + pause > end:
            return False
        await asyncio.sleep(pause)
        pause = min(pause * POLL_GROWTH, POLL_MOST_S)
    return True
