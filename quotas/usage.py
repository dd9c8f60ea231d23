"""How the use that clusters report is shown: per quota and resource, with its age.

What the cluster has not said stays 'not reported'; it never becomes a zero.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal
from uuid import UUID

from django.utils.translation import gettext as _

from cluster.quantities import QuantityError, human, parse
from cluster.tenant import GUARD_NAME
from quotas.models import Usage
from tenants.models import Namespace

Level = Literal["unreported", "none", "ok", "high", "full", "over"]
HIGH_PERCENT = 80
# NVIDIA's name for a slice of a GPU: instances and memory, such as mig-1g.10gb.
MIG = "nvidia.com/mig-"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One resource of one quota.

    `percent` is used of hard, None where that has no meaning. `binding`: among several quotas that
    count everything, this one has the lowest limit, so it is the one that holds.
    """

    resource: str
    label: str
    used: Decimal | None
    hard: Decimal
    used_text: str
    hard_text: str
    percent: float | None
    level: Level
    binding: bool


@dataclass(frozen=True, kw_only=True)
class QuotaView:
    """One ResourceQuota; `as_of` is up to when its figures are known to be current.

    `withholds`: it is Berth's own, of what was not granted.
    """

    name: str
    scope: str
    withholds: bool
    reported: bool
    as_of: datetime | None
    rows: list[Row]


def usage_of(namespaces: Collection[Namespace]) -> dict[UUID, list[QuotaView]]:
    """The quotas of these namespaces by namespace id; one query for all.

    The namespaces' clusters must be loaded (select_related).
    """
    places = {(n.cluster_id, n.name): n for n in namespaces}
    reported = Usage.objects.filter(
        cluster__in={cluster for cluster, _name in places},
        namespace_name__in={name for _cluster, name in places},
    )
    found: dict[UUID, list[Usage]] = defaultdict(list)
    for usage in reported:
        if namespace := places.get((usage.cluster_id, usage.namespace_name)):
            found[namespace.pk].append(usage)
    return {n.pk: _views(found[n.pk], watched_at=n.cluster.watched_at) for n in namespaces}


def _views(quotas: list[Usage], *, watched_at: datetime | None) -> list[QuotaView]:
    lowest = _lowest(quotas)
    return [
        QuotaView(
            name=quota.quota_name,
            scope=quota.scope,
            withholds=quota.quota_name == GUARD_NAME,
            reported=quota.used is not None,
            as_of=max(filter(None, [quota.changed_at, watched_at]), default=None),
            rows=[
                _row(
                    resource,
                    hard=_number(hard),
                    used=_number((quota.used or {}).get(resource)),
                    binding=not quota.scope and lowest.get(resource) == quota.pk,
                )
                for resource, hard in sorted(_limits(quota).items(), key=order)
            ],
        )
        for quota in quotas
    ]


def _limits(quota: Usage) -> Mapping[str, str]:
    """What holds now (status), and what was asked for where the cluster has not taken it up yet."""
    return {**quota.spec_hard, **(quota.hard or {})}


def _lowest(quotas: list[Usage]) -> dict[str, int]:
    """Resource to the quota whose limit is the lowest of those that count everything."""
    lowest: dict[str, tuple[Decimal, int]] = {}
    for quota in quotas:
        # What the cluster has not taken up does not bind yet.
        if quota.scope or quota.used is None:
            continue
        for resource, text in _limits(quota).items():
            hard = _number(text) or Decimal(0)
            if resource not in lowest or (hard, quota.pk) < lowest[resource]:
                lowest[resource] = (hard, quota.pk)
    return {resource: pk for resource, (_hard, pk) in lowest.items()}


def _row(resource: str, *, hard: Decimal | None, used: Decimal | None, binding: bool) -> Row:
    hard = hard if hard is not None else Decimal(0)
    percent = float(used / hard * 100) if used is not None and hard > 0 else None
    return Row(
        resource=resource,
        label=label(resource),
        used=used,
        hard=hard,
        used_text=_("not reported") if used is None else human(resource, used),
        hard_text=human(resource, hard),
        percent=percent,
        level=level(used, hard),
        binding=binding,
    )


def level(used: Decimal | None, hard: Decimal) -> Level:
    """How serious this is, for colour and order."""
    if used is None:
        return "unreported"
    if used > hard:
        return "over"
    if hard == 0:
        return "none"
    if used == hard:
        return "full"
    return "high" if used / hard * 100 >= HIGH_PERCENT else "ok"


def _number(text: str | None) -> Decimal | None:
    if text is None:
        return None
    try:
        return parse(text)
    # A quota that somebody else made may hold what we would not accept; it is shown, not refused.
    except QuantityError:
        return None


def order(limit: tuple[str, str]) -> tuple[int, str]:
    """Where a resource stands in a list: accelerators first, then CPU, memory, pods, the rest."""
    resource = limit[0]
    if "/" in resource:
        return (0, resource)
    known = ["requests.cpu", "limits.cpu", "requests.memory", "limits.memory", "pods"]
    return (1 + known.index(resource) if resource in known else 9, resource)


def label(resource: str) -> str:
    """A short name for people."""
    names = {
        "requests.cpu": _("CPU requested"),
        "limits.cpu": _("CPU limit"),
        "requests.memory": _("Memory requested"),
        "limits.memory": _("Memory limit"),
        "pods": _("Pods"),
        "requests.nvidia.com/gpu": _("GPUs"),
    }
    bare = resource.removeprefix("requests.")
    if bare.startswith(MIG):
        return f"MIG {bare.removeprefix(MIG)}"
    return names.get(resource) or bare
