"""What somebody changed behind Berth's back is put right, whatever becomes of the nudge."""

from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from quotas.reconcile import namespace_reconcile, namespaces_due
from quotas.sightings import namespaces_seen, owned_seen, quotas_seen
from tests.functional.proxy import Fault

pytestmark = pytest.mark.cluster


def due(after=timedelta()):
    return namespaces_due(at=timezone.now() + after)


def bend(live, name):
    live.call(
        "patch", "ResourceQuota", "dev-quota", {"spec": {"hard": {"pods": "99"}}}, namespace=name
    )
    return live.get("ResourceQuota", "dev-quota", name)


def pods(live, name):
    return live.get("ResourceQuota", "dev-quota", name)["spec"]["hard"]["pods"]


def test_a_lost_nudge_costs_only_time(cluster_row, live, approved, valkey):
    request = approved(cluster_row, live.name())
    namespace_reconcile(request.namespace_id)
    limits = live.get("LimitRange", "dev-limits", request.name)
    namespace = live.get("Namespace", request.name)
    for seen in (
        lambda: quotas_seen(cluster_row, None, [bend(live, request.name)], []),
        lambda: owned_seen(cluster_row, None, [], [limits]),
        lambda: namespaces_seen(cluster_row, None, [], [namespace]),
    ):
        assert due() == []
        seen()
        valkey.flushdb()
        assert due() == [request.namespace_id]
        namespace_reconcile(request.namespace_id)
        assert due(after=timedelta(days=1)) == []
    assert pods(live, request.name) == "10"


def test_a_change_that_a_pass_has_missed_is_put_right_by_the_next(
    proxy, proxied_row, live, approved
):
    request = approved(proxied_row, live.name())
    namespace_reconcile(request.namespace_id)

    def meanwhile():
        try:
            quotas_seen(proxied_row, None, [bend(live, request.name)], [])
        finally:
            connections.close_all()
        return False

    # When the binding is written the pass is past the quota.
    proxy.faults.append(Fault(lambda m, p: p.endswith("-binding"), after=meanwhile))
    namespace_reconcile(request.namespace_id)
    assert pods(live, request.name) == "99"
    assert due() == [request.namespace_id]
    namespace_reconcile(request.namespace_id)
    assert pods(live, request.name) == "10"
    assert due(after=timedelta(days=1)) == []


def test_the_end_of_a_grant_is_not_forgotten_over_it(cluster_row, live, approved):
    ends_at = timezone.now() + timedelta(days=1)
    request = approved(cluster_row, live.name(), ends_at=ends_at)
    namespace_reconcile(request.namespace_id)
    quotas_seen(cluster_row, None, [bend(live, request.name)], [])
    namespace_reconcile(request.namespace_id)
    assert due() == []
    assert namespaces_due(at=ends_at) == [request.namespace_id]


def test_a_namespace_that_lost_its_label_is_labelled_again(cluster_row, live, approved):
    request = approved(cluster_row, live.name())
    namespace_reconcile(request.namespace_id)
    namespaces_seen(cluster_row, None, [live.get("Namespace", request.name)], [])
    assert due() == []
    bare = {"metadata": {"labels": {"berth.dev/namespace-id": None}}}
    live.call("patch", "Namespace", request.name, bare)
    namespaces_seen(cluster_row, None, [live.get("Namespace", request.name)], [])
    assert due() == [request.namespace_id]
    namespace_reconcile(request.namespace_id)
    labels = live.get("Namespace", request.name)["metadata"]["labels"]
    assert labels["berth.dev/namespace-id"] == str(request.namespace_id)
    assert due(after=timedelta(days=1)) == []


@pytest.mark.parametrize("seen", ["going", "gone"])
def test_a_name_that_somebody_else_gave_back_is_taken(seen, cluster_row, live, approved):
    name = live.name()
    plain = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    theirs = live.call("create", plain)
    request = approved(cluster_row, name)
    namespace_reconcile(request.namespace_id)
    assert due(after=timedelta(minutes=5)) == []
    if seen == "going":
        namespaces_seen(cluster_row, None, [], [theirs])
    else:
        namespaces_seen(cluster_row, [], [], [])
    assert due() == [request.namespace_id]


def test_past_its_end_a_quota_is_healed_too(cluster_row, live, approved):
    request = approved(cluster_row, live.name(), ends_at=timezone.now() + timedelta(days=1))
    request.grant.ends_at = timezone.now()
    request.grant.save()
    namespace_reconcile(request.namespace_id)
    quotas_seen(cluster_row, None, [live.get("ResourceQuota", "dev-quota", request.name)], [])
    assert due(after=timedelta(days=1)) == []
    quotas_seen(cluster_row, None, [bend(live, request.name)], [])
    assert due() == [request.namespace_id]
    namespace_reconcile(request.namespace_id)
    assert pods(live, request.name) == "0"
