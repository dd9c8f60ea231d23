"""From a page to the provider and back, and everything that can go wrong on the way."""

import hashlib
import hmac
import time
from urllib.parse import parse_qs, urlsplit

import pytest
from jwt.utils import base64url_encode

from dev.people import ALPHA_MEMBER
from portal.signin import tokens
from tenants.models import User
from tests.portal.hostile import CLIENT, key, label, public_pem

pytestmark = pytest.mark.django_db


def failed(response, status):
    assert response.status_code == status
    page = response.content.decode()
    assert "Sign-in failed" in page
    assert "/oidc/authenticate/?next=" in page
    assert User.objects.count() == 0
    return page


def test_the_way_in_and_back_to_the_page(walk, demo_idp, client):
    response = walk(ALPHA_MEMBER, "/form/?a=1")
    assert (response.status_code, response.url) == (302, "/form/?a=1")
    user = User.objects.get()
    assert client.get("/form/").json()["user"] == str(user.pk)
    assert (user.issuer, user.subject) == (demo_idp.issuer, ALPHA_MEMBER.subject)
    assert (user.name, user.email) == (ALPHA_MEMBER.name, ALPHA_MEMBER.email)
    assert user.groups == list(ALPHA_MEMBER.groups)


def test_a_provider_without_a_session_of_its_own_asks_and_the_page_is_not_lost(
    walk, grow_old, client
):
    walk(ALPHA_MEMBER)
    grow_old()
    refused = walk(ALPHA_MEMBER, "/form/?b=2")  # prompt=none: login_required
    assert refused.url.startswith("/oidc/authenticate/?next=")
    assert walk(ALPHA_MEMBER, refused.url).url == "/form/?b=2"
    assert client.get("/form/").status_code == 200


def test_code_flow_with_pkce_nonce_and_state(client, provider, sign_in):
    response = client.get("/oidc/authenticate/")
    query = parse_qs(urlsplit(response.url).query)
    assert query["response_type"] == ["code"]
    assert query["code_challenge_method"] == ["S256"]
    assert {"nonce", "state", "code_challenge"} <= query.keys()
    sign_in()
    [sent] = [form for endpoint, form in provider.asked if endpoint == "token"]
    assert len(sent["code_verifier"][0]) >= 43
    assert "client_secret" not in sent


def test_a_new_address_is_the_same_person(sign_in, provider, client):
    sign_in()
    client.logout()
    del provider.answers["token"]
    sign_in(email="new@example.org")
    assert User.objects.get().email == "new@example.org"


@pytest.mark.parametrize("email", ["ada@example.org", "ADA@example.org", None])
def test_the_same_address_is_not_the_same_person(sign_in, provider, client, email):
    sign_in()
    client.logout()
    del provider.answers["token"]
    provider.userinfo = {"sub": "new-hire"}
    sign_in(sub="new-hire", email=email, email_verified=False)
    assert User.objects.count() == 2


def test_groups_are_those_of_the_last_sign_in(sign_in, provider):
    for groups, stored in [(["b", "a"], ["a", "b"]), ([], []), (None, None), ("abcd", ["abcd"])]:
        provider.answers.pop("token", None)
        sign_in(groups=groups)
        assert User.objects.get().groups == stored


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "another"},
        {"aud": ["another"]},
        {"aud": None},
        {"aud": [CLIENT, "another"]},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"azp": "another"},
        {"iss": "https://elsewhere.example"},
        {"iss": None},
        {"exp": None},
        {"exp": 1},
        {"exp": "soon"},
        {"iat": 9_999_999_999},
        {"nbf": 9_999_999_999},
        {"nonce": "another"},
        {"nonce": None},
        {"sub": None},
        {"sub": ""},
        {"sub": "x" * 256},
        {"sub": "ada\x00"},
        {"alg": "none", "signer": None},
        {"alg": "RS512"},
        {"alg": "HS256", "signer": b"secret" * 6},
        {"signer": key("another")},
        {"headers": {"kid": "unknown"}, "signer": key("another")},
    ],
    ids=label,
)
def test_a_wrong_id_token_is_refused(sign_in, changes):
    failed(sign_in(**changes), 403)


def test_a_token_signed_with_the_public_key_is_refused(sign_in, provider):
    head, body, _ = provider.token().split(".")
    head = base64url_encode(b'{"alg":"HS256","kid":"first"}').decode()
    signature = hmac.new(public_pem("first"), f"{head}.{body}".encode(), hashlib.sha256).digest()
    forged = f"{head}.{body}.{base64url_encode(signature).decode()}"
    provider.answers["token"] = {"id_token": forged, "access_token": "opaque"}
    failed(sign_in(), 403)


def test_several_audiences_with_us_as_the_authorized_party(sign_in):
    assert sign_in(aud=[CLIENT, "another"], azp=CLIENT).status_code == 302


def test_a_clock_that_is_a_little_off(sign_in):
    assert sign_in(iat=int(time.time()) + 5).status_code == 302


@pytest.mark.parametrize("info", [{"sub": "bob"}, {"sub": None}])
def test_userinfo_of_another_subject_is_refused(sign_in, provider, info):
    provider.userinfo = info
    failed(sign_in(), 403)


def test_signed_userinfo(sign_in, provider):
    provider.answers["userinfo"] = provider.token(exp=None, groups=["alpha"])
    assert sign_in().status_code == 302
    assert User.objects.get().groups == ["alpha"]


def test_signed_userinfo_for_another_client_is_refused(sign_in, provider):
    provider.answers["userinfo"] = provider.token(aud="another")
    failed(sign_in(), 403)


@pytest.mark.parametrize("endpoint", ["token", "jwks", "userinfo"])
@pytest.mark.parametrize(
    "answer",
    [(500, {}), (400, {"error": "invalid_grant"}), "no JSON", "[]", '"x"', "null", "{}", 1.0],
    ids=label,
)
def test_a_provider_that_fails(sign_in, provider, endpoint, answer):
    provider.answers[endpoint] = answer
    failed(sign_in(), 503)


@pytest.mark.parametrize(
    "answer",
    [
        {"id_token": 7, "access_token": "x"},
        {"id_token": None, "access_token": "x"},
        {"access_token": "x"},
        {"id_token": "x"},
    ],
    ids=label,
)
def test_a_token_endpoint_without_tokens(sign_in, provider, answer):
    provider.answers["token"] = answer
    failed(sign_in(), 503)


@pytest.mark.parametrize("token", ["x", "a.b.c", "", "é", "ey" * 50_000, "...."])
def test_an_id_token_that_is_none(sign_in, provider, token):
    provider.answers["token"] = {"id_token": token, "access_token": "x"}
    failed(sign_in(), 403)


def test_a_provider_that_is_down(sign_in, provider, settings):
    settings.OIDC_OP_TOKEN_ENDPOINT = "http://127.0.0.1:1/token"
    page = failed(sign_in("/form/?b=2"), 503)
    assert "%2Fform%2F%3Fb%3D2" in page


def test_a_restarted_provider_has_a_new_key(sign_in, provider, client):
    sign_in()
    client.logout()
    provider.restart_with("second")
    del provider.answers["token"]
    assert sign_in().status_code == 302


def test_made_up_keys_do_not_make_us_ask_each_time(provider):
    for _ in range(5):
        with pytest.raises(tokens.TokenRefused):
            tokens.verified(provider.token(headers={"kid": "made-up"}), audiences=[CLIENT])
    assert len(provider.asked) <= 2


def test_keys_are_kept(provider):
    for _ in range(5):
        tokens.verified(provider.token(), audiences=[CLIENT])
    assert len(provider.asked) == 1


def test_a_replayed_state_is_refused(sign_in, provider, client):
    response = client.get("/oidc/authenticate/")
    state = parse_qs(urlsplit(response.url).query)["state"][0]
    client.get("/oidc/callback/", {"code": "c", "state": state, "error": "access_denied"})
    failed(client.get("/oidc/callback/", {"code": "c", "state": state}), 400)


@pytest.mark.parametrize(
    "query", [{}, {"code": "c"}, {"code": "c", "state": "made-up"}, {"error": "x"}]
)
def test_a_callback_that_nobody_began(client, provider, query):
    failed(client.get("/oidc/callback/", query), 400)


def test_a_made_up_error_signs_nobody_out(sign_in, client):
    sign_in()
    assert client.get("/oidc/callback/", {"error": "x"}).status_code == 400
    assert client.get("/form/").status_code == 200


def test_an_incomplete_answer(client, provider):
    state = parse_qs(urlsplit(client.get("/oidc/authenticate/").url).query)["state"][0]
    failed(client.get("/oidc/callback/", {"state": state}), 400)


@pytest.mark.parametrize(
    ("error", "status"),
    [("access_denied", 403), ("login_required", 403), ("temporarily_unavailable", 503)],
)
def test_the_provider_says_no(client, provider, error, status):
    state = parse_qs(urlsplit(client.get("/oidc/authenticate/").url).query)["state"][0]
    failed(client.get("/oidc/callback/", {"state": state, "error": error}), status)


def test_somebody_switched_off_is_refused(sign_in, provider, client):
    sign_in()
    User.objects.update(is_active=False)
    assert client.get("/form/").status_code == 302
    provider.answers.clear()
    response = sign_in()
    assert response.status_code == 403
    assert "switched off" in response.content.decode()
    assert client.get("/form/").status_code == 302


def test_a_foreign_address_is_not_gone_back_to(sign_in):
    assert sign_in("https://elsewhere.example/").url == "/"


def test_sign_out_here_and_there(sign_in, client, provider):
    sign_in()
    id_token = client.session["oidc_id_token"]
    assert client.get("/oidc/logout/").status_code == 405
    response = client.post("/oidc/logout/")
    query = parse_qs(urlsplit(response.url).query)
    assert response.url.startswith(f"{provider.url}/logout?")
    assert query == {
        "client_id": [CLIENT],
        "id_token_hint": [id_token],
        "post_logout_redirect_uri": ["http://testserver/sign-in/out/"],
    }
    assert client.get("/form/").status_code == 302
    assert "Signed out" in client.get("/sign-in/out/").content.decode()


def test_sign_out_where_the_provider_has_no_such_thing(sign_in, client, settings):
    settings.OIDC_OP_LOGOUT_ENDPOINT = ""
    sign_in()
    assert client.post("/oidc/logout/").url == "/sign-in/out/"


def test_the_id_token_of_whoever_signed_in_last_is_kept(sign_in, client, provider):
    sign_in()
    first = client.session["oidc_id_token"]
    provider.answers.clear()
    provider.userinfo = {"sub": "bob"}
    sign_in(sub="bob")
    assert client.session["oidc_id_token"] not in ("", first)


def test_the_session_cookie(sign_in):
    cookie = sign_in().cookies["berth_session"]
    assert (cookie["samesite"], cookie["httponly"]) == ("Lax", True)
