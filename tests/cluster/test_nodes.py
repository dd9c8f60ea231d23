"""Totals of what nodes offer."""

from decimal import Decimal
from typing import Any

from cluster.nodes import allocatable


def node(*, ready: str = "True", spec: Any = None, deleting: bool = False, **offers: str) -> Any:
    return {
        "metadata": {"name": "n", **({"deletionTimestamp": "now"} if deleting else {})},
        "spec": spec or {},
        "status": {
            "allocatable": offers,
            "conditions": [{"type": "Ready", "status": ready}],
        },
    }


def test_totals_of_nodes_that_take_pods() -> None:
    gpu = {"nvidia.com/gpu": "8"}
    nodes = [
        node(cpu="31500m", memory="1Gi", **gpu),
        node(cpu="1", memory="1048576Ki", **gpu),
        node(ready="False", cpu="100"),
        node(ready="Unknown", cpu="100"),
        node(spec={"unschedulable": True}, cpu="100"),
        node(deleting=True, cpu="100"),
        node(pods="not a number"),
        {"metadata": {"name": "fresh"}},
    ]
    assert allocatable(nodes) == {
        "cpu": Decimal("32.5"),
        "memory": Decimal(2**31),
        "nvidia.com/gpu": Decimal(16),
    }


def test_no_nodes_offer_nothing() -> None:
    assert allocatable([]) == {}
