"""Server-sent events: tells open pages what changed, and what the use is now.

One subscription to Redis per process, however many pages are open. A page names its topics; each
event carries its topic as the event's name and, for a namespace, its use as JSON. An event that is
missed costs nothing but time, so a listener that is slow gets the latest instead of a queue.
"""

import asyncio
import contextlib
import json
import logging
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from functools import partial
from typing import Any
from uuid import UUID

import redis.asyncio as redis
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connections
from django.http import HttpRequest, StreamingHttpResponse
from django.views.decorators.http import require_safe

from quotas.selectors import requests_visible
from quotas.usage import usage_of
from tenants.models import Namespace, User
from tenants.publish import CHANNEL
from tenants.selectors import clusters_visible, namespaces_visible, teams_visible
from tenants.states import summary

log = logging.getLogger(__name__)

BEAT_S = 15
# Events closer together than this are one.
COALESCE_S = 0.05
RECONNECT_S = 1


class Listener:
    """One open page: the topics it follows and what changed since it last looked."""

    def __init__(self, topics: Iterable[str]) -> None:
        self.topics = frozenset(topics)
        self._changed: dict[str, str] = {}
        self._wake = asyncio.Event()

    def tell(self, topic: str, data: str) -> None:
        """Note that a topic changed; never waits."""
        self._changed[topic] = data
        self._wake.set()

    async def changes(self, within: float) -> dict[str, str]:
        """What changed, topic to data; empty after `within` seconds of quiet."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), within)
        changed, self._changed = self._changed, {}
        self._wake.clear()
        return changed


class Hub:
    """Hands each published change to the listeners in this process that follow it."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[Listener]] = defaultdict(set)
        self._task: asyncio.Task[None] | None = None
        self.connected = asyncio.Event()

    @contextlib.contextmanager
    def listen(self, topics: Iterable[str]) -> Any:
        """A listener for these topics, for as long as the block lasts."""
        listener = Listener(topics)
        for topic in listener.topics:
            self._listeners[topic].add(listener)
        if self._task is None or self._task.done() or self._task.cancelling():
            self._task = asyncio.create_task(self._follow())
        try:
            yield listener
        finally:
            for topic in listener.topics:
                self._listeners[topic].discard(listener)
                if not self._listeners[topic]:
                    del self._listeners[topic]
            if not self._listeners:
                self._task.cancel()

    async def _follow(self) -> None:
        while True:
            try:
                async with (
                    redis.from_url(settings.REDIS_URL, socket_connect_timeout=2) as client,
                    client.pubsub() as pubsub,
                ):
                    await pubsub.subscribe(CHANNEL)
                    self.connected.set()
                    # Whatever was published while nobody listened is lost: let pages look again.
                    await self._deliver(list(self._listeners))
                    await self._read(pubsub)
            except (redis.RedisError, OSError) as error:
                log.warning("stream lost Redis: %s", error)
            # Such as a database that is away. Whoever listens now must hear again all the same.
            except Exception:
                log.exception("stream could not tell what changed")
            self.connected.clear()
            await asyncio.sleep(RECONNECT_S)

    async def _read(self, pubsub: Any) -> None:
        while True:
            # A timeout of our own notices a connection that died without a word.
            message = await pubsub.get_message(ignore_subscribe_messages=True, timeout=BEAT_S)
            topics: set[str] = set()
            while message is not None:
                topics.update(json.loads(message["data"]))
                if topics:
                    await asyncio.sleep(COALESCE_S)
                message = await pubsub.get_message(ignore_subscribe_messages=True, timeout=0)
            await self._deliver(topics & self._listeners.keys())

    async def _deliver(self, topics: Iterable[str]) -> None:
        topics = list(topics)
        data = await _data(topics) if topics else {}
        for topic in topics:
            for listener in self._listeners.get(topic, ()):
                listener.tell(topic, data.get(topic, "{}"))


_hubs: dict[asyncio.AbstractEventLoop, Hub] = {}


def _hub() -> Hub:
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs.clear()  # a loop that has gone takes its hub with it
        _hubs[loop] = Hub()
    return _hubs[loop]


@sync_to_async(thread_sensitive=False)
def _data(topics: list[str]) -> dict[str, str]:
    """What each topic's event says; asked once for all pages that follow it."""
    ids = [
        UUID(topic.removeprefix("namespace:")) for topic in topics if topic.startswith("namespace:")
    ]
    try:
        namespaces = list(Namespace.objects.select_related("cluster").filter(pk__in=ids))
        usage = usage_of(namespaces) if namespaces else {}
    finally:
        connections.close_all()
    return {
        f"namespace:{namespace.pk}": json.dumps(
            {
                "conditions": summary(namespace.conditions),
                "quotas": [
                    {
                        "name": quota.name,
                        "as_of": quota.as_of.isoformat() if quota.as_of else None,
                        "resources": {
                            row.resource: {
                                "used": None if row.used is None else str(row.used),
                                "hard": str(row.hard),
                            }
                            for row in quota.rows
                        },
                    }
                    for quota in usage[namespace.pk]
                ],
            }
        )
        for namespace in namespaces
    }


def topics_allowed(user: User, topics: Iterable[str]) -> set[str]:
    """Those of the asked topics that this person may follow; the others say nothing."""
    wanted: dict[str, set[str]] = defaultdict(set)
    for topic in topics:
        kind, _, key = topic.partition(":")
        wanted[kind].add(key)
    allowed = {
        f"namespace:{pk}"
        for pk in namespaces_visible(user)
        .filter(pk__in=filter(_is_uuid, wanted["namespace"]))
        .values_list("pk", flat=True)
    }
    allowed |= {
        f"team:{pk}"
        for pk in teams_visible(user)
        .filter(pk__in=filter(_is_uuid, wanted["team"]))
        .values_list("pk", flat=True)
    }
    allowed |= {
        f"request:{pk}"
        for pk in requests_visible(user)
        .filter(pk__in=filter(_is_number, wanted["request"]))
        .values_list("pk", flat=True)
    }
    allowed |= {
        f"cluster:{slug}"
        for slug in clusters_visible(user)
        .filter(slug__in=wanted["cluster"])
        .values_list("slug", flat=True)
    }
    # That some request somewhere changed tells nothing about it.
    allowed |= {"requests"} & {topic for topic in topics if topic == "requests"}
    return allowed


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _is_number(text: str) -> bool:
    # Python refuses to read numbers of thousands of digits.
    return text.isascii() and text.isdigit() and len(text) < 20


@require_safe
def stream(request: HttpRequest) -> StreamingHttpResponse:
    """Follow each `?topic=`: namespace:<id>, team:<id>, request:<id>, cluster:<slug> or requests.

    The stream ends when the sign-in is no longer fresh, and within BEAT_S seconds of signing out
    or of losing the right to one of its topics; the browser connects again and is told what then
    holds.
    """
    topics = topics_allowed(request.user, request.GET.getlist("topic"))  # type: ignore[arg-type]
    expires = request.session.get("oidc_id_token_expiration", 0)
    response = StreamingHttpResponse(
        _events(topics, until=expires, allowed=partial(_still_allowed, request, topics)),
        content_type="text/event-stream",
    )
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


@sync_to_async(thread_sensitive=False)
def _still_allowed(request: HttpRequest, topics: set[str]) -> bool:
    """Whether this session still stands and its person may follow all of this, as of now."""
    try:
        user = User.objects.filter(pk=str(request.user.pk), is_active=True).first()
        stands = request.session.exists(request.session.session_key or "")
        return stands and user is not None and topics_allowed(user, topics) == topics
    finally:
        connections.close_all()


async def _events(
    topics: set[str], *, until: float, allowed: Callable[[], Awaitable[bool]]
) -> AsyncIterator[str]:
    # The request is over only when the page closes; it must not keep its connection until then.
    await sync_to_async(connections.close_all)()
    with _hub().listen(topics) as listener:
        yield "retry: 2000\n\n"
        # What changed between the page's making and now.
        data = await _data(sorted(topics))
        for topic in sorted(topics):
            yield f"event: {topic}\ndata: {data.get(topic, '{}')}\n\n"
        checked = time.monotonic()
        while (left := until - time.time()) > 0:
            changes = await listener.changes(within=min(BEAT_S, left))
            if time.monotonic() - checked >= BEAT_S:
                if not await allowed():
                    return
                checked = time.monotonic()
            for topic, data in changes.items():
                yield f"event: {topic}\ndata: {data}\n\n"
            if not changes:
                yield ": alive\n\n"
