"""`manage.py watch_usage`: follow every enabled cluster until stopped."""

import asyncio
import logging
import random
import signal
from typing import Any

from asgiref.sync import sync_to_async
from django.core.management.base import BaseCommand

from tenants.models import Cluster

log = logging.getLogger(__name__)

LOOK_FOR_CLUSTERS_S = 2
AGAIN_S = 2


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
        wanted = {_identity(cluster): cluster for cluster in await _enabled()}
        for key in running.keys() - wanted.keys():
            running.pop(key).cancel()
        for key in wanted.keys() - running.keys():
            running[key] = asyncio.create_task(_watch(wanted[key]))
        await asyncio.sleep(LOOK_FOR_CLUSTERS_S)


async def _watch(cluster: Cluster) -> None:
    # Imported here: the Kubernetes client takes a second to load, which --help need not wait for.
    from quotas.sightings import cluster_lost
    from quotas.watcher import ClusterWatcher

    while True:
        try:
            await ClusterWatcher(cluster).run()
        # One cluster's trouble, whatever it is, must not end the watch of the others.
        except Exception as error:
            log.exception("watching %s failed", cluster.slug)
            await sync_to_async(cluster_lost, thread_sensitive=False)(cluster, str(error))
            await asyncio.sleep(AGAIN_S * random.uniform(0.5, 1.5))  # noqa: S311


@sync_to_async(thread_sensitive=False)
def _enabled() -> list[Cluster]:
    return list(Cluster.objects.filter(enabled=True))


def _identity(cluster: Cluster) -> tuple[Any, ...]:
    return cluster.pk, cluster.kubeconfig, cluster.context, cluster.strict_certificates
