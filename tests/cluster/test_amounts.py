"""What may be asked for, key by key."""

from decimal import Decimal

import pytest

from cluster.amounts import check_amounts, check_limit_range, is_extended
from tests.cluster.builders import SEED_AMOUNTS

OFFERED = {
    "cpu": Decimal(512),
    "memory": Decimal(4 * 2**40),
    "pods": Decimal(880),
    "nvidia.com/gpu": Decimal(32),
    "nvidia.com/mig-1g.5gb": Decimal(7),
}


def codes(
    amounts: dict[str, object], offered: dict[str, Decimal] | None = OFFERED
) -> dict[str, str]:
    problems = check_amounts(amounts, offered=offered)
    assert all(str(problem) for problem in problems.values())
    return {key: problem.code for key, problem in problems.items()}


@pytest.mark.parametrize("offered", [OFFERED, None])
def test_the_usual_six_are_fine(offered: dict[str, Decimal] | None) -> None:
    assert codes(dict(SEED_AMOUNTS), offered) == {}


@pytest.mark.parametrize("offered", [OFFERED, None])
@pytest.mark.parametrize(
    ("key", "text", "code"),
    [
        ("requests.cpu", "-20", "Negative"),
        ("pods", "-1", "Negative"),
        ("requests.nvidia.com/gpu", "-1", "Negative"),
        ("requests.memory", "512m", "TooLittleMemory"),
        ("limits.memory", "200", "TooLittleMemory"),
        ("requests.cpu", "512Mi", "BinarySuffix"),
        ("limits.cpu", "1Ki", "BinarySuffix"),
        ("pods", "1Ki", "BinarySuffix"),
        ("requests.nvidia.com/gpu", "2Ki", "BinarySuffix"),
        ("requests.nvidia.com/gpu", "1500m", "NotWhole"),
        ("requests.nvidia.com/gpu", "0.5", "NotWhole"),
        ("pods", "1.5", "NotWhole"),
        ("requests.cpu", "1K", "NotAQuantity"),
        ("requests.memory", "20gi", "NotAQuantity"),
        ("requests.memory", "NaN", "NotAQuantity"),
        ("requests.cpu", "", "NotAQuantity"),
        ("requests.cpu", "1\0", "NotAQuantity"),
        ("requests.cpu", True, "NotText"),
        ("requests.cpu", 4, "NotText"),
        ("requests.cpu", None, "NotText"),
        ("requests.memory", "2000E", "TooLarge"),
        ("limits.nvidia.com/gpu", "1", "NotEnforced"),
        ("nvidia.com/gpu", "1", "NotEnforced"),
        ("cc", "1", "UnknownResource"),
        ("cpu", "1", "UnknownResource"),
        ("cpus", "1", "UnknownResource"),
        ("requestsGpu", "1", "UnknownResource"),
        ("requests.gpu", "1", "UnknownResource"),
        ("requests.kubernetes.io/gpu", "1", "UnknownResource"),
        ("requests.node.kubernetes.io/gpu", "1", "UnknownResource"),
        ("requests.", "1", "UnknownResource"),
        ("", "1", "UnknownResource"),
        ("requests.nvidia.com/gpu\n", "1", "UnknownResource"),
        ("requests.nvidia.com/", "1", "UnknownResource"),
        ("requests.requests.cpu", "1", "UnknownResource"),
    ],
)
def test_refused(key: str, text: object, code: str, offered: dict[str, Decimal] | None) -> None:
    assert codes({key: text}, offered) == {key: code}


@pytest.mark.parametrize(
    ("key", "text", "code"),
    [
        ("requests.nvida.com/gpu", "1", "NotOffered"),
        ("requests.amd.com/gpu", "1", "NotOffered"),
        ("requests.nvidia.com/gpu", "33", "AboveCapacity"),
        ("requests.nvidia.com/mig-1g.5gb", "8", "AboveCapacity"),
        ("requests.cpu", "513", "AboveCapacity"),
        ("requests.memory", "5Ti", "AboveCapacity"),
        ("pods", "881", "AboveCapacity"),
        ("limits.cpu", "5121", "AboveCapacity"),
        ("limits.memory", "41Ti", "AboveCapacity"),
    ],
)
def test_refused_once_the_nodes_are_known(key: str, text: str, code: str) -> None:
    assert codes({key: text}) == {key: code}
    assert codes({key: text}, None) == {}


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("requests.nvidia.com/gpu", "2000m"),
        ("requests.nvidia.com/gpu", "0"),
        ("requests.nvidia.com/mig-1g.5gb", "7"),
        ("pods", "1e2"),
        ("pods", "-0"),
        ("requests.memory", "0"),
        ("requests.memory", "1Mi"),
        ("requests.memory", "1.2Gi"),
        ("requests.cpu", "100m"),
        ("limits.cpu", "5120"),
        ("limits.memory", "40Ti"),
    ],
)
def test_accepted(key: str, text: str) -> None:
    assert codes({key: text}) == {}


def test_requests_above_limits_by_number() -> None:
    amounts: dict[str, object] = {
        "requests.cpu": "1",
        "limits.cpu": "900m",
        "requests.memory": "1000Mi",
        "limits.memory": "1Gi",
    }
    assert codes(amounts) == {"requests.cpu": "AboveLimit"}


def test_one_problem_does_not_hide_another() -> None:
    amounts: dict[str, object] = {"requests.cpu": "x", "pods": "1.5", "limits.memory": "1Gi"}
    assert codes(amounts) == {"requests.cpu": "NotAQuantity", "pods": "NotWhole"}


@pytest.mark.parametrize(
    ("default", "request_", "expected"),
    [
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "500m", "memory": "512Mi"}, {}),
        ({"cpu": "1"}, {"cpu": "1000m"}, {}),
        ({}, {}, {}),
        ({}, {"cpu": "1"}, {}),
        ({"memory": "1000Mi"}, {"memory": "1Gi"}, {"limit_default_request/memory": "AboveLimit"}),
        ({"cpu": "900m"}, {"cpu": "1"}, {"limit_default_request/cpu": "AboveLimit"}),
        ({"cpu": "0"}, {}, {"limit_default/cpu": "ZeroLimit"}),
        ({"cpu": "-1"}, {}, {"limit_default/cpu": "Negative"}),
        ({"memory": "512m"}, {}, {"limit_default/memory": "TooLittleMemory"}),
        (
            {"gpu": "1"},
            {"pods": "1"},
            {
                "limit_default/gpu": "UnknownResource",
                "limit_default_request/pods": "UnknownResource",
            },
        ),
        (
            {"cpu": "1Gi"},
            {"cpu": 1},
            {
                "limit_default/cpu": "BinarySuffix",
                "limit_default_request/cpu": "NotText",
            },
        ),
    ],
)
def test_limit_range(
    default: dict[str, object], request_: dict[str, object], expected: dict[str, str]
) -> None:
    found = check_limit_range(default, request_)
    assert {path: problem.code for path, problem in found.items()} == expected


@pytest.mark.parametrize(
    ("resource", "extended"),
    [
        ("nvidia.com/gpu", True),
        ("nvidia.com/gpu.shared", True),
        ("nvidia.com/mig-1g.5gb", True),
        ("cpu", False),
        ("kubernetes.io/x", False),
        ("a.kubernetes.io/x", False),
        ("/x", False),
        ("a/b/c", False),
        ("NVIDIA.com/gpu", False),
    ],
)
def test_extended(resource: str, extended: bool) -> None:
    assert is_extended(resource) is extended
