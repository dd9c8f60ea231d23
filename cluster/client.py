"""What Berth asks of one API server: a few verbs on a few kinds, as plain JSON objects."""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from cluster.errors import Conflict, Gone, Invalid, Unreachable
from cluster.kinds import path_of
from cluster.tenant import Object
from cluster.transport import Connection, Transport

__all__ = ["FIELD_MANAGER", "Client", "Connection", "Page"]

FIELD_MANAGER = "berth"
PAGE_SIZE = 500
# A list that keeps expiring half-way is given up after this many starts.
LIST_STARTS = 3


@dataclass(frozen=True)
class Page:
    """All objects of a kind, as of one resource version, from which a watch can go on."""

    items: list[Object]
    resource_version: str


class Client:
    """One cluster's API. Belongs to one event loop; close it, or use it as a context manager.

    Every method raises ClusterError. Nothing is retried here.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._transport = Transport(connection)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection."""
        await self._transport.close()

    async def version(self) -> dict[str, str]:
        """The server's version; the cheapest sign of life."""
        found: dict[str, str] = await self._transport.request("GET", "/version")
        return found

    async def get(self, kind: str, name: str, *, namespace: str = "") -> Object:
        """One object as it stands. NotFound where there is none."""
        path = path_of(kind, namespace=namespace, name=name)
        found: Object = await self._transport.request("GET", path)
        return found

    async def create(self, manifest: Object) -> Object:
        """Make a new object. AlreadyExists where one of this name stands."""
        metadata = manifest["metadata"]
        path = path_of(manifest["kind"], namespace=metadata.get("namespace", ""))
        made: Object = await self._transport.request(
            "POST", path, query={"fieldManager": FIELD_MANAGER}, body=manifest
        )
        return made

    async def apply(self, manifest: Object) -> Object:
        """Server-side apply: what the manifest names becomes so and is Berth's from then on.

        What Berth applied before and no longer names goes. With a uid in the metadata it is
        Conflict where another object, or none, stands there.
        """
        metadata = manifest["metadata"]
        path = path_of(
            manifest["kind"], namespace=metadata.get("namespace", ""), name=metadata["name"]
        )
        try:
            applied: Object = await self._transport.request(
                "PATCH",
                path,
                query={"fieldManager": FIELD_MANAGER, "force": "true"},
                body=manifest,
                content_type="application/apply-patch+yaml",
            )
        except Invalid as error:
            # How the server puts it where another object of that name stands.
            if "metadata.uid" in error.fields():
                raise Conflict(str(error), details=error.details) from error
            raise
        return applied

    async def patch(self, kind: str, name: str, body: Object, *, namespace: str = "") -> Object:
        """JSON merge patch, where None removes. A resourceVersion in `body` guards it: Conflict."""
        patched: Object = await self._transport.request(
            "PATCH",
            path_of(kind, namespace=namespace, name=name),
            query={"fieldManager": FIELD_MANAGER},
            body=body,
            content_type="application/merge-patch+json",
        )
        return patched

    async def delete(
        self,
        kind: str,
        name: str,
        *,
        namespace: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> None:
        """Delete one object, only if it still is the very one meant (else Conflict)."""
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        await self._transport.request(
            "DELETE",
            path_of(kind, namespace=namespace, name=name),
            body={
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "preconditions": {key: value for key, value in preconditions.items() if value},
            },
        )

    async def list(self, kind: str, *, namespace: str = "", label_selector: str = "") -> Page:
        """All objects of a kind, read page by page."""
        for start in range(1, LIST_STARTS + 1):
            try:
                return await self._list(kind, namespace, label_selector)
            except Gone:
                # Between two pages the version expired; what was read so far is of no use.
                if start == LIST_STARTS:
                    raise
        raise AssertionError("unreachable")

    async def _list(self, kind: str, namespace: str, label_selector: str) -> Page:
        path = path_of(kind, namespace=namespace)
        query = {"limit": str(PAGE_SIZE)}
        if label_selector:
            query["labelSelector"] = label_selector
        items: list[Object] = []
        while True:
            page = await self._transport.request("GET", path, query=query)
            items += page.get("items") or []
            token = page["metadata"].get("continue")
            if not token:
                return Page(items, page["metadata"]["resourceVersion"])
            query["continue"] = token

    async def watch(
        self,
        kind: str,
        *,
        resource_version: str,
        namespace: str = "",
        label_selector: str = "",
        timeout_s: int,
        idle_s: float,
    ) -> AsyncGenerator[dict[str, Any]]:
        """Events since a resource version, each `{type, object}`, until the server ends it.

        First comes `{"type": "OPENED"}`, when the server has accepted the watch. `timeout_s` is how
        long the server is to keep it open; Silent after `idle_s` seconds without a word.
        """
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(timeout_s),
        }
        if label_selector:
            query["labelSelector"] = label_selector
        path = path_of(kind, namespace=namespace)
        async with self._transport.stream("GET", path, query=query, idle_s=idle_s) as response:
            yield {"type": "OPENED"}
            rest = b""
            async for piece in response.content.iter_any():
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    if line.strip():
                        yield _event(line)


def _event(line: bytes) -> dict[str, Any]:
    try:
        event: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise Unreachable("The watch brought something that is not JSON.") from error
    return event
