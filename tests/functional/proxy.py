"""A proxy before the real API server that can fail, cut, delay or kill at a chosen request.

It forwards to the real server with the admin's certificate; what it answers by itself are only the
faults that a test asked for.
"""

import asyncio
import base64
import ssl
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from aiohttp import web

HOP = {
    "connection",
    "content-length",
    "transfer-encoding",
    "host",
    "keep-alive",
    "content-encoding",
}


@dataclass
class Fault:
    """What to do at a request that `matches`, at most `times` times.

    `before`: called instead of forwarding; returns the answer, or None to cut the connection.
    `after`: called when the server has acted and before its answer goes back; True cuts it.
    """

    matches: Callable[[str, str], bool]
    before: Callable[[], web.Response | None] | None = None
    after: Callable[[], bool] | None = None
    times: int = 1
    seen: int = field(default=0)


class Proxy:
    """Runs in a thread of its own; `kubeconfig` leads through it."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        config = yaml.safe_load(Path(kubeconfig).read_text())
        self._server = config["clusters"][0]["cluster"]["server"]
        self._tls = _tls(config)
        self.faults: list[Fault] = []
        self.requests: list[tuple[str, str]] = []
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._started.wait(10)
        self.kubeconfig = folder / "proxied.kubeconfig"
        config["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{self.port}"}
        config["users"][0]["user"] = {}
        self.kubeconfig.write_text(yaml.safe_dump(config))

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._start())
        self._started.set()
        self._loop.run_forever()

    async def _start(self) -> None:
        self._session = aiohttp.ClientSession(auto_decompress=False)
        app = web.Application(client_max_size=16 * 2**20)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def _stop(self) -> None:
        await self._session.close()
        await self._runner.cleanup()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _fault(self, method: str, path: str) -> Fault | None:
        for fault in self.faults:
            if fault.seen < fault.times and fault.matches(method, path):
                fault.seen += 1
                return fault
        return None

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request.method, request.path))
        fault = self._fault(request.method, request.path)
        if fault is not None and fault.before is not None:
            answer = await asyncio.to_thread(fault.before)
            return answer if answer is not None else _cut(request)
        headers = {k: v for k, v in request.headers.items() if k.lower() not in HOP}
        async with self._session.request(
            request.method,
            self._server + request.path_qs,
            data=await request.read(),
            headers=headers,
            ssl=self._tls,
            timeout=aiohttp.ClientTimeout(total=None),
        ) as answer:
            held = b""
            if fault is not None and fault.after is not None:
                held = await answer.read()
                if await asyncio.to_thread(fault.after):
                    return _cut(request)
            response = web.StreamResponse(
                status=answer.status,
                headers={k: v for k, v in answer.headers.items() if k.lower() not in HOP},
            )
            await response.prepare(request)
            await response.write(held)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response


def status(code: int, reason: str, message: str, **headers: str) -> web.Response:
    """An answer in the API server's own form."""
    body: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "message": message,
        "code": code,
    }
    return web.json_response(body, status=code, headers=headers)


def _cut(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _tls(config: dict[str, Any]) -> ssl.SSLContext:
    """Trust and credentials of a kubeconfig, whether by file or inline."""
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    with tempfile.TemporaryDirectory() as folder:

        def path(owner: dict[str, str], key: str) -> str:
            if key in owner:
                return owner[key]
            file = Path(folder) / key
            file.write_bytes(base64.b64decode(owner[f"{key}-data"]))
            return str(file)

        context = ssl.create_default_context(cafile=path(cluster, "certificate-authority"))
        context.load_cert_chain(path(user, "client-certificate"), path(user, "client-key"))
        return context
