"""Following one kind through everything that ends a watch."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from itertools import pairwise
from typing import Any

import pytest
from aiohttp import web

from cluster import watch
from cluster.client import Client, Connection
from cluster.errors import Busy, Unreachable
from cluster.tenant import Tenant
from cluster.watch import Alive, Changed, Event, Lost, Synced, follow
from tests.functional.cluster.conftest import plain_namespace
from tests.functional.proxy import Fault, Proxy, status

pytestmark = pytest.mark.cluster

OnCluster = Callable[..., Any]
NewTenant = Callable[..., Tenant]
PATH = "/api/v1/namespaces"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "BACKOFF_FIRST_S", 0.02)
    monkeypatch.setattr(watch, "BACKOFF_MOST_S", 0.2)


def labelled(tenant: Tenant) -> dict[str, str]:
    return {"label_selector": f"berth.dev/test-run={tenant.namespace}"}


async def make(client: Client, tenant: Tenant) -> None:
    await client.create(plain_namespace(tenant, **{"berth.dev/test-run": tenant.namespace}))


async def take(events: AsyncGenerator[Event]) -> Event:
    return await asyncio.wait_for(anext(events), 10)


def after_the_list() -> Callable[[str, str], bool]:
    """Matches every GET of namespaces but the first."""
    seen = [0]

    def matches(method: str, path: str) -> bool:
        seen[0] += method == "GET" and path == PATH
        return method == "GET" and path == PATH and seen[0] > 1

    return matches


def error_event(code: int, reason: str) -> Callable[[], web.Response]:
    body = {"kind": "Status", "code": code, "reason": reason, "message": "as told"}
    line = json.dumps({"type": "ERROR", "object": body}) + "\n"
    return lambda: web.Response(text=line, content_type="application/json")


def test_lists_then_tells_every_change(on_cluster: OnCluster, new_tenant: NewTenant) -> None:
    tenant = new_tenant()

    async def work(client: Client) -> list[Event]:
        async with aclosing(follow(client, "Namespace", **labelled(tenant))) as events:
            seen = [await take(events)]
            await make(client, tenant)
            seen.append(await take(events))
            change = {"metadata": {"annotations": {"a": "b"}}}
            await client.patch("Namespace", tenant.namespace, change)
            seen.append(await take(events))
            await client.delete("Namespace", tenant.namespace)
            while not isinstance(seen[-1], Changed) or seen[-1].type != "DELETED":
                seen.append(await take(events))
            return seen

    synced, added, modified, *_ = on_cluster(work)
    assert isinstance(synced, Synced)
    assert synced.items == []
    assert isinstance(added, Changed)
    assert (added.type, added.object["metadata"]["name"]) == ("ADDED", tenant.namespace)
    assert isinstance(modified, Changed)
    assert modified.type == "MODIFIED"
    assert int(synced.resource_version) < int(added.resource_version)


def test_a_watch_that_the_server_ends_goes_on(
    on_cluster: OnCluster, new_tenant: NewTenant, proxy: Proxy, proxied: Connection
) -> None:
    tenant = new_tenant()

    async def work(client: Client) -> list[Event]:
        following = follow(client, "Namespace", **labelled(tenant), watch_s=1)
        async with aclosing(following) as events:
            seen = [await take(events)]

            async def later() -> None:
                await asyncio.sleep(2.5)
                await make(client, tenant)

            made = asyncio.create_task(later())
            while not isinstance(seen[-1], Changed):
                seen.append(await take(events))
            await made
            return seen

    seen = on_cluster(work, through=proxied)
    assert [type(event) for event in seen if not isinstance(event, Alive)] == [Synced, Changed]
    assert 3 < len(proxy.requests) < 10


@pytest.mark.parametrize(
    "answer",
    [lambda: status(410, "Expired", "too old"), error_event(410, "Expired"), error_event(410, "")],
)
def test_a_forgotten_version_means_listing_anew(
    on_cluster: OnCluster,
    new_tenant: NewTenant,
    proxy: Proxy,
    proxied: Connection,
    answer: Callable[[], web.Response],
) -> None:
    tenant = new_tenant()
    proxy.faults.append(Fault(after_the_list(), before=answer))

    async def work(client: Client) -> list[Event]:
        async with aclosing(follow(client, "Namespace", **labelled(tenant))) as events:
            return [await take(events), await take(events)]

    assert [type(event) for event in on_cluster(work, through=proxied)] == [Synced, Synced]


def test_another_error_event_is_told_then_listed_anew(
    on_cluster: OnCluster, new_tenant: NewTenant, proxy: Proxy, proxied: Connection
) -> None:
    proxy.faults.append(Fault(after_the_list(), before=error_event(500, "InternalError")))
    tenant = new_tenant()

    async def work(client: Client) -> list[Event]:
        async with aclosing(follow(client, "Namespace", **labelled(tenant))) as events:
            return [await take(events) for _ in range(3)]

    synced, lost, again = on_cluster(work, through=proxied)
    assert isinstance(synced, Synced)
    assert isinstance(lost, Lost)
    assert isinstance(lost.error, Busy)
    assert isinstance(again, Synced)


def test_a_cut_connection_is_told_and_the_watch_resumed(
    on_cluster: OnCluster, new_tenant: NewTenant, proxy: Proxy, proxied: Connection
) -> None:
    tenant = new_tenant()
    # The HTTP library asks once more by itself where a kept-alive connection turns out dead.
    proxy.faults.append(Fault(after_the_list(), before=lambda: None, times=2))

    async def work(client: Client) -> list[Event]:
        async with aclosing(follow(client, "Namespace", **labelled(tenant))) as events:
            seen = [await take(events) for _ in range(3)]
            await make(client, tenant)
            return [*seen, await take(events)]

    synced, lost, alive, changed = on_cluster(work, through=proxied)
    assert isinstance(synced, Synced)
    assert isinstance(lost, Lost)
    assert isinstance(lost.error, Unreachable)
    assert isinstance(alive, Alive)
    assert isinstance(changed, Changed)


def test_silence_is_a_dead_connection(on_cluster: OnCluster, new_tenant: NewTenant) -> None:
    """Nothing tells a half-open connection from a quiet cluster but a fresh list."""
    tenant = new_tenant()

    async def work(client: Client) -> list[Event]:
        following = follow(client, "Namespace", **labelled(tenant), idle_s=0.3)
        async with aclosing(following) as events:
            return [await take(events), await take(events)]

    assert [type(event) for event in on_cluster(work)] == [Synced, Synced]


def test_an_unreachable_cluster_is_asked_ever_less_often(
    on_cluster: OnCluster, new_tenant: NewTenant, proxy: Proxy, proxied: Connection
) -> None:
    tenant = new_tenant()
    proxy.faults.append(
        Fault(
            lambda method, path: True,
            before=lambda: status(503, "ServiceUnavailable", "not now"),
            times=5,
        )
    )

    async def work(client: Client) -> tuple[list[Event], list[float]]:
        loop = asyncio.get_running_loop()
        seen, at = [], []
        async with aclosing(follow(client, "Namespace", **labelled(tenant))) as events:
            for _ in range(6):
                seen.append(await take(events))
                at.append(loop.time())
        return seen, at

    seen, at = on_cluster(work, through=proxied)
    assert [type(event) for event in seen] == [Lost] * 5 + [Synced]
    pauses = [after - before for before, after in pairwise(at)]
    assert pauses[-1] > 0.1
    assert pauses[0] < pauses[-1]


def test_a_watch_that_ends_at_once_is_no_tight_loop(
    on_cluster: OnCluster, new_tenant: NewTenant, proxy: Proxy, proxied: Connection
) -> None:
    tenant = new_tenant()
    proxy.faults.append(
        Fault(
            lambda method, path: len(proxy.requests) > 1,
            before=lambda: web.Response(text=""),
            times=10_000,
        )
    )

    async def work(client: Client) -> None:
        async with aclosing(follow(client, "Namespace", **labelled(tenant))) as events:
            await take(events)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(events), 1)

    on_cluster(work, through=proxied)
    assert len(proxy.requests) < 15
