"""The real worker and beat: killed, without a broker, and with a nudge that was lost."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tenants.models import Namespace, Transition
from tenants.states import is_true
from tests.functional.conftest import ROOT, database_environment
from tests.functional.proxy import Fault

pytestmark = [pytest.mark.cluster, pytest.mark.deep]


@pytest.fixture
def celery(transactional_db, valkey, tmp_path):
    """Starts the worker or beat on this test's database; ends them all afterwards."""
    running = []

    def start(*argv, **environment):
        process = subprocess.Popen(
            [sys.executable, "-m", "celery", "--app", "portal", *argv],
            cwd=ROOT,
            env={**database_environment(), "BERTH_SWEEP_S": "1", **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        running.append(process)
        return process

    def worker(**environment):
        return start("worker", "--pool", "threads", "--concurrency", "4", **environment)

    def beat():
        return start("beat", "--schedule", str(tmp_path / "beat"), "--pidfile=")

    start.worker, start.beat = worker, beat
    yield start
    for process in running:
        process.kill()
        process.wait()


def ready(request, within=30):
    until = time.monotonic() + within
    while time.monotonic() < until:
        namespace = Namespace.objects.get(pk=request.namespace_id)
        if is_true(namespace.conditions, "Ready"):
            lines = Transition.objects.filter(namespace=namespace).order_by("id")
            assert list(lines.values_list("action", flat=True)) == ["grant", "created", "ready"]
            return
        time.sleep(0.1)
    pytest.fail(f"not ready: {namespace.conditions}")


def test_a_worker_killed_in_the_middle_is_made_up_for_by_the_sweep(
    celery, proxy, proxied_row, live, approved
):
    first = celery.worker()
    name = live.name()

    def kill():
        os.kill(first.pid, signal.SIGKILL)
        return True

    proxy.faults.append(
        Fault(lambda m, p: m == "PATCH" and p.endswith("/resourcequotas/dev-quota"), after=kill)
    )
    request = approved(proxied_row, name)
    assert first.wait(30) == -signal.SIGKILL
    assert live.find("RoleBinding", f"{name}-binding", name) is None
    celery.worker()
    celery.beat()
    ready(request)


def test_a_lost_nudge_costs_only_time(celery, cluster_row, live, approved, valkey):
    request = approved(cluster_row, live.name())
    valkey.flushdb()
    celery.worker()
    celery.beat()
    ready(request)


def test_a_broker_restart_loses_nothing(celery, cluster_row, live, approved, valkey):
    celery.worker()
    celery.beat()
    ready(approved(cluster_row, live.name()))
    # Every connection is cut and every queue is gone, as with a broker that keeps nothing.
    valkey.client_kill_filter(skipme=True, _type="normal")
    valkey.client_kill_filter(_type="pubsub")
    valkey.flushdb()
    ready(approved(cluster_row, live.name()))
