"""Synchronous code's way to a cluster: one event loop in a thread of its own, per process.

Clients live on that loop, so that connections are kept alive from one task to the next. A forked
child starts with a loop and clients of its own.
"""

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine
from typing import Any

from cluster.client import Client
from cluster.errors import Unreachable
from cluster.transport import Connection

CLOSING_TIMEOUT_S = 2


class _Bridge:
    def __init__(self) -> None:
        self.clients: dict[Connection, Client] = {}
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="cluster", daemon=True)
        self.thread.start()

    async def close(self) -> None:
        for client in self.clients.values():
            await client.close()


_lock = threading.Lock()
_current: _Bridge | None = None


def run[T](coroutine: Coroutine[Any, Any, T], *, timeout: float) -> T:
    """The coroutine's outcome, awaited on the loop. Unreachable after `timeout` seconds.

    Not to be called from the loop itself. Whatever interrupts the wait also cancels the coroutine.
    """
    future = asyncio.run_coroutine_threadsafe(coroutine, _bridge().loop)
    try:
        return future.result(timeout)
    except TimeoutError as error:
        future.cancel()
        raise Unreachable(f"The cluster did not finish within {timeout:g} seconds.") from error
    except BaseException:
        future.cancel()
        raise


def client_for(connection: Connection) -> Client:
    """The one client of this process for a connection, to be used inside `run`."""
    bridge = _bridge()
    with _lock:
        if connection not in bridge.clients:
            bridge.clients[connection] = Client(connection)
        return bridge.clients[connection]


def close() -> None:
    """Close all clients and end the thread; the next use starts anew."""
    global _current
    with _lock:
        bridge, _current = _current, None
    if bridge is None:
        return
    try:
        asyncio.run_coroutine_threadsafe(bridge.close(), bridge.loop).result(CLOSING_TIMEOUT_S)
    finally:
        bridge.loop.call_soon_threadsafe(bridge.loop.stop)
        bridge.thread.join(CLOSING_TIMEOUT_S)


def _bridge() -> _Bridge:
    global _current
    with _lock:
        if _current is None:
            _current = _Bridge()
        return _current


def _forget() -> None:
    """In a forked child the parent's thread does not run; its connections are not ours."""
    global _current, _lock
    _lock = threading.Lock()
    _current = None


os.register_at_fork(after_in_child=_forget)
atexit.register(close)
