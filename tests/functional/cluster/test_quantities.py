"""The parser and the real server, on the same text."""

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from cluster.client import Client
from cluster.errors import Busy, Invalid
from cluster.quantities import QuantityError, canonical, parse
from cluster.tenant import Tenant
from tests.cluster.test_quantities import KEPT, REFUSED, TOO_LARGE
from tests.functional.cluster.conftest import plain_namespace

pytestmark = pytest.mark.cluster

# The server takes these for 0, or trims or cuts them; nobody means that.
STRICTER = {" 5Gi", "5Gi ", "5Gi\n", "5 ", "Gi", "k", "E", "-", "+", ".", "-.", ".Gi", "1" * 200}
# Keeps the server busy for minutes.
NEVER_SENT = {"1e9999999999"}


def quota(tenant: Tenant, texts: list[str]) -> dict[str, Any]:
    # In this domain keys are free and fractions allowed.
    hard = {f"q{number}.kubernetes.io/x": text for number, text in enumerate(texts)}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "quantities", "namespace": tenant.namespace},
        "spec": {"hard": hard},
    }


def generated(count: int) -> list[str]:
    """Quantities of every shape, the same ones every time."""
    chance = random.Random(1)
    suffixes = [
        "",
        *"numkMGTPE",
        "Ki",
        "Mi",
        "Gi",
        "Ti",
        "Pi",
        "Ei",
        "e3",
        "E-3",
        "e-9",
        "E5",
        "e1",
    ]
    texts = []
    while len(texts) < count:
        whole = str(chance.randrange(10 ** chance.randrange(1, 8)))
        part = "." + "".join(chance.choices("0123456789", k=chance.randrange(10)))
        zeros = "0" * chance.choice([0, 0, 0, 1, 3])
        sign = chance.choice(["", "", "", "+"])
        text = sign + whole + zeros + chance.choice(["", part]) + chance.choice(suffixes)
        try:
            parse(text)
        except QuantityError:
            continue
        texts.append(text)
    return texts


def test_what_the_server_keeps(
    on_cluster: Callable[..., Any], new_tenant: Callable[..., Tenant]
) -> None:
    tenant = new_tenant()
    texts = [text for text, _, _ in KEPT if not text.startswith("-")] + generated(500)

    async def work(client: Client) -> list[str]:
        await client.create(plain_namespace(tenant))
        await client.create(quota(tenant, texts))
        live = await client.get("ResourceQuota", "quantities", namespace=tenant.namespace)
        return [live["spec"]["hard"][f"q{number}.kubernetes.io/x"] for number in range(len(texts))]

    kept = on_cluster(work)
    assert [(t, parse(t)) for t in texts] == [
        (t, parse(k)) for t, k in zip(texts, kept, strict=True)
    ]
    assert [(t, canonical(t)) for t in texts] == list(zip(texts, kept, strict=True))


def test_what_the_server_refuses(
    on_cluster: Callable[..., Any], new_tenant: Callable[..., Tenant]
) -> None:
    tenant = new_tenant()

    async def work(client: Client) -> list[str]:
        await client.create(plain_namespace(tenant))
        accepted = []
        for text in set(REFUSED) - NEVER_SENT:
            try:
                await client.create(quota(tenant, [text]))
            except (Invalid, Busy):
                continue
            accepted.append(text)
            await client.delete("ResourceQuota", "quantities", namespace=tenant.namespace)
        return accepted

    assert set(on_cluster(work)) <= STRICTER


def test_what_the_server_corrupts(
    on_cluster: Callable[..., Any], new_tenant: Callable[..., Tenant]
) -> None:
    tenant = new_tenant()
    texts = [text for text in TOO_LARGE if not text.startswith("-")]

    async def work(client: Client) -> list[str]:
        await client.create(plain_namespace(tenant))
        made = await client.create(quota(tenant, ["2000E", "16Ei"]))
        return list(made["spec"]["hard"].values())

    assert on_cluster(work) == ["2", str(2**63 - 1)]
    for text in texts:
        with pytest.raises(QuantityError):
            parse(text)
    assert parse("1000P") == Decimal(10**18)
