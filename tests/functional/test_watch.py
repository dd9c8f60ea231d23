"""What the cluster reports reaches the database, and what differs is nudged."""

import asyncio
import base64
import json
import subprocess
import sys
import threading
import time

import pytest
from django.db import connection

from cluster.watch import Changed, Synced
from quotas.models import Usage
from quotas.reconcile import namespace_reconcile
from quotas.sightings import quotas_seen
from quotas.watcher import ClusterWatcher
from tenants.models import Cluster, Namespace
from tests.functional.conftest import ROOT, database_environment
from tests.functional.proxy import Fault

pytestmark = pytest.mark.cluster

HIGH = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}


class Watching:
    """A watcher at work in a thread of its own, as `manage.py watch_usage` runs it."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.loop = asyncio.new_event_loop()
        self.task = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        self.task = self.loop.create_task(ClusterWatcher(self.cluster).run())
        try:
            self.loop.run_until_complete(self.task)
        except asyncio.CancelledError:
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()

    def stop(self):
        if self.thread.is_alive():
            self.loop.call_soon_threadsafe(self.task.cancel)
            self.thread.join(10)


@pytest.fixture
def watch():
    running = []

    def start(cluster):
        running.append(Watching(cluster))
        eventually(lambda: Cluster.objects.get(pk=cluster.pk).watched_at)
        return running[-1]

    yield start
    for one in running:
        one.stop()


def eventually(found, within=10):
    """What `found` returns once it is true; the last answer after so many seconds."""
    end = time.monotonic() + within
    while not (answer := found()) and time.monotonic() < end:
        time.sleep(0.02)
    assert answer
    return answer


def usage(name):
    return Usage.objects.filter(namespace_name=name, quota_name="dev-quota").first()


def fresh(row):
    row.watched_at = row.allocatable = None
    row.save()
    return row


def pod(live, namespace, name="a"):
    container = {"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    live.call(
        "create",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"containers": [container]},
        },
    )


def test_use_follows_the_cluster(cluster_row, live, approved, watch):
    watch(fresh(cluster_row))
    name = live.name()
    request = approved(cluster_row, name)
    namespace_reconcile(request.namespace_id)
    found = eventually(lambda: usage(name) if usage(name) and usage(name).used else None)
    assert found.used["pods"] == "0"
    assert found.hard.keys() == request.amounts.keys()
    pod(live, name)
    eventually(lambda: usage(name).used["requests.nvidia.com/gpu"] == "1")
    live.call("delete", "ResourceQuota", "dev-quota", namespace=name)
    eventually(lambda: usage(name) is None)


def test_what_nodes_offer_is_counted(cluster_row, watch):
    watch(fresh(cluster_row))
    offered = Cluster.objects.get(pk=cluster_row.pk).allocatable
    assert offered["nvidia.com/gpu"] == "32"
    assert offered["nvidia.com/mig-1g.10gb"] == "14"


def test_a_changed_quota_is_nudged(cluster_row, live, approved, watch, valkey):
    watch(fresh(cluster_row))
    name = live.name()
    request = approved(cluster_row, name)
    namespace_reconcile(request.namespace_id)
    eventually(lambda: usage(name))
    valkey.flushdb()
    live.call(
        "patch", "ResourceQuota", "dev-quota", {"spec": {"hard": {"pods": "99"}}}, namespace=name
    )
    eventually(lambda: any(str(request.namespace_id) in text for text in queued(valkey)))


@pytest.mark.parametrize(
    ("quota", "spec"),
    [
        ("berth-guard", {"hard": {"requests.example.com/npu": "5"}}),
        ("berth-guard", {"hard": {"requests.example.com/npu": None}}),
        ("berth-guard", {"hard": {"pods": "0"}}),
        ("dev-quota", {"scopeSelector": {"matchExpressions": [HIGH]}}),
    ],
    ids=["more of what is withheld", "no word of it", "less of something else", "a scope"],
)
def test_a_quota_that_is_bent_in_other_ways_is_nudged(
    quota, spec, cluster_row, live, approved, valkey
):
    name = live.name()
    cluster_row.allocatable |= {"example.com/npu": "8"}
    cluster_row.save()
    request = approved(cluster_row, name)

    def is_nudged():
        valkey.flushdb()
        quotas_seen(cluster_row, None, [live.get("ResourceQuota", quota, name)], [])
        return any(str(request.namespace_id) in text for text in queued(valkey))

    namespace_reconcile(request.namespace_id)
    assert not is_nudged()
    live.call("patch", "ResourceQuota", quota, {"spec": spec}, namespace=name)
    assert is_nudged()
    namespace_reconcile(request.namespace_id)
    assert not is_nudged()


def test_a_namespace_deleted_from_outside_is_nudged(cluster_row, live, approved, watch, valkey):
    watch(fresh(cluster_row))
    name = live.name()
    request = approved(cluster_row, name)
    namespace_reconcile(request.namespace_id)
    eventually(lambda: usage(name))
    valkey.flushdb()
    live.call("delete", "Namespace", name)
    eventually(lambda: any(str(request.namespace_id) in text for text in queued(valkey)))
    eventually(lambda: usage(name) is None)


def test_what_was_deleted_unseen_is_gone_after_a_new_list(cluster_row, live, approved, watch):
    name = live.name()
    request = approved(cluster_row, name)
    namespace_reconcile(request.namespace_id)
    first = watch(fresh(cluster_row))
    eventually(lambda: usage(name))
    first.stop()
    live.call("delete", "ResourceQuota", "dev-quota", namespace=name)
    watch(fresh(cluster_row))
    eventually(lambda: usage(name) is None)


def test_what_goes_right_after_a_list_is_gone(cluster_row, live, approved, valkey):
    name = live.name()
    request = approved(cluster_row, name)
    namespace_reconcile(request.namespace_id)
    valkey.flushdb()
    quota = live.get("ResourceQuota", "dev-quota", name)
    events = [Synced([quota], "1"), Changed("DELETED", quota, "2")]
    quotas_seen(cluster_row, [quota], [], [])
    assert usage(name)
    asyncio.run(ClusterWatcher(cluster_row)._write_kind("ResourceQuota", events))
    assert usage(name) is None
    assert any(str(request.namespace_id) in text for text in queued(valkey))


def test_a_cluster_out_of_sight_is_said_so_and_what_waits_goes_on(
    proxy, proxied_row, live, approved, watch, valkey
):
    watch(fresh(proxied_row))
    away = Fault(lambda m, p: True, before=lambda: None, times=1_000_000)
    proxy.faults.append(away)
    eventually(lambda: Cluster.objects.get(pk=proxied_row.pk).lost_since)
    request = approved(proxied_row, live.name())
    namespace_reconcile(request.namespace_id)
    waiting = Namespace.objects.get(pk=request.namespace_id)
    assert waiting.observed_generation < waiting.generation
    valkey.flushdb()
    proxy.faults.clear()
    eventually(lambda: not Cluster.objects.get(pk=proxied_row.pk).lost_since, within=20)
    eventually(lambda: any(str(request.namespace_id) in text for text in queued(valkey)))


def queued(valkey):
    """The bodies of the tasks that wait at the broker, decoded."""
    found = []
    for key in valkey.scan_iter("*celery"):
        if valkey.type(key) == "list":
            for text in valkey.lrange(key, 0, -1):
                found.append(base64.b64decode(json.loads(text)["body"]).decode())
    return found


@pytest.mark.parametrize(
    ("kind", "name"),
    [("LimitRange", "dev-limits"), ("Role", "ml-developer"), ("RoleBinding", "{0}-binding")],
)
def test_what_berth_made_is_nudged_when_it_goes_or_another_hand_is_on_it(
    kind, name, cluster_row, live, approved, watch, valkey, control_plane
):
    watch(fresh(cluster_row))
    namespace = live.name()
    request = approved(cluster_row, namespace)
    namespace_reconcile(request.namespace_id)
    eventually(lambda: usage(namespace))

    def nudged():
        return any(str(request.namespace_id) in text for text in queued(valkey))

    valkey.flushdb()
    time.sleep(0.3)
    assert not nudged()
    name = name.format(namespace)
    by_hand = (
        ["annotate", "by=hand"],
        ["label", "app.kubernetes.io/managed-by=me", "--overwrite"],
    )
    for verb, *change in by_hand:
        control_plane.kubectl(verb, "-n", namespace, kind, name, *change)
        eventually(nudged)
        namespace_reconcile(request.namespace_id)
        valkey.flushdb()
    labels = live.get(kind, name, namespace)["metadata"]["labels"]
    assert labels["app.kubernetes.io/managed-by"] == "berth"
    valkey.flushdb()
    live.call("delete", kind, name, namespace=namespace)
    eventually(nudged)
    namespace_reconcile(request.namespace_id)
    assert live.get(kind, name, namespace)


def test_what_was_deleted_while_nobody_watched_is_nudged(
    cluster_row, live, approved, watch, valkey
):
    namespace = live.name()
    request = approved(cluster_row, namespace)
    namespace_reconcile(request.namespace_id)
    live.call("delete", "LimitRange", "dev-limits", namespace=namespace)
    valkey.flushdb()
    watch(cluster_row)
    eventually(lambda: any(str(request.namespace_id) in text for text in queued(valkey)))


@pytest.fixture
def command(transactional_db):
    """`manage.py watch_usage` on this test's database."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", "watch_usage"],
        cwd=ROOT,
        env=database_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield process
    process.kill()
    process.wait()


def test_the_command_outlives_its_connections_to_the_database(command, cluster_row):
    """As when PostgreSQL is started anew."""

    def watched():
        return Cluster.objects.get(pk=cluster_row.pk).watched_at

    eventually(watched, within=20)
    cut = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with connection.cursor() as cursor:
        cursor.execute(cut)
        assert cursor.fetchone()[0]
    last = watched()
    eventually(lambda: watched() > last, within=20)
    # Every connection that it takes up again is cut, too, for a while.
    until = time.monotonic() + 3
    while time.monotonic() < until:
        with connection.cursor() as cursor:
            cursor.execute(cut)
        time.sleep(0.05)
    last = watched()
    eventually(lambda: watched() > last, within=20)
    assert command.poll() is None
