"""One tenant by Berth's steps, beside `kubectl apply --server-side` of the same objects.

Both end when the quota's status reports every key, since until then a quota limits nothing. Rounds
alternate on one fresh control plane; medians are told.
"""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from cluster import bridge
from cluster.client import Client, Connection
from cluster.steps import STEPS
from cluster.tenant import Tenant, desired_manifests
from dev.kubernetes import ControlPlane

HARD = {
    "requests.cpu": "20",
    "requests.memory": "100Gi",
    "limits.cpu": "40",
    "limits.memory": "200Gi",
    "requests.nvidia.com/gpu": "4",
    "pods": "10",
}
STEP_TIMEOUT_S = 30


def run(*, rounds: int) -> dict[str, Any]:
    """Milliseconds of each side, and how many times as long Berth takes."""
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder)) as control_plane:
        client = bridge.client_for(Connection(kubeconfig=str(control_plane.kubeconfig)))
        bridge.run(client.version(), timeout=STEP_TIMEOUT_S)
        berth, kubectl = [], []
        for number in range(rounds):
            berth.append(_by_berth(client, _tenant(f"berth-side-{number}")))
            kubectl.append(_by_kubectl(control_plane, _tenant(f"kubectl-side-{number}")))
        bridge.close()
    ours, theirs = statistics.median(berth), statistics.median(kubectl)
    return {
        "rounds": rounds,
        "objects": len(desired_manifests(_tenant("x"))),
        "berth_ms": round(ours * 1000, 1),
        "kubectl_apply_ms": round(theirs * 1000, 1),
        "ratio": round(ours / theirs, 3),
    }


def _tenant(name: str) -> Tenant:
    return Tenant(
        namespace=name,
        uid="",
        namespace_id=name,
        labels={"berth.dev/team": "alpha"},
        annotations={},
        hard=HARD,
        limit_default={"cpu": "2", "memory": "4Gi"},
        limit_default_request={"cpu": "500m", "memory": "1Gi"},
        groups=("data-science-alpha",),
    )


def _by_berth(client: Client, tenant: Tenant) -> float:
    started = time.perf_counter()
    for step in STEPS:
        tenant = bridge.run(step.run(client, tenant), timeout=STEP_TIMEOUT_S) or tenant
    return time.perf_counter() - started


def _by_kubectl(control_plane: ControlPlane, tenant: Tenant) -> float:
    manifests = yaml.safe_dump_all(desired_manifests(tenant))
    quota = f"/api/v1/namespaces/{tenant.namespace}/resourcequotas/dev-quota"
    started = time.perf_counter()
    control_plane.kubectl("apply", "--server-side", "-f", "-", stdin=manifests)
    while control_plane.api("GET", quota).get("status", {}).get("used", {}).keys() != HARD.keys():
        time.sleep(0.005)
    return time.perf_counter() - started
