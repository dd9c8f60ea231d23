"""What others have made in a namespace of Berth's: it is told or left alone, never taken over."""

import pytest

from quotas.reconcile import namespace_reconcile
from tenants.models import Namespace
from tenants.states import condition_of, is_true

pytestmark = pytest.mark.cluster


def quota(namespace, name, **spec):
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"hard": {"pods": "3"}, **spec},
    }


@pytest.fixture
def standing(cluster_row, live, approved):
    """A namespace that is ready."""
    request = approved(cluster_row, live.name())
    namespace_reconcile(request.namespace_id)
    return Namespace.objects.get(pk=request.namespace_id)


def test_a_quota_of_our_name_with_scopes_is_told_in_clear_words(standing, live):
    """`spec.scopes` is immutable, so no apply can make it ours."""
    live.call("delete", "ResourceQuota", "dev-quota", namespace=standing.name)
    live.call("create", quota(standing.name, "dev-quota", scopes=["NotTerminating"]))
    namespace_reconcile(standing.pk)
    namespace = Namespace.objects.get(pk=standing.pk)
    found = condition_of(namespace.conditions, "QuotaApplied")
    assert (found["status"], found["reason"]) == ("False", "Invalid")
    assert "for the scopes NotTerminating only" in found["message"]
    # Whoever runs the cluster takes it away, and the next look converges.
    live.call("delete", "ResourceQuota", "dev-quota", namespace=standing.name)
    namespace_reconcile(standing.pk)
    assert is_true(Namespace.objects.get(pk=standing.pk).conditions, "Ready")


def test_quotas_of_other_names_are_left_alone(standing, live):
    live.call("create", quota(standing.name, "theirs"))
    before = live.get("ResourceQuota", "theirs", standing.name)["spec"]
    namespace_reconcile(standing.pk)
    assert live.get("ResourceQuota", "theirs", standing.name)["spec"] == before
    assert is_true(Namespace.objects.get(pk=standing.pk).conditions, "Ready")
