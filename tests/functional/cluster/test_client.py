"""The client against the real server, and against what may stand between."""

import asyncio
import os
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml
from aiohttp import web

from cluster import bridge, transport
from cluster import client as module
from cluster.client import Client, Connection, Page
from cluster.errors import (
    AlreadyExists,
    Busy,
    Conflict,
    Gone,
    Invalid,
    NotFound,
    Unauthorized,
    Unreachable,
)
from cluster.tenant import Tenant, limit_range_manifest, namespace_manifest, quota_manifest
from tests.functional.cluster.certificates import lax_certificates
from tests.functional.cluster.conftest import plain_namespace
from tests.functional.proxy import Fault, Proxy, status

pytestmark = pytest.mark.cluster

OnCluster = Callable[..., Any]
NewTenant = Callable[..., Tenant]


def anything(method: str, path: str) -> bool:
    return True


def test_refusals_are_told_apart(on_cluster: OnCluster, new_tenant: NewTenant) -> None:
    tenant = new_tenant()

    async def work(client: Client) -> None:
        with pytest.raises(NotFound):
            await client.get("Namespace", tenant.namespace)
        with pytest.raises(NotFound):
            await client.apply(limit_range_manifest(tenant))
        made = await client.create(namespace_manifest(tenant))
        with pytest.raises(AlreadyExists) as exists:
            await client.create(namespace_manifest(tenant))
        assert tenant.namespace in str(exists.value)
        bad = quota_manifest(tenant)
        bad["spec"]["hard"] = {"cc": "1"}
        with pytest.raises(Invalid) as invalid:
            await client.apply(bad)
        assert "must be a standard resource" in str(invalid.value)
        bad["spec"]["hard"] = {"requests.cpu": "20gi"}
        with pytest.raises((Invalid, Busy)):
            await client.apply(bad)
        with pytest.raises(Conflict):
            await client.delete("Namespace", tenant.namespace, uid="another")
        with pytest.raises(Conflict):
            await client.patch(
                "Namespace", tenant.namespace, {"metadata": {"resourceVersion": "1"}}
            )
        await client.delete("Namespace", tenant.namespace, uid=made["metadata"]["uid"])

    on_cluster(work)


def test_listing_goes_page_by_page(
    on_cluster: OnCluster,
    new_tenant: NewTenant,
    proxy: Proxy,
    proxied: Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PAGE_SIZE", 2)
    tenants = [new_tenant() for _ in range(5)]
    label = {"berth.dev/test-run": tenants[0].namespace}
    lists = [0]

    def third_page(method: str, path: str) -> bool:
        if method == "GET" and path == "/api/v1/namespaces":
            lists[0] += 1
            return lists[0] == 3
        return False

    proxy.faults.append(Fault(third_page, before=lambda: status(410, "Expired", "too old")))

    async def work(client: Client) -> Page:
        for tenant in tenants:
            await client.create(plain_namespace(tenant, **label))
        selector = f"berth.dev/test-run={tenants[0].namespace}"
        return await client.list("Namespace", label_selector=selector)

    page = on_cluster(work, through=proxied)
    assert sorted(item["metadata"]["name"] for item in page.items) == sorted(
        tenant.namespace for tenant in tenants
    )
    assert int(page.resource_version) > 0
    assert proxy.requests.count(("GET", "/api/v1/namespaces")) == 3 + 3


def test_a_list_that_keeps_expiring_is_given_up(
    on_cluster: OnCluster, proxy: Proxy, proxied: Connection
) -> None:
    proxy.faults.append(
        Fault(anything, before=lambda: status(410, "Expired", "too old"), times=100)
    )

    async def work(client: Client) -> None:
        with pytest.raises(Gone):
            await client.list("Node")

    on_cluster(work, through=proxied)
    assert len(proxy.requests) == module.LIST_STARTS


def test_credentials_are_read_anew_once(
    on_cluster: OnCluster, proxy: Proxy, proxied: Connection
) -> None:
    """Also for a POST: with a 401 nothing was done."""
    rotated = Fault(anything, before=lambda: status(401, "Unauthorized", "Unauthorized"))
    proxy.faults.append(rotated)

    async def work(client: Client) -> None:
        await client.version()
        rotated.times = 1_000
        with pytest.raises(Unauthorized) as refused:
            await client.version()
        assert "Berth's own credentials" in str(refused.value)

    on_cluster(work, through=proxied)
    assert len(proxy.requests) == 4


def test_a_rotated_token_is_taken_from_the_kubeconfig(
    control_plane: Any, on_cluster: OnCluster, tmp_path: Path
) -> None:
    config = yaml.safe_load(Path(control_plane.kubeconfig).read_text())
    admin = dict(config["users"][0]["user"])
    config["users"][0]["user"] = {"token": "expired"}
    rotating = tmp_path / "rotating.kubeconfig"
    rotating.write_text(yaml.safe_dump(config))

    async def work(client: Client) -> None:
        with pytest.raises(Unauthorized):
            await client.list("Node")
        config["users"][0]["user"] = admin
        rotating.write_text(yaml.safe_dump(config))
        await client.list("Node")

    on_cluster(work, through=Connection(kubeconfig=str(rotating)))


def test_nothing_is_repeated_by_itself(
    on_cluster: OnCluster, new_tenant: NewTenant, proxy: Proxy, proxied: Connection
) -> None:
    tenant = new_tenant()
    proxy.faults.append(Fault(lambda method, _: method == "POST", before=lambda: None))
    proxy.faults.append(
        Fault(
            lambda method, _: method == "GET",
            before=lambda: status(429, "TooManyRequests", "slow down", **{"Retry-After": "7"}),
        )
    )

    async def work(client: Client) -> None:
        with pytest.raises(Unreachable):
            await client.create(namespace_manifest(tenant))
        with pytest.raises(Busy) as busy:
            await client.get("Namespace", tenant.namespace)
        assert busy.value.retry_after == 7

    on_cluster(work, through=proxied)
    assert len(proxy.requests) == 2


def test_silence_is_bounded(
    on_cluster: OnCluster, proxy: Proxy, proxied: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "REQUEST_TIMEOUT_S", 0.2)
    proxy.faults.append(Fault(anything, before=lambda: time.sleep(1)))

    async def work(client: Client) -> None:
        with pytest.raises(Unreachable):
            await client.version()

    on_cluster(work, through=proxied)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "not: a kubeconfig",
        "{",
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "a",
                "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
                "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}],
                "users": [{"name": "a", "user": {}}],
            }
        ),
    ],
)
def test_a_cluster_out_of_reach_is_no_failure(
    on_cluster: OnCluster, tmp_path: Path, text: str | None
) -> None:
    file = tmp_path / "kubeconfig"
    if text is not None:
        file.write_text(text)

    async def work(client: Client) -> None:
        with pytest.raises(Unreachable) as caught:
            await client.version()
        assert caught.value.retryable
        assert str(caught.value)

    on_cluster(work, through=Connection(kubeconfig=str(file)))


def test_without_a_kubeconfig_the_pod_s_account_is_meant(on_cluster: OnCluster) -> None:
    async def work(client: Client) -> None:
        with pytest.raises(Unreachable, match="pod's service account"):
            await client.version()

    on_cluster(work, through=Connection())


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_one_client_per_connection_and_process(connection: Connection) -> None:
    try:
        found = bridge.client_for(connection)
        assert bridge.client_for(connection) is found
        assert bridge.run(found.version(), timeout=20)["major"]
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            try:
                other = bridge.client_for(connection)
                assert other is not found
                assert bridge.run(other.version(), timeout=20)["major"]
                os.write(writer, b"1")
            finally:
                os._exit(0)
        os.close(writer)
        os.waitpid(child, 0)
        assert os.read(reader, 1) == b"1"
        assert bridge.run(found.version(), timeout=20)["major"]
    finally:
        bridge.close()
    assert bridge.client_for(connection) is not found
    bridge.close()


def test_what_takes_too_long_is_cancelled() -> None:
    cancelled = []

    async def long() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def settled() -> None:
        await asyncio.sleep(0.05)

    try:
        with pytest.raises(Unreachable):
            bridge.run(long(), timeout=0.1)
        bridge.run(settled(), timeout=5)
    finally:
        bridge.close()
    assert cancelled


@pytest.fixture
def lax_authority(tmp_path: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's certificate from a CA without the key usage extension, as many clusters have."""
    ca, cert, key = lax_certificates(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(cert, key)
    return context, ca


def test_a_lax_authority_needs_the_setting(
    lax_authority: tuple[ssl.SSLContext, Path], tmp_path: Path
) -> None:
    context, ca = lax_authority

    async def version(request: web.Request) -> web.Response:
        return web.json_response({"major": "1"})

    async def work() -> None:
        app = web.Application()
        app.router.add_get("/version", version)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        port = runner.addresses[0][1]
        file = tmp_path / "kubeconfig"
        target = {"server": f"https://127.0.0.1:{port}", "certificate-authority": str(ca)}
        config = {
            "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": target}],
            "users": [{"name": "a", "user": {}}],
        }
        file.write_text(yaml.safe_dump(config))
        async with Client(Connection(str(file))) as strict:
            with pytest.raises(Unreachable, match="strict_certificates"):
                await strict.version()
        async with Client(Connection(str(file), strict_certificates=False)) as lax:
            assert await lax.version() == {"major": "1"}
        # The usual checks remain.
        target["certificate-authority"] = str(_another_authority(tmp_path))
        file.write_text(yaml.safe_dump(config))
        async with Client(Connection(str(file), strict_certificates=False)) as stranger:
            with pytest.raises(Unreachable, match="not accepted") as caught:
                await stranger.version()
            assert "strict_certificates" not in str(caught.value)
        await runner.cleanup()

    asyncio.run(work())


def _another_authority(folder: Path) -> Path:
    path = folder / "another.pem"
    trustme.CA().cert_pem.write_to_path(str(path))
    return path
