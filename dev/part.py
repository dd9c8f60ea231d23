"""Processes and ports: what all parts have in common."""

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import psutil


class PartError(Exception):
    """A part did not come up; the message ends with the last lines of its log."""


class Part:
    """Something that runs, with its state in `folder`. Subclasses start processes by `run`."""

    # Whether its processes must end one after the other.
    in_order = False

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder).absolute()
        self.processes: list[Process] = []
        self._lock, self._ending = threading.Lock(), False

    def start(self) -> Self:
        raise NotImplementedError

    def stop(self) -> None:
        """Ends the processes of this part, the last one started first, or all at once.

        Another thread that is still starting it then gets PartError.
        """
        with self._lock:
            self._ending = True
        if not self.in_order:
            for process in self.processes:
                process.ask_to_end()
        while self.processes:
            self.processes.pop().stop()

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def run(self, name: str, argv: Sequence[str | Path], **kwargs: Any) -> "Process":
        """Starts a process whose log is `<folder>/<name>.log`.

        One of this name that an earlier start left behind, since its starter was killed, is ended
        first.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        end_leftover(self.folder / f"{name}.pid.json")
        with self._lock:
            if self._ending:
                raise PartError(f"{name} is not started: it is being ended")
            process = Process(name, argv, log=self.folder / f"{name}.log", **kwargs)
            self.processes.append(process)
        created = psutil.Process(process.pid).create_time()
        self.keep(f"{name}.pid", [process.pid, created, process.stop_signal])
        return process

    # --- what is kept in the folder between starts ---

    def port(self, name: str, wanted: Iterable[int] = ()) -> int:
        """The first wanted port that is free, else the one of the last start, else any."""
        ports = self.recall("ports", {})
        ports[name] = free_port(*wanted, ports.get(name, 0))
        self.keep("ports", ports)
        return ports[name]

    def port_of(self, name: str) -> int:
        """The port that `port` took at the last start."""
        return self.recall("ports", {})[name]

    def secret(self, name: str) -> str:
        """A random password, the same at each start."""
        path = self.folder / f"{name}.secret"
        if not path.exists():
            write(path, secrets.token_urlsafe(24), mode=0o600)
        return path.read_text()

    def keep(self, name: str, value: Any) -> None:
        write(self.folder / f"{name}.json", json.dumps(value))

    def recall(self, name: str, default: Any) -> Any:
        try:
            return json.loads((self.folder / f"{name}.json").read_text())
        except FileNotFoundError:
            return default


class Process:
    """A child in a process group of its own, so that ctrl-C reaches only who started it."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str | Path],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
        patience: float = 10,
    ) -> None:
        self.name, self.log, self.stop_signal, self._patience = name, log, stop_signal, patience
        self._asked = False
        with log.open("ab") as out:
            self.offset = out.tell()
            self._popen = subprocess.Popen(
                [str(arg) for arg in argv],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                cwd=cwd,
                process_group=0,
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def returncode(self) -> int | None:
        """None while it runs."""
        return self._popen.poll()

    def ask_to_end(self) -> None:
        self._asked = True
        if self.returncode is None:
            self._popen.send_signal(self.stop_signal)

    def stop(self) -> None:
        """Asks it to end, and after its patience ends its whole group."""
        if self.returncode is None:
            if not self._asked:
                self.ask_to_end()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._popen.wait(self._patience)
        # Children that it left behind are still in its group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.wait()

    def wait_until(self, ready: Callable[[], bool], timeout: float = 60) -> None:
        """Waits for `ready`; raises PartError when the process ends first or time runs out."""
        until = time.monotonic() + timeout
        while not ready():
            if self.returncode is not None:
                raise PartError(f"{self.name} ended with {self.returncode}:\n{self.tail()}")
            if time.monotonic() > until:
                raise PartError(f"{self.name} is not up after {timeout:.0f} s:\n{self.tail()}")
            time.sleep(0.05)

    def tail(self, lines: int = 15) -> str:
        """The last lines that this run of the process wrote."""
        with self.log.open("rb") as log:
            log.seek(self.offset)
            text = log.read().decode(errors="replace")
        return "\n".join(text.splitlines()[-lines:])


def end_leftover(record: Path, patience: float = 3) -> None:
    """Ends the process that a file names by pid and time of start, if that still runs."""
    try:
        pid, created, stop_signal = json.loads(record.read_text())
        process = psutil.Process(pid)
        if process.create_time() != created:
            return
        group = [process, *process.children(recursive=True)]
        process.send_signal(stop_signal)
        psutil.wait_procs([process], patience)
        for left in group:
            with contextlib.suppress(psutil.NoSuchProcess):
                left.kill()
        psutil.wait_procs(group, patience)
    except (FileNotFoundError, psutil.NoSuchProcess):
        return


def free_port(*wanted: int, host: str = "127.0.0.1") -> int:
    """The first of the wanted ports that is free, else any."""
    for port in (*wanted, 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            # As servers do, so that a port whose last connections linger counts as free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            return int(probe.getsockname()[1])
    raise PartError("no free port")


def answers(port: int, host: str = "127.0.0.1") -> bool:
    """Whether something listens."""
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1):
        return True
    return False


def write(path: Path, text: str | bytes, mode: int = 0o644) -> Path:
    """Writes a file whole: readers see the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
        file.write(text.encode() if isinstance(text, str) else text)
    part.replace(path)
    return path
