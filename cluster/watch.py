"""Follows all objects of one kind, through everything that ends a watch."""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from cluster.client import Client
from cluster.errors import ClusterError, Gone, Silent, from_status
from cluster.tenant import Object

log = logging.getLogger(__name__)

# The server sends a bookmark about once a minute, so longer silence means a dead connection.
IDLE_S = 75.0
WATCH_S = 240
BACKOFF_FIRST_S = 0.2
BACKOFF_MOST_S = 30.0
# A watch that served this long was a good one: what ends it is no reason to wait.
SETTLED_S = 10.0


@dataclass(frozen=True)
class Synced:
    """All there is now. What the caller holds beyond it is gone."""

    items: list[Object]
    resource_version: str


@dataclass(frozen=True)
class Changed:
    """One object is new, different or gone: `type` is ADDED, MODIFIED or DELETED."""

    type: str
    object: Object
    resource_version: str


@dataclass(frozen=True)
class Alive:
    """Nothing changed, and what was seen is current."""

    resource_version: str


@dataclass(frozen=True)
class Lost:
    """The cluster is out of sight; what was seen is from before. Alive or Synced ends this."""

    error: ClusterError


Event = Synced | Changed | Alive | Lost


async def follow(
    client: Client,
    kind: str,
    *,
    namespace: str = "",
    label_selector: str = "",
    idle_s: float = IDLE_S,
    watch_s: int = WATCH_S,
) -> AsyncGenerator[Event]:
    """List, then watch, for ever; close the generator to end it.

    Lists anew wherever the server has forgotten the version (410 in any form), reports an error,
    or stays silent. Errors come as `Lost` and are retried ever less often, with jitter.
    """
    version = ""
    lost = False
    backoff = _Backoff()
    while True:
        try:
            if not version:
                page = await client.list(kind, namespace=namespace, label_selector=label_selector)
                version, lost = page.resource_version, False
                yield Synced(page.items, version)
            backoff.start()
            events = client.watch(
                kind,
                resource_version=version,
                namespace=namespace,
                label_selector=label_selector,
                timeout_s=watch_s,
                idle_s=idle_s,
            )
            async with aclosing(events):
                async for event in events:
                    if event["type"] == "OPENED":
                        if lost:
                            lost = False
                            yield Alive(version)
                        continue
                    if event["type"] == "ERROR":
                        version = ""
                        raise from_status(int(event["object"].get("code") or 500), event["object"])
                    backoff.reset()
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] == "BOOKMARK":
                        yield Alive(version)
                    else:
                        yield Changed(event["type"], event["object"], version)
            # Ended by the server, as asked; a proxy that ends it at once is not hammered.
            await backoff.pause()
        except (Gone, Silent) as error:
            log.info("list of %s is read anew: %s", kind, error)
            version = ""
            await backoff.pause()
        except ClusterError as error:
            lost = True
            yield Lost(error)
            await backoff.pause(at_least=error.retry_after or 0)


class _Backoff:
    """Waiting times between starts: none after a watch that served, else longer each time."""

    def __init__(self) -> None:
        self.failures = 0
        self.started = 0.0

    def start(self) -> None:
        self.started = asyncio.get_running_loop().time()

    def reset(self) -> None:
        self.failures = 0

    async def pause(self, *, at_least: float = 0) -> None:
        loop = asyncio.get_running_loop()
        if self.started and loop.time() - self.started > SETTLED_S:
            self.failures = 0
        wait = min(BACKOFF_FIRST_S * 2**self.failures, BACKOFF_MOST_S)
        self.failures = min(self.failures + 1, 16)
        self.started = 0.0
        await asyncio.sleep(max(at_least, wait * random.uniform(0.5, 1)))  # noqa: S311
