"""Work in the demo's namespaces, so that its pages live: pods come, run, wait and go.

`python -m dev.activity FOLDER` works on the control plane that keeps its state there, until ended.
"""

import http.client
import random
import sys
import time
from pathlib import Path
from typing import Any

from dev.kubernetes import ApiError, ControlPlane

LABEL = "berth.dev/demo"
PAUSE_S = (1.0, 3.0)
# What each namespace's pods ask for: GPUs, CPU, memory, and how often there is one of these.
WORK = {
    "team-alpha": [("finetune", 1, "4", "16Gi", 5), ("notebook", 0, "1", "4Gi", 3)],
    "team-beta": [("transcribe", 1, "2", "12Gi", 4), ("prepare", 0, "2", "8Gi", 4)],
    "prod": [("serve", 1, "4", "32Gi", 6), ("nightly", 2, "8", "64Gi", 2)],
}
# So many of ten pods ask for a kind of node that is not here, and wait.
WAITING_OF_TEN = 2


def work(cluster: ControlPlane) -> None:
    """Adds or removes a pod now and then, whatever the state it meets."""
    while True:
        for namespace in WORK:
            try:
                _turn(cluster, namespace)
            # A quota that is full or a namespace that is not there yet: part of the picture.
            except (ApiError, OSError, http.client.HTTPException) as error:
                print(f"{namespace}: {error}", flush=True)
        time.sleep(random.uniform(*PAUSE_S))


def _turn(cluster: ControlPlane, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/pods"
    pods = cluster.api("GET", f"{path}?labelSelector={LABEL}")["items"]
    # Around six pods on average: the fuller it is, the likelier one goes.
    if random.random() < len(pods) / 12:
        gone = random.choice(pods)["metadata"]["name"]
        cluster.api("DELETE", f"{path}/{gone}?gracePeriodSeconds=0")
    else:
        cluster.api("POST", path, _pod(namespace))


def _pod(namespace: str) -> dict[str, Any]:
    kinds = WORK[namespace]
    name, gpus, cpu, memory, _ = random.choices(kinds, weights=[kind[-1] for kind in kinds])[0]
    amounts = {"cpu": cpu, "memory": memory}
    if gpus:
        amounts["nvidia.com/gpu"] = str(gpus)
    spec: dict[str, Any] = {
        "containers": [
            {
                "name": "main",
                "image": f"registry.example.org/{name}:1",
                "resources": {"requests": amounts, "limits": amounts},
            }
        ]
    }
    if random.randrange(10) < WAITING_OF_TEN:
        spec["nodeSelector"] = {"nvidia.com/gpu.product": "NVIDIA-H200"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": f"{name}-", "labels": {LABEL: "activity"}},
        "spec": spec,
    }


if __name__ == "__main__":
    work(ControlPlane(Path(sys.argv[1])))
