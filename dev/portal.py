"""The product's own processes on parts that run: web, worker, beat and watcher."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Self

import requests

from dev.idp import IdP
from dev.part import Part, PartError, Process
from dev.postgres import Postgres
from dev.tools import ROOT
from dev.valkey import Valkey


class Portal(Part):
    """Berth itself. `environment` is all that its processes are told.

    `ports` are tried in turn for the web server; `progress` is the file in which a build of the
    control plane tells how far it is.
    """

    def __init__(
        self,
        folder: Path,
        *,
        postgres: Postgres,
        valkey: Valkey,
        idp: IdP,
        ports: range = range(0),
        progress: Path | None = None,
    ) -> None:
        super().__init__(folder)
        self._postgres, self._valkey, self._idp = postgres, valkey, idp
        self._ports, self._progress = ports, progress

    @property
    def environment(self) -> dict[str, str]:
        return {
            "DATABASE_URL": self._postgres.url,
            "REDIS_URL": self._valkey.url,
            "BERTH_SECRET_KEY": self.secret("key"),
            "BERTH_HTTPS": "false",
            "BERTH_PROGRESS_FILE": str(self._progress or ""),
            "DJANGO_SETTINGS_MODULE": "portal.settings",
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            # Nobody has to tell the browser's language from that of whoever starts a demo.
            "LC_ALL": "C.UTF-8",
            **self._idp.environment,
        }

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port_of('web')}"

    def seed(self, kubeconfig: str | Path, *, requests: str) -> None:
        """Makes the tables and the rows of dev/seed.py. Raises PartError."""
        argv = ["-m", "dev.seed", str(kubeconfig), self._idp.issuer, "--requests", requests]
        done = subprocess.run(
            [sys.executable, *argv],
            env={**os.environ, **self.environment},
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            raise PartError(f"dev.seed ended with {done.returncode}:\n{done.stdout}")

    def start(self) -> Self:
        """Starts the web server and the rest; up when the web server answers."""
        port = self.port("web", self._ports)
        # Open pages keep their streams open for as long as they can; ctrl-C should not wait for it.
        options = ("--port", str(port), "--timeout-graceful-shutdown", "2")
        web = self._run("web", "uvicorn", "portal.asgi:application", *options)
        celery = ("celery", "--app", "portal")
        threads = ("--pool", "threads", "--concurrency", "8")
        self._run("worker", *celery, "worker", *threads, "--loglevel", "INFO")
        schedule = self.folder / "beat.schedule"
        self._run("beat", *celery, "beat", "--schedule", str(schedule), "--pidfile=")
        self._run("watcher", str(ROOT / "manage.py"), "watch_usage", module=False)
        web.wait_until(self._is_up, 120)
        return self

    def _run(self, name: str, *args: str, module: bool = True) -> Process:
        argv = [sys.executable, *(["-m"] if module else []), *args]
        return self.run(name, argv, env=self.environment, cwd=ROOT)

    def _is_up(self) -> bool:
        try:
            return requests.get(f"{self.url}/health/ready/", timeout=5).ok
        except requests.RequestException:
            return False
