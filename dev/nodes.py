"""Nodes that do not exist: what they offer is written in their status, kwok keeps them alive."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

A100 = "NVIDIA-A100-SXM4-80GB"


@dataclass(frozen=True)
class Node:
    """One node: amounts that it offers, labels, and whether only GPU pods should come to it."""

    name: str
    cpu: str
    memory: str
    devices: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    def manifest(self) -> dict[str, Any]:
        amounts = {"cpu": self.cpu, "memory": self.memory, "pods": "110", **self.devices}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": self.name,
                "annotations": {"kwok.x-k8s.io/node": "fake"},
                "labels": {
                    "kubernetes.io/hostname": self.name,
                    "kubernetes.io/os": "linux",
                    "kubernetes.io/arch": "amd64",
                    **self.labels,
                },
            },
            "status": {"capacity": amounts, "allocatable": amounts},
        }


# Four machines with eight GPUs, one whose GPUs are cut into slices, three without.
DEMO_NODES = (
    *(
        Node(
            f"gpu-{number}",
            cpu="96",
            memory="1Ti",
            devices={"nvidia.com/gpu": "8"},
            labels={"nvidia.com/gpu.product": A100},
        )
        for number in range(1, 5)
    ),
    Node(
        "mig-1",
        cpu="96",
        memory="1Ti",
        devices={"nvidia.com/mig-1g.10gb": "14", "nvidia.com/mig-3g.40gb": "4"},
        labels={"nvidia.com/gpu.product": A100, "nvidia.com/mig.strategy": "mixed"},
    ),
    *(Node(f"cpu-{number}", cpu="64", memory="512Gi") for number in range(1, 4)),
)
