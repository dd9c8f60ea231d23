"""Django's admin: open to platform admins, and every change by a service."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse

from tenants.models import Cluster, Team, Transition
from tests.caller import Caller
from tests.factories import (
    ClusterFactory,
    NamespaceFactory,
    TeamFactory,
    UserFactory,
    admin,
    approver,
    auditor,
    lead_of,
)

pytestmark = pytest.mark.django_db

PAGES = ["", "tenants/", "tenants/team/", "tenants/team/add/", "tenants/cluster/add/", "login/"]


def browser(user):
    return Caller(user).client


def team_form(*groups, initial=(), **fields):
    """What the team's page posts; `initial` are the groups' rows that it showed."""
    form = {
        **fields,
        "team_groups-TOTAL_FORMS": len(groups),
        "team_groups-INITIAL_FORMS": len(initial),
    }
    for number, group in enumerate(groups):
        for field, value in group.items():
            form[f"team_groups-{number}-{field}"] = value
    for number, row in enumerate(initial):
        form[f"team_groups-{number}-id"] = row.pk
        form[f"team_groups-{number}-team"] = row.team_id
    return form


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("person", [approver, auditor, UserFactory, lambda: lead_of(TeamFactory())])
def test_to_others_it_is_not_there(person, page):
    client = browser(person())
    assert client.get(f"/admin/{page}").status_code == 404
    assert client.post(f"/admin/{page}", {"name": "x"}).status_code == 404


@pytest.mark.parametrize("page", PAGES)
def test_without_a_sign_in_it_leads_to_the_portal_s(client, page):
    answer = client.get(f"/admin/{page}")
    if answer.status_code == 302 and "/admin/login" in answer.url:
        answer = client.get(answer.url)
    to = urlsplit(answer.url)
    assert to.path == reverse("oidc_authentication_init")
    assert parse_qs(to.query)["next"] == ["/admin/" + page.removesuffix("login/")]


def test_an_admin_who_was_switched_off(client):
    assert browser(admin(is_active=False)).get("/admin/").status_code == 302


@pytest.mark.parametrize("page", PAGES[:-1])
def test_admins_get_in(page):
    answer = browser(admin()).get(f"/admin/{page}", follow=True)
    assert answer.status_code == 200
    assert "password" not in answer.content.decode()


def test_signing_out_is_the_portal_s():
    client = browser(admin())
    assert client.post("/admin/logout/").url == client.post("/oidc/logout/").url
    assert client.get("/admin/").status_code == 302


@pytest.mark.parametrize("page", ["password_change/", "password_change/done/", "auth/group/"])
def test_nobody_has_a_password_or_a_group_of_django_s(page):
    assert browser(admin()).get(f"/admin/{page}").status_code == 404


def test_a_team_is_registered():
    actor = admin()
    answer = browser(actor).post(
        "/admin/tenants/team/add/",
        team_form(
            {"name": "équipe a", "role": "member"},
            {"name": "leads", "role": "lead"},
            {"name": "", "role": ""},
            slug="alpha",
            name="Alpha",
        ),
    )
    assert answer.status_code == 302, answer.content.decode()
    team = Team.objects.get()
    assert {(g.role, g.name) for g in team.team_groups.all()} == {
        ("member", "équipe a"),
        ("lead", "leads"),
    }
    line = Transition.objects.get()
    assert (line.action, line.actor, line.team) == ("register", actor, team)


def test_a_team_s_groups_change():
    namespace = NamespaceFactory()
    team = namespace.team
    lead, member = team.team_groups.all()
    assert (lead.role, member.role) == ("lead", "member")
    answer = browser(admin()).post(
        f"/admin/tenants/team/{team.pk}/change/",
        team_form(
            {"name": lead.name, "role": "lead", "DELETE": "on"},
            {"name": "renamed", "role": "member"},
            {"name": "added", "role": "lead"},
            initial=[lead, member],
            name="Alpha",
        ),
    )
    assert answer.status_code == 302, answer.content.decode()
    assert {(g.role, g.name) for g in team.team_groups.all()} == {
        ("member", "renamed"),
        ("lead", "added"),
    }
    namespace.refresh_from_db()
    assert namespace.generation == 2
    team.refresh_from_db()
    assert team.name == "Alpha"
    assert Transition.objects.count() == 1


@pytest.mark.parametrize(
    "name", ["system:masters", " system:masters", "a ", " a", "System:Masters"]
)
def test_reserved_groups_are_refused_beside_the_field(name):
    answer = browser(admin()).post(
        "/admin/tenants/team/add/",
        team_form({"name": name, "role": "member"}, slug="alpha", name="Alpha"),
    )
    assert answer.status_code == 200
    (errors,) = answer.context["inline_admin_formsets"][0].formset.errors
    assert set(errors) == {"name"}
    assert not Team.objects.exists()


def cluster_form(**changes):
    return {
        "slug": "dev",
        "name": "Dev",
        "kubeconfig": "/etc/berth/dev",
        "context": "",
        "group_prefix": "",
        "strict_certificates": "on",
        "enabled": "on",
        **changes,
    }


def test_a_cluster_is_registered():
    answer = browser(admin()).post("/admin/tenants/cluster/add/", cluster_form())
    assert answer.status_code == 302, answer.content.decode()
    cluster = Cluster.objects.get()
    assert (cluster.slug, cluster.enabled, cluster.strict_certificates) == ("dev", True, True)
    assert Transition.objects.get().action == "register"


def test_a_cluster_s_prefix_changes():
    namespace = NamespaceFactory()
    form = cluster_form(group_prefix="oidc:", kubeconfig=namespace.cluster.kubeconfig)
    answer = browser(admin()).post(f"/admin/tenants/cluster/{namespace.cluster_id}/change/", form)
    assert answer.status_code == 302, answer.content.decode()
    namespace.refresh_from_db()
    assert (namespace.cluster.group_prefix, namespace.generation) == ("oidc:", 2)
    assert namespace.cluster.slug != "dev"  # a short name stays
    assert namespace.cluster.allocatable is not None


@pytest.mark.parametrize("prefix", ["system:", " oidc:"])
def test_a_bad_prefix_is_refused_beside_the_field(prefix):
    cluster = ClusterFactory()
    answer = browser(admin()).post(
        f"/admin/tenants/cluster/{cluster.pk}/change/", cluster_form(group_prefix=prefix)
    )
    assert set(answer.context["adminform"].form.errors) == {"group_prefix"}
    cluster.refresh_from_db()
    assert cluster.group_prefix == ""


def test_nothing_is_deleted():
    team, cluster = TeamFactory(), ClusterFactory()
    client = browser(admin())
    for path in (f"team/{team.pk}", f"cluster/{cluster.pk}"):
        assert client.post(f"/admin/tenants/{path}/delete/", {"post": "yes"}).status_code == 403
    assert Team.objects.exists()
    assert Cluster.objects.exists()


def test_users_and_the_history_are_not_edited_here():
    client = browser(admin())
    for model in ("user", "transition", "namespace", "teamgroup"):
        assert client.get(f"/admin/tenants/{model}/").status_code == 404
