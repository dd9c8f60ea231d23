"""Paths of the API."""

import pytest

from cluster.kinds import path_of


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (path_of("Namespace"), "/api/v1/namespaces"),
        (path_of("Namespace", name="a"), "/api/v1/namespaces/a"),
        (path_of("ResourceQuota"), "/api/v1/resourcequotas"),
        (path_of("Pod", namespace="a", name="b"), "/api/v1/namespaces/a/pods/b"),
        (
            path_of("Role", namespace="a"),
            "/apis/rbac.authorization.k8s.io/v1/namespaces/a/roles",
        ),
        (path_of("Pod", namespace="../x", name="a/b"), "/api/v1/namespaces/..%2Fx/pods/a%2Fb"),
    ],
)
def test_paths(path: str, expected: str) -> None:
    assert path == expected


def test_an_object_in_a_namespace_needs_one() -> None:
    with pytest.raises(ValueError, match="needs a namespace"):
        path_of("Pod", name="a")
