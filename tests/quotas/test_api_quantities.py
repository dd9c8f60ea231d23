"""Amounts at the edge: what is taken, what is refused and by which name. Never a 500."""

import pytest

from cluster.quantities import same
from quotas.models import QuotaRequest
from tests.caller import Caller, errors
from tests.factories import (
    ALLOCATABLE,
    ROOM,
    ClusterFactory,
    QuotaRequestFactory,
    TeamFactory,
    lead_of,
)
from tests.quotas.actions import body

pytestmark = pytest.mark.django_db

CPU, MEMORY, GPU = "requests.cpu", "requests.memory", "requests.nvidia.com/gpu"


@pytest.fixture
def caller():
    ClusterFactory(slug="dev")
    return Caller(lead_of(TeamFactory(slug="alpha")))


def asked(caller, **amounts):
    return caller.post("requests/", body(amounts={**ROOM, **amounts}))


def refused(caller, key, value):
    """Refused on create and on edit alike, by the amount's own name."""
    stands = QuotaRequestFactory(team__slug="lead-elsewhere")
    editor = Caller(lead_of(stands.team))
    path = f"requests/{stands.pk}/"
    for answer in (
        asked(caller, **{key: value}),
        editor.patch(path, {"version": 1, "amounts": {**ROOM, key: value}}),
    ):
        assert set(errors(answer)) == {f"amounts/{key}"}
    assert QuotaRequest.objects.get().version == 1
    return errors(answer)[f"amounts/{key}"]


@pytest.mark.parametrize(
    ("text", "alike"),
    [
        ("1.2Gi", "1288490188800m"),
        ("1024Mi", "1Gi"),
        (".5Gi", "512Mi"),
        ("1.5Gi", "1610612736"),
        ("129e6", "129M"),
        ("2e9", "2G"),
        ("2E9", "2000M"),
    ],
)
def test_the_same_memory_in_other_writing(caller, text, alike):
    """Fractional binary size comes back as millibytes; exponent form."""
    answer = asked(caller, **{MEMORY: text})
    assert answer.status_code == 201, answer.content
    assert same(answer.json()["amounts"][MEMORY], alike)


@pytest.mark.parametrize(("text", "alike"), [("1000m", "1"), ("100E-2", "1"), ("1e2", "100")])
def test_the_same_cpu_in_other_writing(caller, text, alike):
    answer = asked(caller, **{CPU: text})
    assert answer.status_code == 201, answer.content
    assert same(answer.json()["amounts"][CPU], alike)


@pytest.mark.parametrize("number", [0, 4])
def test_a_whole_json_number_stands_for_itself(caller, number):
    answer = asked(caller, pods=number)
    assert answer.status_code == 201, answer.content
    assert answer.json()["amounts"]["pods"] == str(number)


@pytest.mark.parametrize("key", [CPU, MEMORY, GPU, "pods", "limits.cpu", "limits.memory"])
@pytest.mark.parametrize("text", ["2000E", "1000E", "8Ei", "16Ei", "1000P", "1E", "9" * 400])
def test_huge_value_corrupted_by_the_server(caller, key, text):
    refused(caller, key, text)


@pytest.mark.parametrize("number", [10**30, 2**63, -1, 10**4000])
def test_big_and_negative_json_numbers(caller, number):
    refused(caller, "pods", number)


@pytest.mark.parametrize(
    "text",
    [
        "1K",
        "1ki",
        "1mi",
        "1_000",
        "5 Gi",
        " 5Gi",
        "5Gi ",
        "5Gi\n",
        "٥Gi",
        "５Gi",
        "1e3Ki",
        "NaN",
        "nan",
        "Infinity",
        "-Infinity",
        "1GiB",
        "1GB",
        "",
        "Gi",
        "k",
        "E",
        "-",
        ".",
        "+",
        "1e",
        "1e+",
        "0x10",
        "1,5",
        "1e999999999",
        "1e-999999999",
        "1" * 100_000,
    ],
    ids=lambda text: repr(text[:20]),
)
def test_python_parser_accepts_what_the_api_server_refuses(caller, text):
    refused(caller, MEMORY, text)


@pytest.mark.parametrize("value", [True, False, 0.1, 4.0, 1e300, None, [], ["4"], {}, {"a": "4"}])
def test_what_is_no_text_is_refused(caller, value):
    field = next(iter(errors(asked(caller, **{CPU: value}))))
    assert field.split("/")[:2] == ["amounts", CPU]
    assert not QuotaRequest.objects.exists()


@pytest.mark.parametrize(
    ("key", "text"), [(CPU, "-20"), ("pods", "-1"), (GPU, "-1"), (MEMORY, "-1Gi")]
)
def test_negative_or_minus_one_as_unlimited(caller, key, text):
    refused(caller, key, text)


@pytest.mark.parametrize(
    ("key", "text"), [(MEMORY, "512m"), (CPU, "512Mi"), (MEMORY, "1Ki"), (CPU, "1M")]
)
def test_m_M_Mi_mix_up(caller, key, text):  # noqa: N802
    refused(caller, key, text)


@pytest.mark.parametrize("text", ["1500m", "0.5", "2Ki", "1.5"])
def test_half_a_gpu(caller, text):
    refused(caller, GPU, text)


def test_two_thousand_milli_gpus_are_two(caller):
    answer = asked(caller, **{GPU: "2000m"})
    assert answer.status_code == 201
    assert same(answer.json()["amounts"][GPU], "2")


@pytest.mark.parametrize(
    "key",
    [
        "limits.nvidia.com/gpu",
        "nvidia.com/gpu",
        "requests.nvida.com/gpu",
        "requests.nvidia.com/GPU",
        "cc",
        "requestsGpu",
        "cpus",
        "count/pods",
        "requests.cpu ",
        "requests.",
        "/",
        "x" * 5000,
    ],
    ids=lambda key: key[:30],
)
def test_wrong_gpu_key_is_accepted_and_silently_unenforced(caller, key):
    assert set(errors(asked(caller, **{key: "4"}))) == {f"amounts/{key}"}


def test_a_key_without_a_name(caller):
    assert errors(asked(caller, **{"": "4"}))


@pytest.mark.parametrize(
    ("default", "request_", "path"),
    [
        ({"cpu": "1"}, {"cpu": "2"}, "limit_default_request/cpu"),
        ({"memory": "1Gi"}, {"memory": "1025Mi"}, "limit_default_request/memory"),
        ({"cpu": "0"}, {"cpu": "0"}, "limit_default/cpu"),
        ({"nvidia.com/gpu": "1"}, {}, "limit_default/nvidia.com/gpu"),
        ({}, {"memory": "20gi"}, "limit_default_request/memory"),
        ({}, {"cpu": "-1"}, "limit_default_request/cpu"),
    ],
)
def test_contradictory_limit_range(caller, default, request_, path):
    limits = {"cpu": "4", "memory": "16Gi", **default}
    answer = caller.post("requests/", body(limit_default=limits, limit_default_request=request_))
    assert set(errors(answer)) == {path}


@pytest.mark.parametrize(
    ("default", "request_"),
    [({"cpu": "1"}, {"cpu": "900m"}), ({"memory": "1Gi"}, {"memory": "1000Mi"})],
)
def test_limits_are_compared_by_number(caller, default, request_):
    limits = {"cpu": "4", "memory": "16Gi", **default}
    answer = caller.post("requests/", body(limit_default=limits, limit_default_request=request_))
    assert answer.status_code == 201, answer.content


def test_up_to_what_the_cluster_offers(caller):
    most = {CPU: ALLOCATABLE["cpu"], MEMORY: ALLOCATABLE["memory"], GPU: "32"}
    assert asked(caller, **most).status_code == 201
    told = errors(caller.post("requests/", body(name="other", amounts={**ROOM, GPU: "33"})))
    assert set(told) == {f"amounts/{GPU}"}


@pytest.mark.parametrize(
    "name",
    [
        "kube-system",
        "default",
        "kube-foo",
        "openshift-x",
        "Team",
        "-a",
        "a-",
        "a.b",
        "a" * 64,
        " a",
        "",
    ],
)
def test_reserved_or_foreign_namespace(caller, name):
    assert set(errors(caller.post("requests/", body(name=name)))) == {"name"}


@pytest.mark.parametrize("missing", ["cpu", "memory"])
def test_quota_on_cpu_and_memory_and_no_limit_range(caller, missing):
    limits = {"cpu": "1", "memory": "1Gi"}
    del limits[missing]
    answer = caller.post("requests/", body(limit_default=limits, limit_default_request={}))
    assert set(errors(answer)) == {f"limit_default/{missing}"}
