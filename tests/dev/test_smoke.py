"""`make smoke` and `make demo` as somebody runs them."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest
import requests

from dev.tools import ROOT

pytestmark = pytest.mark.deep
PORTAL = re.compile(r"Berth: (http://\S+)")


def test_smoke_holds(control_plane):
    done = subprocess.run(
        [sys.executable, "-m", "dev.smoke"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    result = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, result["journey"]) == (0, True), done.stdout
    assert result["approve_to_ready_ms"] > 0
    assert result["kubectl_apply_ms"] > 0
    assert 0 < result["pod_to_stream_ms"] < 1000


@pytest.fixture
def demo(tmp_path):
    """Starts a demo that keeps its state in a folder of the test."""
    started = []

    def start(**environment):
        log = tmp_path / f"demo-{len(started)}.log"
        with log.open("w") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "dev.demo", "--state", tmp_path / "state"],
                cwd=ROOT,
                env={**os.environ, **environment},
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        started.append(process)
        return process, log

    yield start
    for process in started:
        if process.poll() is None:
            process.terminate()
            process.wait(60)


def until(log, words, timeout=120):
    end = time.monotonic() + timeout
    while words not in log.read_text():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)


def processes_of(folder):
    """Processes that were told of this folder, which all parts of a demo are."""
    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        told = [*(process.info["cmdline"] or ()), *(process.info["environ"] or {}).values()]
        if any(str(folder) in word for word in told):
            found.append(process.info["cmdline"])
    return found


def test_demo_leaves_no_process_and_keeps_its_data(control_plane, demo, tmp_path):
    process, log = demo()
    until(log, "The cluster is up")
    portal = PORTAL.search(log.read_text())[1]
    assert requests.get(portal, timeout=10).ok
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(60) == 0
    assert processes_of(tmp_path) == []

    process, log = demo()
    until(log, "The cluster is up")
    assert PORTAL.search(log.read_text())[1] == portal
    assert processes_of(tmp_path)


def test_demo_that_was_killed_starts_again(control_plane, demo, tmp_path):
    process, log = demo()
    until(log, "The cluster is up")
    process.kill()
    process.wait(10)
    left = processes_of(tmp_path)
    assert left
    process, log = demo()
    until(log, "The cluster is up")
    assert len(processes_of(tmp_path)) <= len(left) + 1


def test_a_taken_port_is_no_obstacle_and_reset_forgets(control_plane, demo, tmp_path):
    with socket.socket() as taken:
        with contextlib.suppress(OSError):  # somebody else has it: all the better
            taken.bind(("127.0.0.1", 8000))
            taken.listen()
        process, log = demo()
        until(log, "The cluster is up")
        portal = PORTAL.search(log.read_text())[1]
        assert not portal.endswith(":8000")
        assert requests.get(portal, timeout=10).ok
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(60) == 0
    state = tmp_path / "state"
    assert kept(state)
    reset = [sys.executable, "-m", "dev.demo", "--state", state, "--reset"]
    subprocess.run(reset, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    assert not kept(state)


def kept(state):
    """The folders of what a demo keeps; its lock is no data."""
    return [path for path in state.iterdir() if path.is_dir()]
