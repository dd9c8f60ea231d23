"""What should stand for a grant, at a time."""

from datetime import UTC, datetime, timedelta

from cluster.tenant import desired_manifests
from quotas.desired import desired_tenant
from quotas.models import Grant, QuotaRequest
from tenants.models import Cluster, Namespace, Team

AT = datetime(2027, 5, 3, 12, tzinfo=UTC)


def tenant(*, ends_at=None, prefix="", groups=("data-science-alpha",), offered=()):
    namespace = Namespace(
        name="team-alpha", team=Team(slug="alpha"), cluster=Cluster(group_prefix=prefix)
    )
    grant = Grant(
        pk=7,
        request=QuotaRequest(pk=12),
        amounts={"pods": "10", "requests.cpu": "20"},
        limit_default={"cpu": "1"},
        limit_default_request={"cpu": "500m"},
        ends_at=ends_at,
    )
    return desired_tenant(namespace, grant, groups=groups, offered=offered, at=AT)


def test_exactly_the_granted_keys():
    assert tenant(ends_at=AT + timedelta(seconds=1)).hard == {"pods": "10", "requests.cpu": "20"}


def test_past_the_end_nothing_new_may_start():
    assert tenant(ends_at=AT).hard == {"pods": "0", "requests.cpu": "0"}


def test_group_prefix_is_applied_once():
    assert tenant(prefix="oidc:", groups=["ml"]).groups == ("oidc:ml",)
    assert tenant(prefix="oidc:", groups=["oidc:ml"]).groups == ("oidc:ml",)


def test_labels_tell_where_it_comes_from():
    [namespace, *_] = desired_manifests(tenant())
    labels = namespace["metadata"]["labels"]
    assert labels["berth.dev/team"] == "alpha"
    assert labels["berth.dev/request-id"] == "12"
    assert labels["berth.dev/grant-id"] == "7"


def test_accelerators_that_are_not_named_are_withheld():
    offered = ["cpu", "memory", "pods", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu"]
    assert tenant(offered=offered).withheld == ("requests.nvidia.com/gpu",)
