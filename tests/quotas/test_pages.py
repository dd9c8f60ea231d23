"""Pages as people of each kind get them, without a browser."""

import time
from datetime import timedelta
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from quotas.models import QuotaRequest
from quotas.states import Status
from tests import factories as make

pytestmark = pytest.mark.django_db

FORM = {
    "name": "team-alpha",
    "reason": "Training.",
    **{f"amounts/{resource}": amount for resource, amount in make.AMOUNTS.items()},
    "limit_default/cpu": "1",
    "limit_default/memory": "1Gi",
    "limit_default_request/cpu": "500m",
    "limit_default_request/memory": "512Mi",
}


@pytest.fixture
def as_(client):
    """A client in which this person has just signed in."""

    def sign_in(user):
        client.force_login(user)
        session = client.session
        session["oidc_id_token_expiration"] = time.time() + 600
        session.save()
        return client

    return sign_in


@pytest.fixture
def team():
    return make.TeamFactory()


@pytest.fixture
def lead(team):
    return make.lead_of(team)


@pytest.fixture
def asked(team, lead):
    return make.QuotaRequestFactory(team=team, requester=lead)


def text(response):
    return unescape(response.content.decode())


def filled(team, cluster, **changes):
    return {**FORM, "team": team.slug, "cluster": cluster.slug, **changes}


def standing(team, cluster, name, **use):
    """A namespace that is granted and reported."""
    namespace = make.NamespaceFactory(team=team, cluster=cluster, name=name)
    make.GrantFactory(namespace=namespace)
    make.UsageFactory(cluster=cluster, namespace_name=name, **use)
    return namespace


# --- who sees what ------------------------------------------------------------------------------


def test_a_stranger_is_shown_what_this_is(client):
    page = text(client.get("/"))
    assert "Sign in" in page
    assert "site-nav" not in page


def test_home_asks_a_stale_session_to_sign_in_again(as_, lead):
    client = as_(lead)
    session = client.session
    session["oidc_id_token_expiration"] = time.time() - 1
    session.save()
    assert client.get("/").url.startswith(reverse("oidc_authentication_init"))
    assert client.get("/", headers={"HX-Request": "true"}).status_code == 401


PAGES = ["home", "requests", "reviews", "namespaces", "teams", "clusters", "history"]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("kind", ["lead", "approver", "auditor", "admin", "outsider", "unknown"])
def test_every_page_for_everybody(as_, team, lead, name, kind):
    standing(team, make.ClusterFactory(), "full")
    make.QuotaRequestFactory(team=team, requester=lead, name="waits")
    user = {
        "lead": lambda: lead,
        "approver": make.approver,
        "auditor": make.auditor,
        "admin": make.admin,
        "outsider": make.UserFactory,
        "unknown": lambda: make.UserFactory(groups=None),
    }[kind]()
    response = as_(user).get(reverse(name))
    assert response.status_code == 200
    assert "HX-Request" in response["Vary"]


@pytest.mark.parametrize("name", PAGES)
def test_every_page_when_there_is_nothing(as_, name):
    assert as_(make.approver()).get(reverse(name)).status_code == 200


@pytest.mark.parametrize("kind", ["approver", "auditor", "admin"])
def test_home_of_a_role_shows_what_waits(as_, asked, kind):
    assert asked.name in text(as_(getattr(make, kind)()).get("/"))


def test_reviews_tell_a_stranger_nothing_of_others(as_, asked):
    page = text(as_(make.UserFactory()).get("/reviews/"))
    assert "No request of your teams waits." in page
    assert "decided" not in page


def test_what_is_withheld_is_named_so_and_is_not_on_the_card(as_, team, lead):
    cluster = make.ClusterFactory()
    namespace = standing(team, cluster, "full")
    kept = {"requests.nvidia.com/mig-1g.10gb": "0"}
    guard = {"quota_name": "berth-guard", "spec_hard": kept, "hard": kept, "used": kept}
    make.UsageFactory(cluster=cluster, namespace_name="full", **guard)
    page = text(as_(lead).get(namespace.get_absolute_url()))
    assert "Not granted: berth-guard" in page
    assert "nvidia.com/mig-1g.10gb" in page
    assert "mig-1g.10gb" not in text(as_(lead).get("/"))


def test_what_belongs_to_others_is_not_there(as_, team, asked):
    namespace = standing(team, asked.cluster, "alpha")
    client = as_(make.lead_of(make.TeamFactory()))
    for url in (
        reverse("request", args=[asked.pk]),
        reverse("request_edit", args=[asked.pk]),
        namespace.get_absolute_url(),
        reverse("team", args=[team.slug]),
        reverse("request", args=[10**30]),
    ):
        assert client.get(url).status_code == 404, url
    for action in ("approve", "deny", "withdraw", "edit"):
        url = reverse(f"request_{action}", args=[asked.pk])
        assert client.post(url, {"version": 1}).status_code == 404, url
    assert asked.name not in text(client.get("/requests/"))
    assert "alpha" not in text(client.get("/namespaces/"))
    assert "alpha" not in text(client.get("/history/"))


# --- asking -------------------------------------------------------------------------------------


def test_ask_for_a_namespace(as_, team, lead):
    cluster = make.ClusterFactory()
    response = as_(lead).post("/requests/new/", filled(team, cluster))
    asked = QuotaRequest.objects.get()
    assert response.url == asked.get_absolute_url()
    assert asked.amounts == make.AMOUNTS
    assert asked.limit_default == make.LIMIT_DEFAULT
    assert asked.limit_default_request == make.LIMIT_DEFAULT_REQUEST
    assert (asked.team, asked.requester, asked.reason) == (team, lead, "Training.")


def test_the_form_begins_with_sensible_amounts_and_the_only_team(as_, team, lead):
    make.ClusterFactory(name="East")
    page = text(as_(lead).get("/requests/new/"))
    assert 'name="amounts/requests.nvidia.com/gpu" value="4"' in page
    assert "East has 32 in all" in page
    assert f'<option value="{team.slug}">' in page


def test_sending_the_same_form_twice_asks_once(as_, team, lead):
    cluster = make.ClusterFactory()
    form = filled(team, cluster, key="5a8c4a5e-6a4b-4f2e-9f0c-2f6f6d0b7c11")
    first = as_(lead).post("/requests/new/", form)
    again = as_(lead).post("/requests/new/", form)
    assert first.url == again.url
    other = as_(lead).post("/requests/new/", {**form, "name": "another"})
    assert other.status_code == 409
    assert QuotaRequest.objects.count() == 1
    assert form["key"] not in text(other)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("amounts/requests.nvidia.com/gpu", "1.5", "Only whole numbers: “1.5” is not one."),
        ("amounts/requests.nvidia.com/gpu", "33", "All nodes of this cluster together have 32."),
        ("amounts/requests.memory", "5 Gi", "“5 Gi” is not a quantity"),
        ("amounts/pods", "", "Give an amount; 0 allows none."),
        ("limit_default/cpu", "0", "A limit of zero would mean no limit."),
        ("limit_default_request/memory", "2Gi", "is above the limit"),
        ("name", "kube-system", "Names that begin with “kube-” are reserved."),
        ("name", "", "Give the namespace a name."),
        ("reason", " ", "Say what it is for."),
        ("ends_at", "2001-01-01T00:00", "This is in the past."),
        ("ends_at", "soon", "Enter a valid date/time."),
    ],
)
def test_what_is_wrong_stands_beside_its_field_and_nothing_is_lost(
    as_, team, lead, field, value, words
):
    cluster = make.ClusterFactory()
    sent = filled(team, cluster, **{"reason": "Kept <words>.", field: value})
    response = as_(lead).post("/requests/new/", sent)
    assert response.status_code == 400
    form = response.context["form"]
    assert any(words in error for error in form.errors[field])
    assert list(form.errors) == [field]
    page = text(response)
    assert words in page
    if field != "reason":
        assert "Kept <words>." in page
    assert f'value="{value}"' in page or field == "reason" or value == ""
    assert not QuotaRequest.objects.exists()


def test_only_leads_ask_and_only_for_their_team(as_, team):
    cluster = make.ClusterFactory()
    response = as_(make.member_of(team)).post("/requests/new/", filled(team, cluster))
    assert response.status_code == 403
    assert "Only a lead" in text(response)
    other = as_(make.lead_of(make.TeamFactory())).post("/requests/new/", filled(team, cluster))
    assert other.status_code == 400
    assert "team" in other.context["form"].errors
    assert not QuotaRequest.objects.exists()


def test_an_accelerator_that_only_another_cluster_has_is_left_out(as_, team, lead):
    mig = "nvidia.com/mig-1g.10gb"
    make.ClusterFactory(allocatable={**make.ALLOCATABLE, mig: "7"})
    plain = make.ClusterFactory()
    form = filled(team, plain, **{f"amounts/requests.{mig}": "0"})
    assert as_(lead).post("/requests/new/", form).status_code == 302
    assert QuotaRequest.objects.get().amounts == make.AMOUNTS
    more = {**form, "name": "b", f"amounts/requests.{mig}": "1"}
    refused = as_(lead).post("/requests/new/", more)
    assert f"No node of this cluster offers “{mig}”." in text(refused)


# --- changing and deciding ----------------------------------------------------------------------


def test_change_a_request(as_, team, lead, asked):
    url = reverse("request_edit", args=[asked.pk])
    assert f'value="{asked.name}"' in text(as_(lead).get(url))
    form = filled(team, asked.cluster, version=1, **{"amounts/pods": "7"})
    assert as_(lead).post(url, form).status_code == 302
    asked.refresh_from_db()
    assert (asked.version, asked.amounts["pods"]) == (2, "7")
    late = as_(lead).post(url, {**form, "amounts/pods": "9"})
    assert late.status_code == 409
    page = text(late)
    assert "has changed since it was shown to you" in page
    assert 'value="9"' in page
    assert 'name="version" value="2"' in page


def test_who_comes_too_late_to_change_sees_what_was_decided(as_, team, lead, asked):
    QuotaRequest.objects.update(status=Status.DENIED)
    url = reverse("request_edit", args=[asked.pk])
    response = as_(lead).post(url, filled(team, asked.cluster, version=1))
    assert response.status_code == 409
    assert "denied" in text(response)


def test_approve_what_was_shown(as_, asked):
    client = as_(make.approver())
    page = text(client.get(asked.get_absolute_url()))
    assert 'name="version" value="1"' in page
    url = reverse("request_approve", args=[asked.pk])
    assert client.post(url, {"version": 1, "comment": "Fine."}).url == asked.get_absolute_url()
    page = text(client.get(asked.get_absolute_url()))
    assert "Fine." in page
    assert "Namespace created" in page
    assert reverse("request_deny", args=[asked.pk]) not in page


@pytest.mark.parametrize("version", ["2", "", "x", "99999999999999999999"])
def test_a_decision_on_another_version_is_a_conflict(as_, asked, version):
    response = as_(make.approver()).post(
        reverse("request_approve", args=[asked.pk]), {"version": version}
    )
    assert response.status_code == 409
    assert "has changed since it was shown to you" in text(response)
    asked.refresh_from_db()
    assert asked.status == Status.SUBMITTED


def test_the_second_of_two_approvers_is_told(as_, asked):
    url = reverse("request_approve", args=[asked.pk])
    assert as_(make.approver()).post(url, {"version": 1}).status_code == 302
    second = as_(make.approver()).post(url, {"version": 1})
    assert second.status_code == 409
    assert "Below is how it stands now" in text(second)


def test_a_denial_needs_a_reason_and_keeps_the_page(as_, asked):
    response = as_(make.approver()).post(reverse("request_deny", args=[asked.pk]), {"version": 1})
    assert response.status_code == 400
    assert "Say why" in text(response)
    asked.refresh_from_db()
    assert asked.status == Status.SUBMITTED


@pytest.mark.parametrize("action", ["approve", "deny"])
def test_nobody_decides_on_their_own(as_, team, action):
    both = make.lead_of(team)
    both.groups = [*both.groups, "berth-approvers"]
    both.save()
    asked = make.QuotaRequestFactory(team=team, requester=both)
    client = as_(both)
    assert reverse(f"request_{action}", args=[asked.pk]) not in text(
        client.get(asked.get_absolute_url())
    )
    response = client.post(
        reverse(f"request_{action}", args=[asked.pk]), {"version": 1, "comment": "x"}
    )
    assert response.status_code == 403
    assert "Nobody decides on a request of their own." in text(response)


@pytest.mark.parametrize("action", ["approve", "deny", "withdraw", "edit"])
def test_who_only_looks_changes_nothing(as_, team, asked, action):
    for user in (make.member_of(team), make.auditor()):
        page = text(as_(user).get(asked.get_absolute_url()))
        url = reverse(f"request_{action}", args=[asked.pk])
        assert url not in page
        sent = filled(team, asked.cluster, version=1, comment="x")
        assert as_(user).post(url, sent).status_code == 403


@pytest.mark.parametrize("action", ["approve", "deny", "withdraw"])
def test_nothing_changes_by_get(as_, asked, action):
    client = as_(make.approver())
    assert client.get(reverse(f"request_{action}", args=[asked.pk])).status_code == 405


def test_withdraw(as_, lead, asked):
    url = reverse("request_withdraw", args=[asked.pk])
    assert as_(lead).post(url, {"version": 1}).status_code == 302
    asked.refresh_from_db()
    assert asked.status == Status.WITHDRAWN


def test_an_approver_with_a_page_open_is_told_that_it_is_old(as_, asked):
    client = as_(make.approver())
    shown = f"{asked.get_absolute_url()}?shown=submitted-1"
    same = text(client.get(shown, headers={"HX-Request": "true"}))
    assert "has changed" not in same
    QuotaRequest.objects.update(version=2)
    changed = text(client.get(shown, headers={"HX-Request": "true"}))
    assert "has changed since it was shown to you" in changed
    assert "<html" not in changed


# --- use ----------------------------------------------------------------------------------------


def use(as_, lead, namespace):
    return text(as_(lead).get(namespace.get_absolute_url()))


def test_more_than_the_limit_is_shown_as_such(as_, team, lead):
    gpu = "requests.nvidia.com/gpu"
    namespace = standing(
        team, make.ClusterFactory(), "over", hard={gpu: "4"}, spec_hard={gpu: "4"}, used={gpu: "6"}
    )
    page = use(as_, lead, namespace)
    assert "6 of 4" in page
    assert "150 %" in page
    assert 'class="meter-over" data-resource="requests.nvidia.com/gpu"' in page
    assert ">-2" not in page


def test_percent_of_zero_and_of_thousands(as_, team, lead):
    hard = {"pods": "5k", "requests.cpu": "0", "requests.memory": "0"}
    used = {"pods": "5", "requests.cpu": "0", "requests.memory": "1Gi"}
    namespace = standing(team, make.ClusterFactory(), "odd", hard=hard, spec_hard=hard, used=used)
    page = use(as_, lead, namespace)
    assert "5 of 5000" in page
    assert "0.1 %" in page
    assert "none allowed" in page
    assert "1 GiB of 0 B" in page
    assert "nan" not in page.lower().partition("<main")[2]


def test_what_the_cluster_has_not_said_is_not_zero(as_, team, lead):
    namespace = standing(team, make.ClusterFactory(), "mute", hard=None, used=None)
    page = use(as_, lead, namespace)
    assert "not reported; limit 4" in page
    assert "0 %" not in page


def test_figures_have_an_age(as_, team, lead):
    old = timezone.now() - timedelta(minutes=7)
    cluster = make.ClusterFactory(watched_at=old, lost_since=old, lost_message="no route")
    namespace = standing(team, cluster, "old", changed_at=old)
    page = use(as_, lead, namespace)
    assert "as of" in page
    assert "7\xa0minutes ago" in page
    assert "has not answered since" in page


def test_several_quotas_stay_apart_and_the_lowest_binds(as_, team, lead):
    cluster = make.ClusterFactory()
    namespace = standing(team, cluster, "two")
    for name, pods, scope in (("small", "3", ""), ("scoped", "1", "PriorityClass In high")):
        make.UsageFactory(
            cluster=cluster, namespace_name="two", quota_name=name, scope=scope,
            spec_hard={"pods": pods}, used={"pods": "1"},
        )  # fmt: skip
    page = use(as_, lead, namespace)
    assert "1 of 3" in page
    assert "Counts only: PriorityClass In high" in page
    tables = page.split("<table")
    [small] = [table for table in tables if "1 of 3" in table]
    [large] = [table for table in tables if "0 of 10" in table]
    assert "binds" in small.partition("<tbody>")[2].partition("</tr>")[0]
    pods = large.partition('data-resource="pods"')[2].partition("</tr>")[0]
    assert "binds" not in pods


def test_the_servers_own_words_are_shown(as_, team, lead):
    refused = {
        "type": "NamespaceCreated",
        "status": "False",
        "reason": "NameTaken",
        "message": "<b>It is there already.",
        "lastTransitionTime": timezone.now().isoformat(),
    }
    cluster = make.ClusterFactory()
    namespace = standing(team, cluster, "taken")
    namespace.conditions = [refused, {**refused, "type": "Ready"}]
    namespace.observed_generation = namespace.generation
    namespace.save()
    raw = as_(lead).get(namespace.get_absolute_url()).content.decode()
    assert "NameTaken" in raw
    assert "&lt;b&gt;It is there already." in raw
    assert "stopped" in raw


def test_an_unreachable_cluster_is_waiting(as_, team, lead):
    cluster = make.ClusterFactory(watched_at=None, allocatable=None)
    namespace = make.NamespaceFactory(team=team, cluster=cluster)
    make.GrantFactory(namespace=namespace)
    page = use(as_, lead, namespace)
    assert "waiting for the cluster" in page
    assert "has not been reached yet" in page


# --- parts, and how much is asked of the database ----------------------------------------------


def test_htmx_gets_the_live_part_alone(as_, team, lead):
    namespace = standing(team, make.ClusterFactory(), "alpha")
    response = as_(lead).get(namespace.get_absolute_url(), headers={"HX-Request": "true"})
    page = text(response)
    assert page.strip().startswith('<div id="live"')
    assert f"namespace:{namespace.pk} from:body" in page
    assert "<html" not in page


def test_the_page_follows_what_it_shows(as_, team, lead):
    namespace = standing(team, make.ClusterFactory(), "alpha")
    page = use(as_, lead, namespace)
    assert f"/stream/?topic=namespace%3A{namespace.pk}" in page


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("kind", ["lead", "approver"])
def test_queries_do_not_grow_with_what_there_is(as_, team, lead, name, kind):
    client = as_(lead if kind == "lead" else make.approver())
    cluster = make.ClusterFactory()

    def queries(count, start):
        for number in range(start, start + count):
            standing(team, cluster, f"n{number}")
            make.QuotaRequestFactory(team=team, cluster=cluster, requester=lead)
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert client.get(reverse(name)).status_code == 200
        return len(captured)

    few = queries(2, 0)
    assert queries(18, 2) == few


def test_the_second_page(as_, team, lead):
    cluster = make.ClusterFactory()
    for number in range(26):
        standing(team, cluster, f"n{number:02}")
    page = text(as_(lead).get("/namespaces/?page=2&team="))
    assert "n25" in page
    assert "n24" not in page
    assert 'href="?page=1"' in page


# --- what stands on every page ------------------------------------------------------------------


def test_a_demo_tells_how_far_its_cluster_has_been_built(as_, lead, settings, tmp_path):
    progress = tmp_path / "progress.json"
    progress.write_text('{"fraction": 0.42, "phrase": "Building kube-apiserver"}')
    settings.BERTH_PROGRESS_FILE = str(progress)
    page = text(as_(lead).get("/notices/", headers={"HX-Request": "true"}))
    assert "Building kube-apiserver" in page
    assert "42 %" in page
    assert "every 2s" in page


def test_languages(client):
    page = client.post("/language/", {"language": "zh-hans", "next": "/"}, follow=True)
    assert 'lang="zh-hans"' in text(page)


def test_no_script_and_no_handler_in_any_page(as_, team, lead, asked):
    namespace = standing(team, asked.cluster, "alpha")
    client = as_(make.approver())
    for url in ("/", asked.get_absolute_url(), namespace.get_absolute_url(), "/reviews/"):
        response = client.get(url)
        page = text(response)
        assert "hx-on" not in page
        assert " onclick" not in page
        assert page.count("<script") == page.count("<script src=")
        assert "unsafe-eval" not in response["Content-Security-Policy"]


def test_pages_of_failures(as_, lead, client):
    assert "Not here" in text(client.get("/nowhere/"))
    assert "Not here" in text(as_(lead).get("/nowhere/"))


def test_the_page_of_our_own_faults_needs_nothing(settings):
    from django.template.loader import render_to_string

    assert "Something broke" in render_to_string("500.html")
