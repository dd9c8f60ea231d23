"""A worker that dies or a server that fails at each step: one outcome, one history line each."""

import os
import signal
import threading
import time

import pytest
from django.utils import timezone

from quotas.reconcile import namespace_reconcile
from tenants.models import Namespace, Transition
from tenants.states import condition_of, is_true
from tests.functional.proxy import Fault, status

pytestmark = pytest.mark.cluster

# What a reconcile writes, in order: method and the end of the path.
WRITES = {
    "namespace-made": ("POST", "/namespaces"),
    "namespace-labelled": ("PATCH", "/namespaces/{name}"),
    "limits": ("PATCH", "/limitranges/dev-limits"),
    "quota": ("PATCH", "/resourcequotas/dev-quota"),
    "guard": ("PATCH", "/resourcequotas/berth-guard"),
    "role": ("PATCH", "/roles/ml-developer"),
    "binding": ("PATCH", "/rolebindings/{name}-binding"),
}
OBJECTS = (
    ("LimitRange", "dev-limits"),
    ("ResourceQuota", "dev-quota"),
    ("ResourceQuota", "berth-guard"),
    ("Role", "ml-developer"),
    ("RoleBinding", "{name}-binding"),
)


def at(write, name):
    method, path = WRITES[write]
    return lambda m, p: m == method and p.endswith(path.format(name=name))


def check_limits_before_access(live, name):
    if live.find("RoleBinding", f"{name}-binding", name):
        status = live.get("ResourceQuota", "dev-quota", name).get("status", {})
        assert status.get("hard", {}).keys() == status.get("used", {}).keys() != set()
        assert live.get("LimitRange", "dev-limits", name)


def check_end(live, request):
    """The state that every fault must lead to."""
    namespace = Namespace.objects.get(pk=request.namespace_id)
    assert is_true(namespace.conditions, "Ready"), namespace.conditions
    assert namespace.observed_generation == namespace.generation
    assert namespace.uid == live.get("Namespace", request.name)["metadata"]["uid"]
    for kind, object_name in OBJECTS:
        assert live.get(kind, object_name.format(name=request.name), request.name)
    lines = Transition.objects.filter(namespace=namespace).order_by("id")
    assert list(lines.values_list("action", flat=True)) == ["grant", "created", "ready"]


def test_the_list_of_writes_is_complete(proxy, proxied_row, live, approved):
    request = approved(proxied_row, live.name())
    namespace_reconcile(request.namespace_id)
    written = [(m, p) for m, p in proxy.requests if m != "GET"]
    assert len(written) == len(WRITES)
    for write, (method, path) in zip(WRITES, written, strict=True):
        assert at(write, request.name)(method, path)


@pytest.mark.parametrize("write", WRITES)
def test_worker_killed_after_each_object(write, proxy, proxied_row, live, approved, in_process):
    request = approved(proxied_row, live.name())
    killed = []

    def kill():
        os.kill(worker.pid, signal.SIGKILL)
        killed.append(write)
        return True

    proxy.faults.append(Fault(at(write, request.name), after=kill))
    worker = in_process(
        "from quotas.tasks import reconcile_namespace\n"
        f"reconcile_namespace({str(request.namespace_id)!r})"
    )
    worker.communicate(timeout=30)
    assert (killed, worker.returncode) == ([write], -signal.SIGKILL)
    check_limits_before_access(live, request.name)
    namespace_reconcile(request.namespace_id)
    check_end(live, request)


FAULTS = {
    "500 from a webhook": lambda: status(
        500, "InternalError", 'failed calling webhook "x": context deadline exceeded'
    ),
    "429": lambda: status(429, "TooManyRequests", "too many requests", **{"Retry-After": "1"}),
    "503": lambda: status(503, "ServiceUnavailable", "etcd is away"),
    "504": lambda: status(504, "Timeout", "the server did not finish"),
    "409 about a quota": lambda: status(
        409, "Conflict", "Operation cannot be fulfilled on resourcequotas"
    ),
    "cut before": lambda: None,
}


@pytest.mark.deep
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("write", WRITES)
def test_what_time_cures_is_tried_again(write, fault, proxy, proxied_row, live, approved):
    request = approved(proxied_row, live.name())
    proxy.faults.append(Fault(at(write, request.name), before=FAULTS[fault]))
    namespace_reconcile(request.namespace_id)
    assert proxy.faults[0].seen == 1
    check_limits_before_access(live, request.name)
    namespace = Namespace.objects.get(pk=request.namespace_id)
    if not is_true(namespace.conditions, "Ready"):
        assert namespace.reconcile_at > timezone.now()
        assert namespace.observed_generation < namespace.generation
        namespace_reconcile(request.namespace_id)
    check_end(live, request)


@pytest.mark.parametrize("write", WRITES)
def test_cut_after_the_server_acted(write, proxy, proxied_row, live, approved):
    request = approved(proxied_row, live.name())
    proxy.faults.append(Fault(at(write, request.name), after=lambda: True))
    namespace_reconcile(request.namespace_id)
    check_limits_before_access(live, request.name)
    namespace_reconcile(request.namespace_id)
    check_end(live, request)


@pytest.mark.parametrize("write", WRITES)
def test_what_time_cannot_cure_says_so_in_the_servers_words(
    write, proxy, proxied_row, live, approved
):
    request = approved(proxied_row, live.name())
    words = f"admission webhook denied the request: {write}"
    forbidden = Fault(at(write, request.name), before=lambda: status(403, "Forbidden", words))
    proxy.faults.append(forbidden)
    namespace_reconcile(request.namespace_id)
    check_limits_before_access(live, request.name)
    namespace = Namespace.objects.get(pk=request.namespace_id)
    ready = condition_of(namespace.conditions, "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "Forbidden")
    assert words in ready["message"]
    assert namespace.observed_generation == namespace.generation
    # Once whoever runs the cluster has mended it, the next look converges.
    namespace_reconcile(request.namespace_id)
    assert is_true(Namespace.objects.get(pk=namespace.pk).conditions, "Ready")


def test_a_silent_cluster_does_not_hold_up_the_others(
    proxy, proxied_row, cluster_row, live, approved
):
    asked = [approved(proxied_row, live.name()) for _ in range(5)]
    proxied_row.lost_since = timezone.now()
    proxied_row.save()
    again = threading.Event()
    proxy.faults.append(Fault(lambda m, p: not again.is_set(), before=again.wait, times=1_000))
    began = time.monotonic()
    for request in asked:
        namespace_reconcile(request.namespace_id)
    # One short question for all of them, not one until time runs out for each.
    assert time.monotonic() - began < 5
    for request in asked:
        ready = condition_of(Namespace.objects.get(pk=request.namespace_id).conditions, "Ready")
        assert (ready["status"], ready["reason"]) == ("False", "Unreachable")
    other = approved(cluster_row, live.name())
    namespace_reconcile(other.namespace_id)
    check_end(live, other)
    # As the watcher does it, when it sees the cluster again.
    again.set()
    proxied_row.lost_since = None
    proxied_row.save()
    for request in asked:
        namespace_reconcile(request.namespace_id)
        check_end(live, request)
