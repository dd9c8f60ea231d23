"""`make demo`: the whole portal with real parts on this machine, until ctrl-C.

`KUBECONFIG=… make demo` uses that cluster instead of one of its own; nothing is then written to it
before somebody approves a request. `--reset` forgets what is kept in `.state/demo`.
"""

import argparse
import contextlib
import fcntl
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from dev import binaries
from dev.idp import IdP
from dev.kubernetes import ControlPlane
from dev.nodes import DEMO_NODES
from dev.part import Part, PartError, Process, end_leftover
from dev.people import ALPHA_MEMBER, EVERYBODY
from dev.portal import Portal
from dev.postgres import Postgres
from dev.terminal import Line, say, step
from dev.tools import ROOT
from dev.valkey import Valkey

STATE = ROOT / ".state" / "demo"
PORTAL_PORTS = range(8000, 8100)
IDP_PORTS = range(8100, 8200)
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Demo:
    """Everything that `make demo` runs, in the order in which it must end the other way round."""

    def __init__(self, folder: Path, kubeconfig: str, stack: contextlib.ExitStack) -> None:
        self._stack, self._folder, self._own = stack, folder, not kubeconfig
        self.progress = folder / "progress.json"
        self.postgres = Postgres(folder / "postgres")
        self.valkey = Valkey(folder / "valkey")
        self.idp = IdP(folder / "idp", http_ports=IDP_PORTS)
        self.cluster = ControlPlane(folder / "cluster", idp=self.idp, nodes=DEMO_NODES)
        self.kubeconfig = kubeconfig or str(self.cluster.kubeconfig)
        self.builder, self.activity = Part(folder / "build"), Part(folder / "activity")
        self.portal = Portal(
            folder / "portal",
            postgres=self.postgres,
            valkey=self.valkey,
            idp=self.idp,
            ports=PORTAL_PORTS,
            progress=self.progress,
        )

    def start(self) -> None:
        """The portal answers first, with what it tells of a cluster that is not there yet."""
        pool = self._stack.enter_context(ThreadPoolExecutor(1))
        for part in (self.postgres, self.valkey, self.idp, self.cluster):
            # Ends after the portal: an API server, for one, waits for those who watch it.
            self._stack.callback(part.stop)
        found = binaries.find()
        self.idp.prepare()
        idp = pool.submit(self.idp.start, prepared=True)
        cluster = pool.submit(self.cluster.start, found) if self._own and found else None
        with step("PostgreSQL"):
            self.postgres.start()
        with step("Valkey"):
            self.valkey.start()
        with step("migrations, people, teams and requests"):
            # On somebody's own cluster nothing is made before somebody says so.
            self.portal.seed(self.kubeconfig, requests="decided" if self._own else "waiting")
        if self._own:
            binaries.progress_file(self.progress)(0, "The cluster is starting")
        with step("web, worker, beat and watcher"):
            self._stack.enter_context(self.portal)
        with step("identity provider"):
            idp.result()
        self._tell()
        if self._own:
            self._wait_for_cluster(cluster, pool)

    def watch(self) -> None:
        """Waits until ctrl-C, and tells once of each process that ends by itself."""
        parts = (self.postgres, self.valkey, self.idp, self.portal, self.cluster, self.activity)
        told: set[Process] = set()
        while True:
            for process in [process for part in parts for process in part.processes]:
                if process.returncode is not None and process not in told:
                    told.add(process)
                    say(f"  ✗ {process.name} ended with {process.returncode}: see {process.log}")
            time.sleep(1)

    def _wait_for_cluster(
        self, cluster: Future[ControlPlane] | None, pool: ThreadPoolExecutor
    ) -> None:
        try:
            if cluster is None:
                self._build()
                cluster = pool.submit(self.cluster.start)
            with step("Kubernetes with eight nodes that are not there"):
                cluster.result()
        except (PartError, binaries.Unavailable) as error:
            self.cluster.stop()
            binaries.progress_file(self.progress)(0, "The cluster could not be started")
            say(f"The portal runs without a cluster: {error}")
            return
        self.progress.unlink(missing_ok=True)
        self._stack.callback(self.activity.stop)
        argv: list[str | Path] = [sys.executable, "-m", "dev.activity", self.cluster.folder]
        self.activity.run("activity", argv, cwd=ROOT)
        for person in EVERYBODY:
            self.cluster.kubeconfig_of(person)
        folder = os.path.relpath(self.cluster.folder)
        say("\n  The cluster is up. kubectl as somebody of the above, or as admin:")
        say(f"    export KUBECONFIG={folder}/{ALPHA_MEMBER.subject}.kubeconfig")

    def _build(self) -> None:
        """Builds in a process of its own, which leaves the portal its share of the cores."""
        say("  Kubernetes is built from source, once; the portal can be used meanwhile.")
        self._stack.callback(self.builder.stop)
        argv: list[str | Path] = ["nice", sys.executable, "-m", "dev.binaries", self.progress]
        build = self.builder.run("build", argv, cwd=ROOT)
        with Line() as line:
            while build.returncode is None:
                with contextlib.suppress(OSError, ValueError):
                    now = json.loads(self.progress.read_text())
                    line.show(f"  … {now['fraction']:4.0%} {now['phrase']}")
                time.sleep(0.5)
        if build.returncode:
            raise PartError(build.tail())

    def _tell(self) -> None:
        say(f"\n  Berth: {self.portal.url}\n\n  Sign in there as")
        for person in EVERYBODY:
            say(f"    {person.subject:16} {person.note}")
        say(f"\n  Logs are in {os.path.relpath(self._folder)}; ctrl-C ends everything.\n")


def run(state: Path, kubeconfig: str) -> None:
    """Runs until a signal; leaves no process."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    for number in ENDS:
        signal.signal(number, end)
    with _only_one(state), contextlib.ExitStack() as stack:
        stack.callback(say, "  Everything has ended; `make demo` goes on where this was.")
        demo = Demo(state, kubeconfig, stack)
        try:
            demo.start()
            demo.watch()
        except KeyboardInterrupt:
            say("\n  Ending …")
        except PartError as error:
            sys.exit(str(error))
        finally:
            # A second ctrl-C must not leave half of it running.
            for number in ENDS:
                signal.signal(number, signal.SIG_IGN)


def reset(state: Path) -> None:
    """Ends what a killed demo left, and forgets everything."""
    with _only_one(state):
        for record in state.glob("*/*.pid.json"):
            end_leftover(record)
        for path in state.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
    say("The demo starts anew next time.")


@contextlib.contextmanager
def _only_one(state: Path) -> Iterator[None]:
    state.mkdir(parents=True, exist_ok=True)
    with (state / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("A demo of this folder runs already: end it first.")
        yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reset", action="store_true", help="forget what is kept")
    parser.add_argument("--state", type=Path, default=STATE, help="the folder of what is kept")
    arguments = parser.parse_args()
    if arguments.reset:
        reset(arguments.state)
    else:
        run(arguments.state, os.environ.get("KUBECONFIG", ""))


if __name__ == "__main__":
    main()
