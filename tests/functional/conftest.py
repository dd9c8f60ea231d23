"""The real control plane as a row of ours, with and without a proxy that fails on demand.

Models are imported inside: a conftest named on the command line comes before the settings.
"""

import contextlib
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from django.db import connection

from cluster import bridge
from tests.functional.proxy import Proxy

ROOT = Path(__file__).resolve().parents[2]


def database_environment():
    """The environment of a process that works on this test's database."""
    db = connection.settings_dict
    url = f"postgresql://{db['USER']}:{db['PASSWORD']}@{db['HOST']}:{db['PORT']}/{db['NAME']}"
    return {**os.environ, "DATABASE_URL": url}


@pytest.fixture
def cluster_row(control_plane, transactional_db):
    """The real cluster as Berth knows it."""
    from tests.factories import ClusterFactory

    yield ClusterFactory(kubeconfig=str(control_plane.kubeconfig))
    bridge.close()


@pytest.fixture
def proxy(control_plane, tmp_path):
    running = Proxy(control_plane.kubeconfig, tmp_path)
    yield running
    running.close()


@pytest.fixture
def proxied_row(proxy, transactional_db):
    """The real cluster behind the proxy."""
    from tests.factories import ClusterFactory

    yield ClusterFactory(kubeconfig=str(proxy.kubeconfig))
    bridge.close()


@pytest.fixture
def live(control_plane):
    """Reads and writes the cluster as its admin, past Berth."""
    from cluster.client import Client, Connection
    from cluster.errors import NotFound

    class Live:
        def __init__(self):
            self.made = []

        def call(self, verb, *args, **kwargs):
            async def once():
                async with Client(Connection(kubeconfig=str(control_plane.kubeconfig))) as client:
                    return await getattr(client, verb)(*args, **kwargs)

            return bridge.run(once(), timeout=20)

        def get(self, kind, name, namespace=""):
            return self.call("get", kind, name, namespace=namespace)

        def find(self, kind, name, namespace=""):
            try:
                return self.get(kind, name, namespace)
            except NotFound:
                return None

        def apply(self, manifest):
            return self.call("apply", manifest)

        def name(self, stem="team"):
            """A namespace name that nobody else uses; the namespace goes with the test."""
            name = f"{stem}-{uuid.uuid4().hex[:8]}"
            self.made.append(name)
            return name

    live = Live()
    yield live
    for name in live.made:
        with contextlib.suppress(NotFound):  # never made, or on its way out already
            live.call("delete", "Namespace", name)
    bridge.close()


@pytest.fixture
def approved():
    """An approved request for a namespace, its nudge not yet followed."""
    from quotas.services import request_approve
    from tests.factories import QuotaRequestFactory, TeamFactory, approver

    def make(cluster, name, **columns):
        team = columns.pop("team", None) or TeamFactory()
        request = QuotaRequestFactory(cluster=cluster, team=team, name=name, **columns)
        return request_approve(actor=approver(), request=request, version=1)

    return make


@pytest.fixture
def in_process():
    """Runs code in a process of its own on this test's database; returns it, running."""
    running = []

    def start(code):
        process = subprocess.Popen(
            [sys.executable, "-c", f"import django; django.setup()\n{code}"],
            cwd=ROOT,
            env=database_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()
