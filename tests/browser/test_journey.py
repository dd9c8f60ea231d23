"""People at work in a real browser. The cluster's part is played by the test: it writes what the
reconciler and the watcher would have written, and publishes it as they do."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from cluster.steps import STEPS
from quotas.models import QuotaRequest, Usage
from tenants.models import Namespace
from tenants.publish import publish
from tenants.states import with_condition
from tests import factories as make


@pytest.fixture
def team(transactional_db):
    return make.TeamFactory(slug="alpha", name="Alpha")


@pytest.fixture
def cluster(transactional_db):
    return make.ClusterFactory(slug="east", name="East")


def listening(page):
    """A block after which the page that it opens hears of what is published."""
    return page.expect_response(lambda response: "/stream/" in response.url)


def reach(namespace, *types, **condition):
    """Let the cluster have come so far, and tell the pages."""
    now = timezone.now()
    for type in types:
        namespace.conditions = with_condition(
            namespace.conditions, type=type, generation=1, at=now, **condition
        )
    if "Ready" in types and condition["status"] == "True":
        namespace.observed_generation = namespace.generation
    namespace.save()
    publish([f"namespace:{namespace.pk}", f"team:{namespace.team_id}"])


def ask(page):
    """Fill in the form, with one slip at first."""
    page.goto("/")
    page.get_by_role("link", name="New request").first.click()
    page.get_by_label("Name of the namespace").fill("team-alpha")
    page.get_by_label("What is it for?").fill("Training <models>.")
    page.get_by_label("GPUs").fill("1.5")
    page.get_by_role("button", name="Send the request").click()


def test_from_a_wish_to_a_dashboard(open_as, accessible, team, cluster):
    lead, approver = open_as(make.lead_of(team)), open_as(make.approver())
    ask(lead)
    gpus = lead.get_by_label("GPUs")
    expect(gpus).to_have_accessible_description(re.compile("Only whole numbers"))
    expect(gpus).to_have_value("1.5")
    expect(lead.get_by_label("What is it for?")).to_have_value("Training <models>.")
    accessible(lead)
    gpus.fill("4")
    with listening(lead):
        lead.get_by_role("button", name="Send the request").click()
    expect(lead.locator("#live")).to_contain_text("waiting for approval")
    accessible(lead)

    approver.goto("/reviews/")
    accessible(approver)
    approver.get_by_role("link", name="Decide").click()
    accessible(approver)
    # The lead's page was left alone, learns of the namespace by itself and follows that too.
    with listening(lead):
        approver.get_by_role("button", name="Approve").click()
    expect(approver.locator("#live")).to_contain_text("Namespace created")
    expect(lead.locator("#live")).to_contain_text("Namespace created")
    namespace = Namespace.objects.get(name="team-alpha")
    reach(namespace, STEPS[0].condition, status="True", reason="Created")
    expect(lead.locator(".ticks li.done")).to_have_count(1)
    words = "The cluster is still at it."
    reach(namespace, STEPS[1].condition, status="Unknown", reason="Unreachable", message=words)
    expect(lead.locator(".ticks li.waiting")).to_contain_text(words)
    every = [step.condition for step in STEPS]
    reach(namespace, *every, "Ready", status="True", reason="Done")
    expect(lead.locator(".ticks li.done")).to_have_count(len(STEPS) + 1)

    make.UsageFactory(cluster=cluster, namespace_name="team-alpha")
    with listening(lead):
        lead.get_by_role("link", name="Open the namespace").click()
    row = lead.locator('[data-resource="requests.nvidia.com/gpu"]')
    expect(row).to_contain_text("0 of 4")
    Usage.objects.update(used={**make.AMOUNTS, "requests.nvidia.com/gpu": "6"})
    publish([f"namespace:{namespace.pk}"])
    expect(row).to_contain_text("6 of 4")
    expect(row).to_contain_text("150 %")
    accessible(lead)


@pytest.mark.deep
def test_an_approver_is_told_when_what_is_shown_has_changed(open_as, team, cluster):
    asked = make.QuotaRequestFactory(team=team, cluster=cluster)
    page = open_as(make.approver())
    with listening(page):
        page.goto(asked.get_absolute_url())
    page.get_by_label("Comment").fill("Half of it, please.")
    QuotaRequest.objects.update(version=2)
    publish([f"request:{asked.pk}"])
    expect(page.locator("#changed")).to_contain_text("has changed since it was shown to you")
    expect(page.get_by_label("Comment")).to_have_value("Half of it, please.")
    page.get_by_role("button", name="Deny").click()
    expect(page.get_by_role("alert").first).to_contain_text("Nothing was done")
    expect(page.get_by_label("Comment")).to_have_value("Half of it, please.")


@pytest.mark.deep
def test_a_page_left_open_too_long_asks_to_sign_in_and_goes_on(open_as, team, cluster):
    namespace = make.NamespaceFactory(team=team, cluster=cluster, name="alpha")
    page = open_as(make.member_of(team))
    with listening(page):
        page.goto(namespace.get_absolute_url())
    fresh = page.session["oidc_id_token_expiration"]
    page.session["oidc_id_token_expiration"] = 1
    page.session.save()
    publish([f"namespace:{namespace.pk}"])
    expect(page.locator("#session-notice")).to_contain_text("Sign in again")
    expect(page.locator("h1")).to_have_text("alpha")
    page.session["oidc_id_token_expiration"] = fresh
    page.session.save()
    publish([f"namespace:{namespace.pk}"])
    expect(page.locator("#session-notice")).to_be_empty()


@pytest.mark.deep
def test_without_a_script_it_works_all_the_same(open_as, team, cluster):
    lead = open_as(make.lead_of(team), java_script_enabled=False)
    ask(lead)
    expect(lead.locator(".field-errors")).to_contain_text("Only whole numbers")
    lead.get_by_label("GPUs").fill("4")
    lead.get_by_role("button", name="Send the request").click()
    approver = open_as(make.approver(), java_script_enabled=False)
    approver.goto("/reviews/")
    approver.get_by_role("link", name="Decide").click()
    approver.get_by_role("button", name="Approve").click()
    expect(approver.locator("#live")).to_contain_text("Namespace created")
    assert "Reload it to see new ones" in approver.content()


@pytest.mark.deep
def test_the_colour_scheme_is_remembered(open_as, team):
    page = open_as(make.member_of(team), color_scheme="light")
    page.goto("/")
    root = page.locator("html")
    expect(root).to_have_attribute("data-bs-theme", "light")
    page.get_by_role("button", name="Switch between light and dark").click()
    expect(root).to_have_attribute("data-bs-theme", "dark")
    page.reload()
    expect(root).to_have_attribute("data-bs-theme", "dark")


@pytest.mark.deep
@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_the_window(open_as, accessible, team, cluster, width):
    namespace = make.NamespaceFactory(team=team, cluster=cluster, name="a" * 63)
    make.GrantFactory(namespace=namespace)
    make.UsageFactory(cluster=cluster, namespace_name=namespace.name)
    asked = make.QuotaRequestFactory(team=team, cluster=cluster, reason="x" * 300)
    page = open_as(make.approver(), viewport={"width": width, "height": 800})
    for url in (
        "/",
        "/requests/",
        asked.get_absolute_url(),
        "/reviews/",
        "/namespaces/",
        namespace.get_absolute_url(),
        "/teams/",
        "/teams/alpha/",
        "/clusters/",
        "/clusters/east/",
        "/history/",
    ):
        page.goto(url)
        wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wider <= 0, (url, wider)
        accessible(page)
