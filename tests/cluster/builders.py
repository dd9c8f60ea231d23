"""Tenants to test with."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

from cluster.tenant import Tenant

SEED_AMOUNTS = {
    "requests.cpu": "20",
    "requests.memory": "100Gi",
    "limits.cpu": "40",
    "limits.memory": "200Gi",
    "requests.nvidia.com/gpu": "4",
    "pods": "10",
}


def make_tenant(**changes: Any) -> Tenant:
    """Team alpha's tenant, in a namespace of its own name unless told otherwise."""
    tenant = Tenant(
        namespace=f"t-{uuid4().hex[:12]}",
        uid="",
        namespace_id=str(uuid4()),
        labels={"berth.dev/team": "alpha"},
        annotations={},
        hard=dict(SEED_AMOUNTS),
        limit_default={"cpu": "1", "memory": "1Gi"},
        limit_default_request={"cpu": "500m", "memory": "512Mi"},
        groups=("data-science-alpha",),
    )
    return replace(tenant, **changes)
