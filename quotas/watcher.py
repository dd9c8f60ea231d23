"""Follows one cluster: quotas and their use, namespaces, nodes, and the other objects Berth made.

One list and watch per kind and cluster, however many namespaces. Changes are written in batches
(quotas.sightings).
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections

from cluster.client import Client
from cluster.errors import ClusterError
from cluster.nodes import allocatable
from cluster.tenant import MANAGED_BY, MANAGED_BY_LABEL
from cluster.watch import Alive, Changed, Lost, Synced, follow
from quotas.reconcile import connection_of
from quotas.sightings import (
    Object,
    cluster_lost,
    cluster_offers,
    cluster_seen,
    key_of,
    namespaces_seen,
    owned_seen,
    quotas_seen,
)
from tenants.models import Cluster

log = logging.getLogger(__name__)

# Of these everything is followed, of the others only what Berth made.
WHOLE_KINDS = ("ResourceQuota", "Namespace", "Node")
KINDS = (*WHOLE_KINDS, "LimitRange", "Role", "RoleBinding")
SEEN: dict[str, Callable[..., None]] = {
    "ResourceQuota": quotas_seen,
    "Namespace": namespaces_seen,
}
BATCH_S = 0.03
PROBE_S = 3

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
        selector = "" if kind in WHOLE_KINDS else f"{MANAGED_BY_LABEL}={MANAGED_BY}"
        async for event in follow(client, kind, label_selector=selector):
            await self.events.put((kind, event))

    async def _probe(self, client: Client) -> None:
        """Say how current the figures are: while watches are open, as of the last answer."""
        while True:
            try:
                await client.version()
            except ClusterError as error:
                await in_thread(cluster_lost, self.cluster, str(error))
            else:
                if not self.lost and self.synced.issuperset(KINDS):
                    await in_thread(cluster_seen, self.cluster)
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
                    changed[key_of(item)] = event
                    self.lost.pop(kind, None)
                case Alive():
                    self.lost.pop(kind, None)
                case Lost(error=error):
                    self.lost[kind] = str(error)
                    await in_thread(cluster_lost, self.cluster, str(error))
        if whole is None and not changed:
            return
        gone = [event.object for event in changed.values() if event.type == "DELETED"]
        live = [event.object for event in changed.values() if event.type != "DELETED"]
        if whole is not None:
            # What came after the list belongs to it.
            now = {key_of(item): item for item in [*whole, *live]}
            for item in gone:
                now.pop(key_of(item), None)
            whole, live, gone = list(now.values()), [], []
        if kind == "Node":
            await self._write_nodes(whole, live, gone)
        else:
            await in_thread(SEEN.get(kind, owned_seen), self.cluster, whole, live, gone)

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
            await in_thread(cluster_offers, self.cluster, totals)


async def in_thread(function: Callable[..., None], *args: Any) -> None:
    """Call what uses the database; its connection goes back to the pool, or away if it broke."""

    def call() -> None:
        try:
            function(*args)
        finally:
            connections.close_all()

    await sync_to_async(call, thread_sensitive=False)()
