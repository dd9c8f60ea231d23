"""The kinds Berth deals with, and where the API server keeps them."""

from dataclasses import dataclass
from urllib.parse import quote

_RBAC = "rbac.authorization.k8s.io/v1"


@dataclass(frozen=True)
class Kind:
    """One kind of object: its API version, its plural in paths, and whether namespaces hold it."""

    api_version: str
    plural: str
    namespaced: bool = True


KINDS = {
    "Namespace": Kind("v1", "namespaces", namespaced=False),
    "Node": Kind("v1", "nodes", namespaced=False),
    "Pod": Kind("v1", "pods"),
    "ServiceAccount": Kind("v1", "serviceaccounts"),
    "ResourceQuota": Kind("v1", "resourcequotas"),
    "LimitRange": Kind("v1", "limitranges"),
    "Role": Kind(_RBAC, "roles"),
    "RoleBinding": Kind(_RBAC, "rolebindings"),
}


def path_of(kind: str, *, namespace: str = "", name: str = "") -> str:
    """Where one object, or all of a kind (in one namespace or in all), is to be found.

    Raises ValueError where a single object of a namespaced kind is meant and no namespace given.
    """
    known = KINDS[kind]
    if name and known.namespaced and not namespace:
        raise ValueError(f"{kind} {name} needs a namespace")
    root = "api" if "/" not in known.api_version else "apis"
    parts = [root, *known.api_version.split("/")]
    if namespace and known.namespaced:
        parts += ["namespaces", quote(namespace, safe="")]
    parts.append(known.plural)
    if name:
        parts.append(quote(name, safe=""))
    return "/" + "/".join(parts)
