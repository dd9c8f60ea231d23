"""What clusters offer in all, how much of it is promised, and how much of that is used."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from uuid import UUID

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from cluster.amounts import COUNTED
from cluster.quantities import QuantityError, human, parse
from cluster.tenant import QUOTA_NAME
from quotas.models import Grant, Usage
from quotas.usage import Level, label, level, order
from tenants.models import Cluster, Namespace

# `limits.*` may be promised many times over, so they say nothing about what is left.
LIMITS = "limits."
# 10,000 namespaces hold few different amounts.
_parse = lru_cache(maxsize=4_096)(parse)


@dataclass(frozen=True, kw_only=True)
class CapacityRow:
    """One resource of one cluster. `percent` is granted of offered; None where none is offered.

    `used` is None where something is granted and the cluster has reported nothing of it.
    """

    resource: str
    label: str
    offered: Decimal
    granted: Decimal
    used: Decimal | None
    percent: float | None
    level: Level

    @property
    def offered_text(self) -> str:
        return human(self.resource, self.offered)

    @property
    def granted_text(self) -> str:
        return human(self.resource, self.granted)

    @property
    def used_text(self) -> str:
        return _("not reported") if self.used is None else human(self.resource, self.used)

    @property
    def left(self) -> Decimal:
        """What nobody has been promised; never below zero, since past it there is nothing left."""
        return max(self.offered - self.granted, Decimal(0))

    @property
    def left_text(self) -> str:
        return human(self.resource, self.left)


@dataclass(frozen=True, kw_only=True)
class FitRow:
    """One amount that somebody asks for, beside what the cluster has left of it.

    `fits` is None where nobody knows: a limit, or a cluster that has not been seen.
    """

    resource: str
    label: str
    asked_text: str
    left_text: str
    offered_text: str
    fits: bool | None


def capacity_of(
    clusters: Collection[Cluster], *, at: datetime | None = None
) -> dict[UUID, list[CapacityRow]]:
    """What each cluster offers, has promised and sees used, by cluster id. Two queries for all."""
    granted = _granted(clusters, at=at or timezone.now())
    used = _used(clusters)
    return {
        cluster.pk: [
            _row(
                key,
                offered=amount,
                granted=granted[cluster.pk][key],
                used=used[cluster.pk].get(key),
            )
            for key, amount in sorted(_keys(cluster).items(), key=lambda item: order((item[0], "")))
        ]
        for cluster in clusters
    }


def fit_of(amounts: Mapping[str, str], rows: Collection[CapacityRow]) -> list[FitRow]:
    """These amounts beside what `capacity_of` found for their cluster."""
    capacity = {row.resource: row for row in rows}
    return [
        _fit(resource, text, capacity.get(resource))
        for resource, text in sorted(amounts.items(), key=order)
    ]


def _fit(resource: str, text: str, row: CapacityRow | None) -> FitRow:
    return FitRow(
        resource=resource,
        label=label(resource),
        asked_text=human(resource, text),
        left_text=row.left_text if row else "",
        offered_text=row.offered_text if row else "",
        fits=_parse(text) <= row.left if row else None,
    )


def _keys(cluster: Cluster) -> dict[str, Decimal]:
    """Quota key to what the nodes offer of it: CPU, memory, pods and accelerators."""
    offered = cluster.allocatable or {}
    keys = {key: node for key, node in COUNTED.items() if not key.startswith(LIMITS)}
    keys |= {f"requests.{resource}": resource for resource in offered if "/" in resource}
    return {key: _parse(offered[node]) for key, node in keys.items() if node in offered}


def _granted(clusters: Collection[Cluster], *, at: datetime) -> dict[UUID, dict[str, Decimal]]:
    live = Grant.objects.filter(
        Q(ends_at=None) | Q(ends_at__gt=at),
        superseded_at=None,
        namespace__released_at=None,
        namespace__cluster__in=clusters,
    )
    return _sum(live.values_list("namespace__cluster_id", "amounts"))


def _used(clusters: Collection[Cluster]) -> dict[UUID, dict[str, Decimal]]:
    # One quota a namespace: several count the same pods, so they are never added up. Somebody
    # else's of the same name says nothing of what was granted.
    ours = Namespace.objects.filter(
        cluster=OuterRef("cluster"), name=OuterRef("namespace_name"), released_at=None
    )
    own = Usage.objects.filter(Exists(ours), cluster__in=clusters, quota_name=QUOTA_NAME)
    return _sum(own.filter(used__isnull=False).values_list("cluster_id", "used"))


def _sum(
    rows: Iterable[tuple[UUID, Mapping[str, str] | None]],
) -> dict[UUID, dict[str, Decimal]]:
    sums: dict[UUID, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for cluster, amounts in rows:
        for resource, text in (amounts or {}).items():
            try:
                sums[cluster][resource] += _parse(text)
            except QuantityError:  # somebody else's writing; what can't be read adds nothing
                continue
    return sums


def _row(resource: str, *, offered: Decimal, granted: Decimal, used: Decimal | None) -> CapacityRow:
    return CapacityRow(
        resource=resource,
        label=label(resource),
        offered=offered,
        granted=granted,
        used=used if used is not None or granted else Decimal(0),
        percent=float(granted / offered * 100) if offered > 0 else None,
        level=level(granted, offered),
    )
