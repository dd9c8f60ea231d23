"""What should stand in the cluster for one tenant, and the manifests that say so. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "berth"
NAMESPACE_ID_LABEL = "berth.dev/namespace-id"

LIMIT_RANGE_NAME = "dev-limits"
QUOTA_NAME = "dev-quota"
GUARD_NAME = "berth-guard"
ROLE_NAME = "ml-developer"

_RBAC = "rbac.authorization.k8s.io"
_DEVELOPER_RULES = (
    (
        ("", "apps", "batch"),
        ("pods", "deployments", "jobs", "services"),
        ("get", "list", "watch", "create", "update", "patch", "delete"),
    ),
    (("",), ("pods/log",), ("get", "list")),
)


@dataclass(frozen=True)
class Tenant:
    """One namespace with its limits and access, as it should be.

    `uid` is the live namespace's, empty while it was never made; `namespace_id` is the id under
    which Berth keeps it, and proves that a live one is ours. `hard` are the quota's amounts,
    `limit_default` and `limit_default_request` what a container gets that names none. `groups` are
    the final subjects (`cluster.names.subject`). `withheld` are quota keys of which there is to be
    none: what a quota does not name it does not limit.
    """

    namespace: str
    uid: str
    namespace_id: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    hard: Mapping[str, str]
    limit_default: Mapping[str, str]
    limit_default_request: Mapping[str, str]
    groups: tuple[str, ...]
    withheld: tuple[str, ...] = ()


def own_labels(tenant: Tenant) -> dict[str, str]:
    """The labels by which a namespace is known as this tenant's. They never change."""
    return {MANAGED_BY_LABEL: MANAGED_BY, NAMESPACE_ID_LABEL: tenant.namespace_id}


def namespace_manifest(tenant: Tenant) -> Object:
    """The namespace. With a uid it applies to that very one, never to a later namesake."""
    metadata: Object = {
        "name": tenant.namespace,
        "labels": {**tenant.labels, **own_labels(tenant)},
    }
    if tenant.annotations:
        metadata["annotations"] = dict(tenant.annotations)
    if tenant.uid:
        metadata["uid"] = tenant.uid
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def limit_range_manifest(tenant: Tenant) -> Object:
    """Defaults for containers that name no requests or limits: the quota would refuse them."""
    limits: Object = {"type": "Container"}
    if tenant.limit_default:
        limits["default"] = dict(tenant.limit_default)
    if tenant.limit_default_request:
        limits["defaultRequest"] = dict(tenant.limit_default_request)
    return _within(tenant, "v1", "LimitRange", LIMIT_RANGE_NAME) | {"spec": {"limits": [limits]}}


def quota_manifest(tenant: Tenant) -> Object:
    """What the namespace may use in all: exactly what was granted."""
    return _quota(tenant, QUOTA_NAME, dict(tenant.hard))


def guard_manifest(tenant: Tenant) -> Object:
    """None of what the grant does not name, in an object of its own beside the granted amounts."""
    return _quota(tenant, GUARD_NAME, dict.fromkeys(tenant.withheld, "0"))


def _quota(tenant: Tenant, name: str, hard: dict[str, str]) -> Object:
    return _within(tenant, "v1", "ResourceQuota", name) | {"spec": {"hard": hard}}


def role_manifest(tenant: Tenant) -> Object:
    """What the team's people may do. Nothing here lets them change their own limits."""
    rules = [
        {"apiGroups": list(groups), "resources": list(resources), "verbs": list(verbs)}
        for groups, resources, verbs in _DEVELOPER_RULES
    ]
    return _within(tenant, f"{_RBAC}/v1", "Role", ROLE_NAME) | {"rules": rules}


def role_binding_manifest(tenant: Tenant) -> Object:
    """Who the team's people are."""
    return _within(tenant, f"{_RBAC}/v1", "RoleBinding", role_binding_name(tenant)) | {
        "subjects": [{"kind": "Group", "name": name, "apiGroup": _RBAC} for name in tenant.groups],
        "roleRef": {"kind": "Role", "name": ROLE_NAME, "apiGroup": _RBAC},
    }


def role_binding_name(tenant: Tenant) -> str:
    """How the binding is called."""
    return f"{tenant.namespace}-binding"


def desired_manifests(tenant: Tenant) -> list[Object]:
    """Everything, in the order in which it may come into being: limits before access."""
    return [
        namespace_manifest(tenant),
        limit_range_manifest(tenant),
        quota_manifest(tenant),
        guard_manifest(tenant),
        role_manifest(tenant),
        role_binding_manifest(tenant),
    ]


def _within(tenant: Tenant, api_version: str, kind: str, name: str) -> Object:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": tenant.namespace,
            "labels": {MANAGED_BY_LABEL: MANAGED_BY},
        },
    }
