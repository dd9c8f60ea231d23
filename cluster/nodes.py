"""What a cluster's nodes offer. Pure."""

from collections.abc import Iterable
from decimal import Decimal

from cluster.quantities import QuantityError, parse
from cluster.tenant import Object


def allocatable(nodes: Iterable[Object]) -> dict[str, Decimal]:
    """What all nodes that take pods now offer together, per resource, in its own unit.

    Left out are nodes that are not ready, cordoned or being deleted, and amounts that cannot be
    read.
    """
    totals: dict[str, Decimal] = {}
    for node in nodes:
        if not takes_pods(node):
            continue
        for resource, text in ((node.get("status") or {}).get("allocatable") or {}).items():
            try:
                totals[resource] = totals.get(resource, Decimal(0)) + parse(text)
            except QuantityError:
                continue
    return totals


def takes_pods(node: Object) -> bool:
    """Whether the node is ready, schedulable and not on its way out."""
    if (node.get("spec") or {}).get("unschedulable"):
        return False
    if node["metadata"].get("deletionTimestamp"):
        return False
    conditions = (node.get("status") or {}).get("conditions") or []
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)
