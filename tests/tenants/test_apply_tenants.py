"""Clusters and teams from a file: repeatable, whole or not at all."""

import pytest
from django.core.management import CommandError, call_command

from tenants.models import Cluster, Team, Transition

FILE = """
clusters:
- {slug: main, name: Main, kubeconfig: /etc/berth/main, group_prefix: "oidc:"}
teams:
- {slug: alpha, name: Alpha, leads: [alpha-leads], members: [alpha]}
"""


@pytest.fixture
def apply(tmp_path, db):
    def run(text):
        file = tmp_path / "tenants.yaml"
        file.write_text(text)
        call_command("apply_tenants", file)

    return run


def groups():
    return set(Team.objects.get(slug="alpha").team_groups.values_list("role", "name"))


def test_makes_what_the_file_says_once(apply):
    apply(FILE)
    apply(FILE)
    cluster = Cluster.objects.get()
    assert (cluster.slug, cluster.kubeconfig, cluster.group_prefix) == (
        "main",
        "/etc/berth/main",
        "oidc:",
    )
    assert groups() == {("lead", "alpha-leads"), ("member", "alpha")}
    assert Transition.objects.count() == 2


def test_changes_what_is_there(apply):
    apply(FILE)
    apply("teams: [{slug: alpha, leads: [bosses], members: [alpha]}]")
    assert groups() == {("lead", "bosses"), ("member", "alpha")}
    assert Team.objects.get().name == "Alpha"


@pytest.mark.parametrize(
    "text",
    [
        "teams: [{slug: alpha, members: ['system:masters']}]",
        "teams: [{slug: alpha, member: [alpha]}]",
        "teams: [{name: alpha}]",
        "people: []",
        "[1]",
        "teams: {",
    ],
)
def test_refuses_and_writes_nothing(apply, text):
    with pytest.raises(CommandError):
        apply("clusters: [{slug: main}]\n" + text if text.startswith("teams: [") else text)
    assert not Cluster.objects.exists()
    assert not Team.objects.exists()
