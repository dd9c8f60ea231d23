"""What one test run shares: a database, a broker, an identity provider, a control plane.

The process that starts the tests runs `python -m dev.testbed FOLDER` and holds its standard input;
when that closes, however the tests end, everything here is stopped. Database and broker start at
once; the rest when a test first asks for it, by a line on the socket `FOLDER/socket`. So the
processes of a parallel run share one of each.
"""

import json
import os
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

from dev.binaries import Unavailable
from dev.idp import IdP
from dev.kubernetes import ControlPlane
from dev.nodes import DEMO_NODES
from dev.part import Part, PartError
from dev.postgres import Postgres
from dev.tools import ROOT
from dev.valkey import Valkey


class Absent(Exception):
    """A part cannot be had here; the message says why."""


class Parts:
    """The parts of a testbed in a folder, whether this process runs them or only uses them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.postgres = Postgres(folder / "postgres", durable=False)
        self.valkey = Valkey(folder / "valkey")
        self.idp = IdP(folder / "idp")
        self.control_plane = ControlPlane(
            folder / "cluster", idp=self.idp, nodes=DEMO_NODES, durable=False
        )


# --- the process that runs them -----------------------------------------------------------------


class Testbed(Parts):
    """Runs the parts. `ensure` may be called from several threads."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._running: list[Part] = []
        self._failed: dict[str, str] = {}
        self._lock = threading.RLock()

    def start(self) -> None:
        self._start(self.postgres)
        self._start(self.valkey)

    def ensure(self, name: str) -> str:
        """Starts the part of this name if it does not run; returns why it cannot, or nothing."""
        start: dict[str, Callable[[], None]] = {
            "idp": lambda: self._start(self.idp),
            "control_plane": self._start_control_plane,
        }
        with self._lock:
            if name not in self._failed:
                try:
                    start[name]()
                    self._failed[name] = ""
                except (PartError, Unavailable, OSError) as error:
                    self._failed[name] = str(error) or type(error).__name__
            return self._failed[name]

    def stop(self) -> None:
        with self._lock:
            while self._running:
                self._running.pop().stop()

    def _start(self, part: Part) -> None:
        if part not in self._running:
            self._running.append(part)
            part.start()

    def _start_control_plane(self) -> None:
        if reason := self.ensure("idp"):
            raise PartError(reason)
        self._start(self.control_plane)


class _Answer(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, _Server)
        name = self.rfile.readline().decode().strip()
        self.wfile.write(json.dumps({"absent": self.server.testbed.ensure(name)}).encode())


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    testbed: Testbed


def main(folder: Path) -> None:
    # What ends it is the end of its input; ctrl-C is for the tests.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    testbed = Testbed(folder)
    try:
        testbed.start()
        with _Server(str(folder / "socket"), _Answer) as server:
            server.testbed = testbed
            threading.Thread(target=server.serve_forever, daemon=True).start()
            print("up", flush=True)
            sys.stdin.read()
            server.shutdown()
    finally:
        testbed.stop()
        shutil.rmtree(folder, ignore_errors=True)


# --- the processes that use them ----------------------------------------------------------------


class Client(Parts):
    """The parts of a testbed that another process runs."""

    _process: subprocess.Popen[str] | None = None

    @classmethod
    def start(cls) -> Self:
        """Starts the process, with everything in a new folder of the temporary directory."""
        folder = Path(tempfile.mkdtemp(prefix="berth-tests-"))
        client = cls(folder)
        log = (folder / "testbed.log").open("w")
        client._process = subprocess.Popen(
            [sys.executable, "-m", "dev.testbed", folder],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            process_group=0,
        )
        assert client._process.stdout is not None
        if client._process.stdout.readline() != "up\n":
            raise PartError((folder / "testbed.log").read_text())
        return client

    def stop(self) -> None:
        """Ends what `start` started, and waits for it."""
        if self._process is not None:
            self._process.communicate()

    def use_idp(self) -> IdP:
        self._ask("idp")
        return self.idp

    def use_control_plane(self) -> ControlPlane:
        """May take minutes where its programs must be built first. Raises Absent."""
        self._ask("control_plane")
        return self.control_plane

    def _ask(self, name: str) -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.folder / "socket"))
            connection.sendall(f"{name}\n".encode())
            answer = json.loads(connection.makefile().read())
        if answer["absent"]:
            raise Absent(answer["absent"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
