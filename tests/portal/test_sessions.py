"""A sign-in that has grown old: who is sent where, and what becomes of what was typed."""

import html
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from tenants.models import User

pytestmark = pytest.mark.django_db

TYPED = {"name": "team-alpha", "reason": 'a "quoted" <b>\nline', "amounts": ["4", "8"]}
HTMX = {"HX-Request": "true"}
STREAM = {"Accept": "text/event-stream"}
JSON = {"Accept": "application/json"}


@pytest.fixture
def old(sign_in, grow_old, provider):
    """Somebody whose sign-in has grown old."""
    sign_in(groups=["berth-approvers"])
    provider.answers.clear()
    grow_old()


@pytest.fixture
def client():
    return Client(enforce_csrf_checks=True)


def hidden(page):
    """The hidden fields of a notice's form as a browser would send them."""
    notice = page.split('<div class="session-notice')[1].split("</form>")[0]
    found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', notice)
    fields = {}
    for name, value in found:
        fields.setdefault(html.unescape(name), []).append(html.unescape(value))
    return fields


def post(client, path="/form/", **fields):
    """Post as a page of the portal does, with the session's CSRF token."""
    return client.post(path, {"csrfmiddlewaretoken": csrf_token(client), **fields})


def csrf_token(client):
    if "csrftoken" not in client.cookies:
        client.cookies["csrftoken"] = "a" * 32
    return client.cookies["csrftoken"].value


def test_a_page_is_renewed_silently_and_comes_back(old, client):
    response = client.get("/form/?a=1")
    query = parse_qs(urlsplit(response.url).query)
    assert (response.status_code, query["prompt"]) == (302, ["none"])
    assert "code_challenge" in query
    state = query["state"][0]
    assert client.session["oidc_states"][state]["next"] == "/form/?a=1"


def test_two_tabs_come_back_each_to_its_own_page(old, client):
    addresses = [client.get(path).url for path in ("/form/", "/stream/")]
    states = [parse_qs(urlsplit(address).query)["state"][0] for address in addresses]
    pages = [client.session["oidc_states"][state]["next"] for state in states]
    assert pages == ["/form/", "/stream/"]


@pytest.mark.parametrize("error", ["login_required", "interaction_required", "consent_required"])
def test_a_renewal_that_needs_the_person_becomes_an_interactive_sign_in(old, client, error):
    state = parse_qs(urlsplit(client.get("/form/?a=1").url).query)["state"][0]
    response = client.get("/oidc/callback/", {"error": error, "state": state})
    assert response.url == "/oidc/authenticate/?next=%2Fform%2F%3Fa%3D1"
    query = parse_qs(urlsplit(client.get(response.url).url).query)
    assert "prompt" not in query
    # Were the provider to say so again, the person reads it: no loop.
    again = client.get("/oidc/callback/", {"error": error, "state": query["state"][0]})
    assert again.status_code == 403


def test_renewing_reads_the_groups_anew(old, sign_in, client):
    assert User.objects.get().groups == ["berth-approvers"]
    sign_in(groups=[])
    assert User.objects.get().groups == []
    assert client.get("/form/").status_code == 200


def test_a_refused_renewal_gives_nothing(old, client):
    state = parse_qs(urlsplit(client.get("/form/").url).query)["state"][0]
    client.get("/oidc/callback/", {"error": "access_denied", "state": state})
    assert post(client, **TYPED).status_code == 401
    assert client.get("/form/").status_code == 302


def test_a_form_gets_a_page_that_carries_what_was_typed(old, client, sign_in):
    response = post(client, "/form/?step=2", **TYPED)
    page = response.content.decode()
    assert response.status_code == 401
    assert "no-store" in response["Cache-Control"]
    assert 'action="/form/?step=2"' in page
    assert '<a class="btn btn-primary" href="/oidc/authenticate/?next=%2Fsign-in%2Fdone%2F"' in page
    assert "<b>" not in page
    fields = hidden(page)
    token = fields.pop("csrfmiddlewaretoken")
    assert len(token) == 1
    assert fields == {**{k: [v] for k, v in TYPED.items() if k != "amounts"}, "amounts": ["4", "8"]}

    assert sign_in("/sign-in/done/").url == "/sign-in/done/"  # in the new tab
    again = client.post("/form/?step=2", {**fields, "csrfmiddlewaretoken": token})
    assert again.status_code == 200
    assert again.json()["posted"]["amounts"] == ["4", "8"]


def test_a_form_whose_session_is_gone_survives_too(provider, sign_in, client):
    page = post(client, **TYPED)
    assert page.status_code == 401
    fields = hidden(page.content.decode())
    sign_in("/sign-in/done/")  # makes a new CSRF token, so the page's is no longer good
    refused = client.post("/form/", fields, headers={"Origin": "http://testserver"})
    assert refused.status_code == 403
    again = client.post("/form/", hidden(refused.content.decode()))
    assert again.status_code == 200
    assert again.json()["posted"]["name"] == ["team-alpha"]


@pytest.mark.parametrize("origin", [None, "http://elsewhere.example", "null"])
def test_a_form_from_elsewhere_is_not_offered_again(old, client, origin):
    headers = {"Origin": origin} if origin else {}
    response = client.post("/form/", {"name": "planted"}, headers=headers)
    assert response.status_code == 403
    assert "planted" not in response.content.decode()


@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete", "head"])
def test_htmx_gets_a_notice_beside_its_form(old, client, method):
    headers = {**HTMX, "X-CSRFToken": csrf_token(client)}
    response = getattr(client, method)("/form/", headers=headers)
    assert response.status_code == 401
    assert response["HX-Retarget"] == "#session-notice"
    assert response["HX-Reswap"] == "innerHTML"
    assert response["HX-Push-Url"] == "false"
    if method != "head":
        page = response.content.decode().strip()
        assert page.startswith('<div class="session-notice')
        assert 'target="_blank"' in page
        assert "<form" not in page


@pytest.mark.parametrize("accept", ["text/event-stream", "text/html, text/event-stream"])
def test_a_stream_gets_401(old, client, accept):
    response = client.get("/stream/", headers={"Accept": accept})
    assert response.status_code == 401
    assert "/oidc/authenticate/" in response.content.decode()


@pytest.mark.parametrize(
    "headers",
    [JSON, {"X-Requested-With": "XMLHttpRequest"}, {"Sec-Fetch-Mode": "cors"}],
    ids=str,
)
def test_a_script_gets_401(old, client, headers):
    assert client.get("/form/", headers=headers).status_code == 401


def test_json_gets_json(old, client):
    response = client.get("/form/", headers=JSON)
    assert response.json()["sign_in"].startswith("http://testserver/oidc/authenticate/?next=")
    assert response["WWW-Authenticate"]


@pytest.mark.parametrize("headers", [HTMX, STREAM, JSON], ids=str)
def test_nobody_signed_in_is_told_the_same_way(db, client, provider, headers):
    assert client.get("/form/", headers=headers).status_code == 401


def test_nobody_signed_in_is_sent_to_sign_in_from_a_page(client, provider):
    response = client.get("/form/?a=1")
    assert response.url == "/oidc/authenticate/?next=/form/%3Fa%3D1"


def test_the_api_asks_for_a_fresh_session_too(old, client):
    response = client.get("/who/")
    assert response.status_code == 401
    assert response.json()["sign_in"].startswith("http://testserver/oidc/authenticate/")


def test_the_api_takes_a_fresh_session(sign_in, client):
    sign_in()
    assert client.get("/who/").json()["subject"] == "ada"
    without_csrf_token = client.post("/who/", {}, content_type="application/json")
    assert without_csrf_token.status_code == 403


@pytest.mark.parametrize("path", ["/health/live/", "/sign-in/out/", "/oidc/authenticate/"])
def test_what_needs_no_sign_in(client, provider, path):
    assert client.get(path).status_code in (200, 302)
    assert "next" not in client.get(path).get("Location", "")


def test_a_bearer_token_does_not_freshen_a_page(old, client, provider):
    response = client.get("/form/", headers={"Authorization": f"Bearer {provider.token()}"})
    assert response.status_code == 302
