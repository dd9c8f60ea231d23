"""Bearer tokens at the API."""

import pytest

from portal.signin.session import EXPIRES
from tenants.models import User
from tests.portal.hostile import CLIENT, key, label

pytestmark = pytest.mark.django_db


@pytest.fixture
def call(client):
    def call(token, scheme="Bearer", method="get"):
        headers = {"Authorization": f"{scheme} {token}"}
        return getattr(client, method)("/who/", headers=headers)

    return call


def test_a_good_token(call, provider):
    response = call(provider.token(groups=["alpha"]))
    assert response.json() == {
        "subject": "ada",
        "name": "Ada",
        "email": "ada@example.org",
        "groups": ["alpha"],
    }
    assert call(provider.token(), method="post").status_code == 200  # no CSRF, no session
    assert User.objects.count() == 1


def test_an_audience_of_tools(call, provider, settings):
    settings.OIDC_API_AUDIENCES = ["tools", CLIENT]
    assert call(provider.token(aud="tools")).status_code == 200
    assert call(provider.token(aud=["other", "tools"], azp="other")).status_code == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "another"},
        {"aud": None},
        {"iss": "https://elsewhere.example"},
        {"iss": None},
        {"exp": None},
        {"exp": 1},
        {"nbf": 9_999_999_999},
        {"sub": None},
        {"sub": "x" * 256},
        {"alg": "none", "signer": None},
        {"alg": "HS256", "signer": b"secret" * 6},
        {"alg": "PS256"},
        {"signer": key("another")},
        {"headers": {"kid": "made-up"}},
    ],
    ids=label,
)
def test_a_wrong_token(call, provider, changes):
    refused(call(provider.token(**changes)))


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "ey.ey.ey", "e" * 5000, "a b", "é", "\\x00"])
def test_garbage(call, provider, token):
    refused(call(token))


def refused(response):
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer ")
    assert 'error="invalid_token"' in response["WWW-Authenticate"]
    assert User.objects.count() == 0


def test_no_token(client, provider):
    response = client.get("/who/")
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == 'Bearer realm="Berth"'


def test_another_scheme_is_not_ours(call, provider):
    assert call("eDp5", scheme="Basic").status_code == 401


def test_the_scheme_is_written_in_any_case(call, provider):
    assert call(provider.token(), scheme="bearer").status_code == 200


def test_a_wrong_token_does_not_fall_back_on_the_session(sign_in, call, provider):
    sign_in()
    assert call("x").status_code == 401


def test_somebody_switched_off(call, provider):
    call(provider.token())
    User.objects.update(is_active=False)
    assert call(provider.token()).status_code == 401


def test_a_provider_that_is_away(call, provider):
    provider.answers["jwks"] = (500, {})
    response = call(provider.token())
    assert response.status_code == 503
    provider.answers.clear()
    assert call(provider.token()).status_code == 200


def test_rights_follow_the_token_and_the_session_keeps_its_own(sign_in, call, provider, client):
    sign_in(groups=["alpha"])
    session = client.session[EXPIRES]
    for groups, seen in [(["old"], ["old"]), (None, None), ([], []), (7, None)]:
        assert call(provider.token(groups=groups)).json()["groups"] == seen
    user = User.objects.get()
    assert user.groups == ["alpha"]
    assert client.session[EXPIRES] == session


def test_what_is_known_of_a_person_is_kept(sign_in, call, provider):
    sign_in()
    call(provider.token(name=None, email=None))
    user = User.objects.get()
    assert (user.name, user.email) == ("Ada", "ada@example.org")


def test_each_call_costs_one_query_and_no_question(call, provider, django_assert_num_queries):
    call(provider.token())
    asked = len(provider.asked)
    with django_assert_num_queries(1):
        call(provider.token())
    assert len(provider.asked) == asked
