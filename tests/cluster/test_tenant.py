"""What comes out is what the platform's documentation promises, field by field."""

from collections.abc import Iterator
from typing import Any

import yaml

from cluster.quantities import same
from cluster.tenant import (
    desired_manifests,
    namespace_manifest,
    own_labels,
    role_binding_manifest,
)
from tests.cluster.builders import make_tenant

PROMISED = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  namespace: team-alpha
  name: ml-developer
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
metadata:
  name: team-alpha-binding
  namespace: team-alpha
subjects:
- kind: Group
  name: data-science-alpha
  apiGroup: rbac.authorization.k8s.io
roleRef:
  kind: Role
  name: ml-developer
  apiGroup: rbac.authorization.k8s.io
---
apiVersion: v1
kind: ResourceQuota
metadata:
  name: dev-quota
  namespace: team-alpha
spec:
  hard:
    requests.cpu: "20"
    requests.memory: 100Gi
    limits.cpu: "40"
    limits.memory: 200Gi
    requests.nvidia.com/gpu: "4"
    pods: "10"
"""


def differences(promised: Any, found: Any, path: str = "") -> Iterator[str]:
    """Paths of what is promised and found otherwise; what is not promised may be there."""
    if isinstance(promised, dict) and isinstance(found, dict):
        if path.endswith("/hard") and promised.keys() != found.keys():
            yield path
        for key, value in promised.items():
            yield from differences(value, found.get(key), f"{path}/{key}")
    elif "/hard/" in path:
        if not same(promised, found):
            yield path
    elif promised != found:
        yield path


def test_promised_objects_come_out() -> None:
    manifests = desired_manifests(make_tenant(namespace="team-alpha"))
    found = {(m["kind"], m["metadata"]["name"]): m for m in manifests}
    for promised in yaml.safe_load_all(PROMISED):
        live = found[promised["kind"], promised["metadata"]["name"]]
        assert list(differences(promised, live)) == []


def test_limits_come_before_access() -> None:
    kinds = [manifest["kind"] for manifest in desired_manifests(make_tenant())]
    assert kinds == [
        "Namespace",
        "LimitRange",
        "ResourceQuota",
        "ResourceQuota",
        "Role",
        "RoleBinding",
    ]


def test_everything_is_marked_as_managed() -> None:
    tenant = make_tenant(namespace="team-alpha")
    for manifest in desired_manifests(tenant):
        assert manifest["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "berth"
    assert own_labels(tenant).items() <= namespace_manifest(tenant)["metadata"]["labels"].items()


def test_labels_cannot_pretend_to_be_another_tenant() -> None:
    tenant = make_tenant(labels={"berth.dev/namespace-id": "another", "team": "alpha"})
    labels = namespace_manifest(tenant)["metadata"]["labels"]
    assert labels["berth.dev/namespace-id"] == tenant.namespace_id
    assert labels["team"] == "alpha"


def test_namespace_is_meant_by_its_uid_once_known() -> None:
    assert "uid" not in namespace_manifest(make_tenant())["metadata"]
    assert namespace_manifest(make_tenant(uid="u-1"))["metadata"]["uid"] == "u-1"


def test_no_groups_means_nobody() -> None:
    assert role_binding_manifest(make_tenant(groups=()))["subjects"] == []
