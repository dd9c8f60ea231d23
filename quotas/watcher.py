"""Follows one cluster and writes down what it reports: quotas and their use, namespaces, nodes.

One list and watch per kind and cluster, however many namespaces. Changes are written in batches.
What differs from what was granted is nudged; the reconciler decides, never this.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import close_old_connections, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from cluster.amounts import is_extended
from cluster.client import Client
from cluster.errors import ClusterError
from cluster.nodes import allocatable
from cluster.quantities import same
from cluster.tenant import QUOTA_NAME
from cluster.watch import Alive, Changed, Lost, Synced, follow
from quotas.models import Grant, Usage
from quotas.reconcile import connection_of
from tenants.models import Cluster, Namespace
from tenants.nudge import nudge
from tenants.publish import publish
from tenants.services import namespaces_touch

log = logging.getLogger(__name__)

KINDS = ("ResourceQuota", "Namespace", "Node")
BATCH_S = 0.03
PROBE_S = 3

Object = dict[str, Any]
Event = Synced | Changed | Alive | Lost


class ClusterWatcher:
    """Everything that is followed on one cluster, until cancelled."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.events: asyncio.Queue[tuple[str, Event]] = asyncio.Queue(maxsize=10_000)
        self.lost: dict[str, str] = {}
        self.synced: set[str] = set()
        self.nodes: dict[str, Object] = {}

    async def run(self) -> None:
        """Follow every kind, write in batches, and probe that the cluster still answers."""
        async with Client(connection_of(self.cluster)) as client, asyncio.TaskGroup() as group:
            for kind in KINDS:
                group.create_task(self._follow(client, kind))
            group.create_task(self._write())
            group.create_task(self._probe(client))

    async def _follow(self, client: Client, kind: str) -> None:
        async for event in follow(client, kind):
            await self.events.put((kind, event))

    async def _probe(self, client: Client) -> None:
        """Say how current the figures are: while watches are open, as of the last answer."""
        while True:
            try:
                await client.version()
            except ClusterError as error:
                await _in_thread(cluster_lost, self.cluster, str(error))
            else:
                if not self.lost and self.synced.issuperset(KINDS):
                    await _in_thread(cluster_seen, self.cluster)
            await asyncio.sleep(PROBE_S)

    async def _write(self) -> None:
        while True:
            batch = [await self.events.get()]
            await asyncio.sleep(BATCH_S)
            while not self.events.empty():
                batch.append(self.events.get_nowait())
            for kind in KINDS:
                await self._write_kind(kind, [event for k, event in batch if k == kind])

    async def _write_kind(self, kind: str, events: list[Event]) -> None:
        """Write the events of one kind; of several for one object only the last counts."""
        whole: list[Object] | None = None
        changed: dict[tuple[str, str], Changed] = {}
        for event in events:
            match event:
                case Synced(items=items):
                    whole, changed = items, {}
                    self.lost.pop(kind, None)
                    self.synced.add(kind)
                case Changed(object=item):
                    changed[_key(item)] = event
                    self.lost.pop(kind, None)
                case Alive():
                    self.lost.pop(kind, None)
                case Lost(error=error):
                    self.lost[kind] = str(error)
                    await _in_thread(cluster_lost, self.cluster, str(error))
        if whole is None and not changed:
            return
        gone = [event.object for event in changed.values() if event.type == "DELETED"]
        live = [event.object for event in changed.values() if event.type != "DELETED"]
        if kind == "Node":
            await self._write_nodes(whole, live, gone)
        elif kind == "Namespace":
            await _in_thread(namespaces_seen, self.cluster, whole, live, gone)
        else:
            await _in_thread(quotas_seen, self.cluster, whole, live, gone)

    async def _write_nodes(
        self, whole: list[Object] | None, live: list[Object], gone: list[Object]
    ) -> None:
        if whole is not None:
            self.nodes = {node["metadata"]["name"]: node for node in whole}
        self.nodes.update({node["metadata"]["name"]: node for node in live})
        for node in gone:
            self.nodes.pop(node["metadata"]["name"], None)
        totals = {name: str(value) for name, value in allocatable(self.nodes.values()).items()}
        if totals != self.cluster.allocatable:
            self.cluster.allocatable = totals
            await _in_thread(cluster_offers, self.cluster, totals)


async def _in_thread(function: Any, *args: Any) -> None:
    def call() -> None:
        close_old_connections()
        try:
            function(*args)
        finally:
            connection.close()

    await sync_to_async(call, thread_sensitive=False)()


def _key(item: Object) -> tuple[str, str]:
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


def namespaces_seen(
    cluster: Cluster, whole: list[Object] | None, live: list[Object], gone: list[Object]
) -> None:
    """Nudge those of Berth's namespaces that are no longer there, or no longer the same object."""
    if whole is not None:
        there = {item["metadata"]["name"]: item["metadata"]["uid"] for item in whole}
        ours = _ours(cluster)
    else:
        there = {item["metadata"]["name"]: item["metadata"]["uid"] for item in live}
        ours = _ours(cluster, [*there, *(item["metadata"]["name"] for item in gone)])
    nudge(*(n.pk for n in ours if n.uid and there.get(n.name) != n.uid))


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
        rows = {_key(item): _usage(cluster, item, at=now) for item in live}
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
        specs = {key[0]: item.spec_hard for key, item in rows.items() if key[1] == QUOTA_NAME}
        nudge(*_differing(changed, specs, gone=names))


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
    namespaces: Iterable[Namespace], specs: Mapping[str, Mapping[str, str]], *, gone: set[str]
) -> list[UUID]:
    """Namespaces whose live quota is not the granted one.

    Past a grant's end the live one is zero and differs for good; the reconciler then finds nothing
    to do, so those are left out.
    """
    settled = {
        namespace.pk: namespace
        for namespace in namespaces
        if namespace.observed_generation == namespace.generation
    }
    grants = Grant.objects.filter(namespace__in=settled, superseded_at=None)
    now = timezone.now()
    found = []
    for grant in grants:
        if grant.ends_at is not None and grant.ends_at <= now:
            continue
        name = settled[grant.namespace_id].name
        spec = specs.get(name)
        if spec is None:
            if name in gone:
                found.append(grant.namespace_id)
        elif spec.keys() != grant.amounts.keys() or not all(
            same(spec[key], grant.amounts[key]) for key in spec
        ):
            found.append(grant.namespace_id)
    return found
