"""`manage.py watch_usage`: follow every enabled cluster until stopped."""

import asyncio
import contextlib
import logging
import random
import signal
from typing import Any

from asgiref.sync import sync_to_async
from django.core.management.base import BaseCommand
from django.db import DatabaseError, InterfaceError, connections

from tenants.models import Cluster

log = logging.getLogger(__name__)

LOOK_FOR_CLUSTERS_S = 2
AGAIN_S = 2
DATABASE_AWAY = (DatabaseError, InterfaceError)


class Command(BaseCommand):
    help = "Follow quotas, namespaces and nodes of every enabled cluster."

    def handle(self, **options: Any) -> None:
        with asyncio.Runner() as runner:
            loop = runner.get_loop()
            task = loop.create_task(_watch_all())
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, task.cancel)
            try:
                loop.run_until_complete(task)
            except asyncio.CancelledError:
                self.stdout.write("stopped")


async def _watch_all() -> None:
    """One task a cluster; a cluster that was registered, changed or disabled is noticed here."""
    running: dict[tuple[Any, ...], asyncio.Task[None]] = {}
    while True:
        try:
            wanted = {_identity(cluster): cluster for cluster in await _enabled()}
        except DATABASE_AWAY as error:
            log.warning("the clusters cannot be read now: %s", error)
            await asyncio.sleep(LOOK_FOR_CLUSTERS_S)
            continue
        for key in running.keys() - wanted.keys():
            running.pop(key).cancel()
        for key in wanted.keys() - running.keys():
            running[key] = asyncio.create_task(_watch(wanted[key]))
        await asyncio.sleep(LOOK_FOR_CLUSTERS_S)


async def _watch(cluster: Cluster) -> None:
    # Imported here: the Kubernetes client takes a second to load, which --help need not wait for.
    from quotas.sightings import cluster_lost
    from quotas.watcher import ClusterWatcher, in_thread

    while True:
        try:
            await ClusterWatcher(cluster).run()
        # One cluster's trouble, whatever it is, must not end the watch of the others.
        except Exception as error:
            log.exception("watching %s failed", cluster.slug)
            # Where the database is what failed, this can't be written either.
            with contextlib.suppress(*DATABASE_AWAY):
                await in_thread(cluster_lost, cluster, str(error))
            await asyncio.sleep(AGAIN_S * random.uniform(0.5, 1.5))  # noqa: S311


@sync_to_async(thread_sensitive=False)
def _enabled() -> list[Cluster]:
    try:
        return list(Cluster.objects.filter(enabled=True))
    finally:
        # One that broke would stay with this thread.
        connections.close_all()


def _identity(cluster: Cluster) -> tuple[Any, ...]:
    return cluster.pk, cluster.kubeconfig, cluster.context, cluster.strict_certificates
