"""Registering teams and clusters: what is kept, what follows, who is told."""

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils import timezone

from tenants.models import Cluster, Team, TeamGroup, Transition
from tenants.services import cluster_save, namespaces_touch, team_save
from tests.factories import ClusterFactory, NamespaceFactory, TeamFactory, admin

pytestmark = pytest.mark.django_db

LEAD, MEMBER = TeamGroup.Role.LEAD, TeamGroup.Role.MEMBER
RESERVED = [
    "system:masters",
    " system:masters",
    "System:Masters",
    "system:authenticated",
    "system:unauthenticated",
    "system:serviceaccounts",
    "ｓystem:masters",
]


def groups(team):
    return {(group.role, group.name) for group in team.team_groups.all()}


def test_a_new_team():
    actor = admin()
    team = Team(slug="alpha", name="Alpha")
    team_save(actor=actor, team=team, groups=[(LEAD, "a-leads"), (MEMBER, "a")])
    assert groups(Team.objects.get()) == {("lead", "a-leads"), ("member", "a")}
    line = Transition.objects.get()
    assert (line.subject_type, line.subject_id, line.action) == ("team", str(team.pk), "register")
    assert (line.actor, line.team) == (actor, team)
    assert line.data["changed"]["groups"] == [[], [["lead", "a-leads"], ["member", "a"]]]


def test_new_groups_touch_the_team_s_living_namespaces():
    namespace = NamespaceFactory(reconcile_at=timezone.now(), failures=3)
    gone = NamespaceFactory(team=namespace.team, released_at=timezone.now())
    other = NamespaceFactory()
    team = namespace.team
    team_save(actor=admin(), team=team, groups=[(MEMBER, "new"), (LEAD, f"{team.slug}-leads")])
    for row in (namespace, gone, other):
        row.refresh_from_db()
    assert (namespace.generation, namespace.reconcile_at, namespace.failures) == (2, None, 0)
    assert (gone.generation, other.generation) == (1, 1)
    assert groups(team) == {("member", "new"), ("lead", f"{team.slug}-leads")}
    assert Transition.objects.get().data["changed"]["groups"][1] == [
        ["lead", f"{team.slug}-leads"],
        ["member", "new"],
    ]


def test_what_changes_nothing_leaves_nothing():
    team, cluster = NamespaceFactory().team, Cluster.objects.get()
    team_save(actor=admin(), team=team, groups=groups(team))
    cluster_save(actor=admin(), cluster=cluster)
    assert not Transition.objects.exists()
    assert team.namespaces.get().generation == 1


def test_a_new_name_touches_no_namespace():
    namespace = NamespaceFactory()
    namespace.team.name = namespace.cluster.name = "New"
    team_save(actor=admin(), team=namespace.team, groups=groups(namespace.team))
    cluster_save(actor=admin(), cluster=namespace.cluster)
    namespace.refresh_from_db()
    assert namespace.generation == 1
    assert (namespace.team.name, namespace.cluster.name) == ("New", "New")
    assert Transition.objects.count() == 2


@pytest.mark.parametrize("name", [*RESERVED, "", " a", "a ", "a\n", "a\x00b"])
def test_reserved_groups(name):
    team = TeamFactory()
    was = groups(team)
    with pytest.raises(ValidationError):
        team_save(actor=admin(), team=team, groups=[(MEMBER, name)])
    assert groups(team) == was
    assert not Transition.objects.exists()


@pytest.mark.parametrize(
    "name", ["ML-Team", "e\u0301quipe", "équipe", "а", "team@x", "a b", "oidc:a", "/a/b"]
)
def test_case_and_unicode(name):
    """RBAC is exact: kept byte for byte."""
    team = team_save(actor=None, team=Team(slug="t", name="T"), groups=[(MEMBER, name)])
    assert team.team_groups.get().name == name


def test_look_alikes_are_different():
    names = ["équipe", "e\u0301quipe", "Équipe"]
    team = team_save(actor=None, team=Team(slug="t", name="T"), groups=[(MEMBER, n) for n in names])
    assert team.team_groups.count() == 3


@pytest.mark.parametrize(
    ("field", "value", "touched"),
    [
        ("group_prefix", "oidc:", True),
        ("kubeconfig", "/elsewhere", True),
        ("context", "other", True),
        ("strict_certificates", False, True),
        ("enabled", False, True),
        ("name", "Other", False),
    ],
)
def test_a_changed_cluster_touches_its_namespaces(field, value, touched):
    namespace = NamespaceFactory()
    other = NamespaceFactory()
    cluster = namespace.cluster
    before = getattr(cluster, field)
    setattr(cluster, field, value)
    actor = admin()
    cluster_save(actor=actor, cluster=cluster)
    namespace.refresh_from_db()
    other.refresh_from_db()
    assert namespace.generation == 1 + touched
    assert other.generation == 1
    line = Transition.objects.get()
    assert (line.subject_type, line.action, line.actor) == ("cluster", "change", actor)
    assert line.data["changed"] == {field: [before, value]}


def test_saving_a_cluster_keeps_what_the_watcher_wrote():
    cluster = ClusterFactory(allocatable=None, watched_at=None)
    stale = Cluster.objects.get()
    Cluster.objects.update(allocatable={"cpu": "1"}, watched_at=timezone.now())
    stale.name = "New"
    cluster_save(actor=None, cluster=stale)
    cluster.refresh_from_db()
    assert (cluster.name, cluster.allocatable) == ("New", {"cpu": "1"})
    assert cluster.watched_at is not None


@pytest.mark.parametrize("prefix", ["system:", " ", "System:", "a\n", " oidc:"])
def test_a_prefix_that_makes_every_group_kubernetes_own(prefix):
    cluster = ClusterFactory.build(group_prefix=prefix)
    with pytest.raises(ValidationError):
        cluster_save(actor=None, cluster=cluster)
    assert not Cluster.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_all_touched_namespaces_are_nudged_after_commit(valkey):
    cluster = ClusterFactory()
    NamespaceFactory.create_batch(3, cluster=cluster)
    namespaces_touch(cluster.namespaces.all())
    assert valkey.llen(f"{settings.REDIS_PREFIX}celery") == 3
