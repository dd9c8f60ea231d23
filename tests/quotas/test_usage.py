"""How reported use is shown: never a zero that nobody reported, never a sum of two limits."""

from decimal import Decimal

import pytest

from quotas.usage import label, level, usage_of
from tenants.models import Namespace
from tests.factories import NamespaceFactory, UsageFactory


@pytest.mark.parametrize(
    ("used", "hard", "expected"),
    [
        (None, "4", "unreported"),
        ("0", "0", "none"),
        ("1", "0", "over"),
        ("0", "4", "ok"),
        ("3.1", "4", "ok"),
        ("3.2", "4", "high"),
        ("4", "4", "full"),
        ("6", "4", "over"),
    ],
)
def test_level(used, hard, expected):
    assert level(None if used is None else Decimal(used), Decimal(hard)) == expected


def views(namespace):
    loaded = Namespace.objects.select_related("cluster").get(pk=namespace.pk)
    return usage_of([loaded])[namespace.pk]


def report(namespace, **columns):
    return UsageFactory(cluster=namespace.cluster, namespace_name=namespace.name, **columns)


@pytest.fixture
def namespace(db):
    return NamespaceFactory()


def test_nothing_reported_is_not_zero(namespace):
    report(namespace, spec_hard={"pods": "10"}, hard=None, used=None)
    [quota] = views(namespace)
    [row] = quota.rows
    assert not quota.reported
    assert (row.used, row.percent, row.level) == (None, None, "unreported")
    assert row.hard == 10


def test_a_key_that_the_status_lacks_is_not_reported(namespace):
    hard = {"pods": "10", "limits.nvidia.com/gpu": "1"}
    report(namespace, spec_hard=hard, hard={"pods": "10"}, used={"pods": "3"})
    levels = {row.resource: row.level for row in views(namespace)[0].rows}
    assert levels == {"limits.nvidia.com/gpu": "unreported", "pods": "ok"}


def test_over_hundred_percent_is_said_so(namespace):
    report(
        namespace, spec_hard={"requests.nvidia.com/gpu": "4"}, used={"requests.nvidia.com/gpu": "6"}
    )
    [row] = views(namespace)[0].rows
    assert (row.percent, row.level) == (150, "over")


def test_thousands_are_numbers(namespace):
    report(namespace, spec_hard={"pods": "5k"}, used={"pods": "5"})
    assert views(namespace)[0].rows[0].percent == pytest.approx(0.1)


def test_millibytes_are_shown_as_gibibytes(namespace):
    report(
        namespace,
        spec_hard={"requests.memory": "1288490188800m"},
        used={"requests.memory": "0"},
    )
    assert views(namespace)[0].rows[0].hard_text == "1.2 GiB"


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_of_several_quotas_the_lowest_binds_in_any_order(namespace, names):
    wide, narrow = names
    report(namespace, quota_name=wide, spec_hard={"pods": "10"}, used={"pods": "1"})
    report(namespace, quota_name=narrow, spec_hard={"pods": "3"}, used={"pods": "1"})
    report(
        namespace,
        quota_name="scoped",
        scope="PriorityClass In high",
        spec_hard={"pods": "1"},
        used={"pods": "0"},
    )
    binding = {quota.name: quota.rows[0].binding for quota in views(namespace)}
    assert binding == {wide: False, narrow: True, "scoped": False}


def test_a_namesake_on_another_cluster_is_another(namespace):
    UsageFactory(namespace_name=namespace.name)
    assert views(namespace) == []


def test_one_query_however_many(namespace, django_assert_num_queries):
    many = [NamespaceFactory() for _ in range(5)]
    for one in many:
        report(one)
    loaded = list(Namespace.objects.select_related("cluster"))
    with django_assert_num_queries(1):
        usage_of(loaded)


def test_what_the_cluster_has_not_taken_up_does_not_bind(namespace):
    report(namespace, quota_name="live", spec_hard={"pods": "4"}, used={"pods": "6"})
    report(namespace, quota_name="new", spec_hard={"pods": "3"}, hard=None, used=None)
    binding = {quota.name: quota.rows[0].binding for quota in views(namespace)}
    assert binding == {"live": True, "new": False}


@pytest.mark.parametrize(
    ("resource", "short"),
    [
        ("requests.nvidia.com/gpu", "GPUs"),
        ("requests.nvidia.com/mig-1g.10gb", "MIG 1g.10gb"),
        ("requests.amd.com/gpu", "amd.com/gpu"),
        ("services", "services"),
    ],
)
def test_label(resource, short):
    assert label(resource) == short
