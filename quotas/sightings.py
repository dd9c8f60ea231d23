"""Writes down what a cluster's watch has seen, tells pages, and nudges what is not as it should be.

The reconciler decides; nothing here touches a cluster.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from cluster.amounts import is_extended
from cluster.client import FIELD_MANAGER
from cluster.quantities import same
from cluster.tenant import GUARD_NAME, NAMESPACE_ID_LABEL, QUOTA_NAME
from quotas.checks import offered
from quotas.desired import hard_of, withheld
from quotas.models import Grant, Usage
from tenants.models import Cluster, Namespace
from tenants.nudge import nudge
from tenants.publish import publish
from tenants.services import namespaces_touch

Object = dict[str, Any]


def key_of(item: Object) -> tuple[str, str]:
    """Namespace (empty for what is in none) and name."""
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def cluster_seen(cluster: Cluster) -> None:
    """The cluster answers and its watches are open: figures are current as of now."""
    now = timezone.now()
    back = Cluster.objects.filter(pk=cluster.pk, lost_since__isnull=False).update(
        lost_since=None, lost_message=""
    )
    Cluster.objects.filter(pk=cluster.pk).update(watched_at=now)
    if back:
        publish([f"cluster:{cluster.slug}"])
        _nudge_waiting(cluster)


def cluster_lost(cluster: Cluster, message: str) -> None:
    """The cluster does not answer, since now unless it was lost before."""
    lost = Cluster.objects.filter(pk=cluster.pk, lost_since=None).update(
        lost_since=timezone.now(), lost_message=message
    )
    if lost:
        publish([f"cluster:{cluster.slug}"])


def cluster_offers(cluster: Cluster, totals: Mapping[str, str]) -> None:
    """What the nodes offer in all has changed."""
    before = Cluster.objects.get(pk=cluster.pk).allocatable or {}
    with transaction.atomic():
        Cluster.objects.filter(pk=cluster.pk).update(allocatable=totals)
        if set(filter(is_extended, totals)) - set(before):
            # A new accelerator is free for all until each namespace's guard names it.
            namespaces_touch(Namespace.objects.filter(cluster=cluster))
        publish([f"cluster:{cluster.slug}"])
        _nudge_waiting(cluster)


def _nudge_waiting(cluster: Cluster) -> None:
    """Nothing that waited for this cluster, or was refused there, waits for its time to come."""
    behind = Q(observed_generation__lt=F("generation")) | Q(reconcile_at__isnull=False)
    waiting = Namespace.objects.filter(behind, cluster=cluster, released_at=None)
    nudge(*waiting.values_list("pk", flat=True))


def _look_again(namespace_ids: Iterable[UUID]) -> None:
    """Have these reconciled, since what stands there is not as it should be.

    Noted, too: where the nudge is lost, or comes while a pass is past what has changed, the sweep
    finds them. What is behind already has a time of its own.
    """
    ids = list(namespace_ids)
    with transaction.atomic():
        Namespace.objects.filter(pk__in=ids, observed_generation=F("generation")).update(
            reconcile_at=timezone.now()
        )
        nudge(*ids)


def namespaces_seen(
    cluster: Cluster, whole: list[Object] | None, live: list[Object], gone: list[Object]
) -> None:
    """Nudge those of Berth's namespaces that are gone, another object, or without our label.

    Those that were never made, too, where another of that name stood in the way and is gone now.
    """
    there = {_name_of(item): item for item in (live if whole is None else whole)}
    ours = list(_ours(cluster, None if whole is not None else [*there, *map(_name_of, gone)]))
    freed = {namespace.name for namespace in ours} - there.keys()
    _look_again(
        n.pk
        for n in ours
        if (n.uid and not _is_ours(there.get(n.name), n)) or (not n.uid and n.name in freed)
    )


def _name_of(item: Object) -> str:
    return key_of(item)[1]


def _is_ours(live: Object | None, namespace: Namespace) -> bool:
    if live is None:
        return False
    labels = live["metadata"].get("labels") or {}
    return bool(
        live["metadata"]["uid"] == namespace.uid
        and labels.get(NAMESPACE_ID_LABEL) == str(namespace.pk)
    )


def quotas_seen(
    cluster: Cluster, whole: list[Object] | None, live: list[Object], gone: list[Object]
) -> None:
    """Write quotas and their use, drop those that are gone, tell pages, nudge where one differs."""
    now = timezone.now()
    with transaction.atomic():
        before = Usage.objects.filter(cluster=cluster)
        if whole is not None:
            uids = {item["metadata"]["uid"] for item in whole}
            names = set(before.exclude(uid__in=uids).values_list("namespace_name", flat=True))
            before.exclude(uid__in=uids).delete()
            live = [*whole, *live]
        else:
            names = {item["metadata"]["namespace"] for item in gone}
            before.filter(uid__in=[item["metadata"]["uid"] for item in gone]).delete()
        # Of two states of one object the later one stands last.
        rows = {key_of(item): _usage(cluster, item, at=now) for item in live}
        Usage.objects.bulk_create(
            rows.values(),
            update_conflicts=True,
            unique_fields=["cluster", "namespace_name", "quota_name"],
            update_fields=["uid", "scope", "spec_hard", "hard", "used", "changed_at"],
            batch_size=1_000,
        )
        changed = list(_ours(cluster, names | {namespace for namespace, _ in rows}))
        publish(
            [
                f"cluster:{cluster.slug}",
                *(f"namespace:{namespace.pk}" for namespace in changed),
                *{f"team:{namespace.team_id}" for namespace in changed},
            ]
        )
        _look_again(_differing(cluster, changed, rows, gone=names))


def owned_seen(
    cluster: Cluster, whole: list[Object] | None, live: list[Object], gone: list[Object]
) -> None:
    """Objects of one kind that Berth made: nudge where one is gone or another hand was on it."""
    touched = {key_of(item)[0] for item in [*(whole or []), *live] if _is_touched(item)}
    missing = {key_of(item)[0] for item in gone}
    ours = list(_ours(cluster, None if whole is not None else touched | missing))
    if whole is not None:
        there = {key_of(item)[0] for item in whole}
        missing = {namespace.name for namespace in ours} - there
    _look_again(n.pk for n in ours if n.uid and n.name in touched | missing)


def _is_touched(item: Object) -> bool:
    managers = item["metadata"].get("managedFields") or []
    return any(entry["manager"] != FIELD_MANAGER for entry in managers)


def _usage(cluster: Cluster, item: Object, *, at: Any) -> Usage:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    selector = (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    scopes = [
        *(spec.get("scopes") or []),
        *(
            " ".join([term["scopeName"], term["operator"], *(term.get("values") or [])])
            for term in selector
        ),
    ]
    return Usage(
        cluster=cluster,
        namespace_name=item["metadata"]["namespace"],
        quota_name=item["metadata"]["name"],
        uid=item["metadata"]["uid"],
        scope=", ".join(scopes),
        spec_hard=spec.get("hard") or {},
        hard=status.get("hard"),
        used=status.get("used"),
        changed_at=at,
    )


def _ours(cluster: Cluster, names: Iterable[str] | None = None) -> Iterable[Namespace]:
    ours = Namespace.objects.filter(cluster=cluster, released_at=None)
    return ours if names is None else ours.filter(name__in=list(names))


def _differing(
    cluster: Cluster,
    namespaces: Iterable[Namespace],
    quotas: Mapping[tuple[str, str], Usage],
    *,
    gone: set[str],
) -> list[UUID]:
    """Namespaces whose live quotas are not those of their grant."""
    settled = {
        namespace.pk: namespace
        for namespace in namespaces
        if namespace.observed_generation == namespace.generation
    }
    grants = Grant.objects.filter(namespace__in=settled, superseded_at=None)
    now, there = timezone.now(), offered(cluster) or ()
    found = []
    for grant in grants:
        name = settled[grant.namespace_id].name
        granted, guard = quotas.get((name, QUOTA_NAME)), quotas.get((name, GUARD_NAME))
        if (
            name in gone
            or (granted and not _is_granted(granted, hard_of(grant, at=now)))
            or (guard and not _withholds(guard, withheld(grant, there)))
        ):
            found.append(grant.namespace_id)
    return found


def _is_granted(live: Usage, hard: Mapping[str, str]) -> bool:
    # One with a scope counts only some pods, whatever its amounts.
    return (
        not live.scope
        and live.spec_hard.keys() == hard.keys()
        and all(same(amount, hard[key]) for key, amount in live.spec_hard.items())
    )


def _withholds(live: Usage, wanted: Collection[str]) -> bool:
    # An accelerator whose nodes are away for a while may stay named.
    return (
        not live.scope
        and live.spec_hard.keys() >= set(wanted)
        and all("/" in key and same(amount, "0") for key, amount in live.spec_hard.items())
    )
