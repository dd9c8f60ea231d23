"""Who is bound in the real cluster follows the team's groups, also when they go."""

import pytest

from quotas.reconcile import namespace_reconcile
from tenants.models import Namespace, TeamGroup
from tenants.services import team_save
from tenants.states import condition_of, is_true
from tests.factories import TeamFactory

pytestmark = pytest.mark.cluster


@pytest.fixture
def standing(cluster_row, live, approved):
    """A namespace that is ready, and its team with one group of members."""
    team = TeamFactory(slug="alpha")
    request = approved(cluster_row, live.name(), team=team)
    namespace_reconcile(request.namespace_id)
    return Namespace.objects.get(pk=request.namespace_id)


def bound(live, name):
    return live.get("RoleBinding", f"{name}-binding", name).get("subjects") or []


def regroup(namespace, *members):
    lead = (TeamGroup.Role.LEAD, "alpha-leads")
    groups = [lead, *((TeamGroup.Role.MEMBER, name) for name in members)]
    team_save(actor=None, team=namespace.team, groups=groups)
    namespace_reconcile(namespace.pk)
    return Namespace.objects.get(pk=namespace.pk)


def test_a_group_that_changes_is_bound_instead(standing, live):
    regroup(standing, "newcomers")
    assert [subject["name"] for subject in bound(live, standing.name)] == ["newcomers"]


def test_with_its_last_group_a_team_loses_its_access(standing, live):
    assert bound(live, standing.name)
    after = regroup(standing)
    assert bound(live, standing.name) == []
    assert is_true(after.conditions, "Ready")
    assert after.observed_generation == after.generation


def test_a_name_that_is_reserved_later_keeps_being_looked_after(standing, live, settings):
    settings.BERTH_RESERVED_NAMES = [standing.name]
    live.call("delete", "ResourceQuota", "dev-quota", namespace=standing.name)
    namespace_reconcile(standing.pk)
    assert live.get("ResourceQuota", "dev-quota", standing.name)


def test_a_name_that_is_reserved_in_time_is_not_made(cluster_row, live, approved, settings):
    request = approved(cluster_row, live.name())
    settings.BERTH_RESERVED_NAMES = [request.name]
    namespace_reconcile(request.namespace_id)
    namespace = Namespace.objects.get(pk=request.namespace_id)
    ready = condition_of(namespace.conditions, "Ready")
    assert ready["reason"] == "Refused"
    assert "reserved" in ready["message"]
    assert live.find("Namespace", request.name) is None
