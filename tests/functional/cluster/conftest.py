"""A client and namespaces on the real control plane."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cluster.client import Client, Connection
from cluster.errors import ClusterError
from cluster.tenant import Object, Tenant
from tests.cluster.builders import make_tenant
from tests.functional.proxy import Proxy


@pytest.fixture
def connection(control_plane: Any) -> Connection:
    return Connection(kubeconfig=str(control_plane.kubeconfig))


@pytest.fixture
def on_cluster(connection: Connection) -> Callable[..., Any]:
    """Runs a test's coroutine function with a client of its own."""

    def run(work: Callable[[Client], Any], through: Connection = connection) -> Any:
        async def session() -> Any:
            async with Client(through) as client:
                return await work(client)

        return asyncio.run(session())

    return run


@pytest.fixture
def new_tenant(connection: Connection) -> Iterator[Callable[..., Tenant]]:
    """Builds tenants whose namespaces are deleted afterwards."""
    made: list[Tenant] = []

    def build(**changes: Any) -> Tenant:
        made.append(make_tenant(**changes))
        return made[-1]

    yield build

    async def clean() -> None:
        async with Client(connection) as client:
            for name in {tenant.namespace for tenant in made}:
                try:
                    await client.delete("Namespace", name)
                except ClusterError:
                    continue

    asyncio.run(clean())


@pytest.fixture
def proxied(proxy: Proxy) -> Connection:
    return Connection(kubeconfig=str(proxy.kubeconfig))


def plain_namespace(tenant: Tenant, **labels: str) -> Object:
    """A namespace as somebody else would make it."""
    metadata: Object = {"name": tenant.namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
