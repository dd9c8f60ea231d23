"""Providers to sign in with, and a browser's way through them."""

import time
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from portal.signin import tokens
from tests.portal.hostile import Provider


@pytest.fixture(autouse=True)
def _pages(settings):
    settings.ROOT_URLCONF = "tests.portal.urls"
    settings.ALLOWED_HOSTS = ["testserver"]


@pytest.fixture
def provider(settings):
    """A provider that does as it is told, wrong things too."""
    provider = Provider()
    _use(settings, provider.settings())
    yield provider
    provider.close()


@pytest.fixture
def demo_idp(idp, settings):
    """The demo's provider, which works."""
    _use(
        settings,
        {
            "OIDC_ISSUER": idp.issuer,
            "OIDC_OP_AUTHORIZATION_ENDPOINT": f"{idp.issuer}/oauth2/authorize",
            "OIDC_OP_TOKEN_ENDPOINT": f"{idp.issuer}/oauth2/token",
            "OIDC_OP_USER_ENDPOINT": f"{idp.issuer}/userinfo",
            "OIDC_OP_JWKS_ENDPOINT": f"{idp.issuer}/jwks",
            "OIDC_OP_LOGOUT_ENDPOINT": f"{idp.issuer}/oauth2/end_session",
        },
    )
    return idp


def _use(settings, values):
    tokens._keys.cache_clear()
    for name, value in values.items():
        setattr(settings, name, value)


@pytest.fixture
def walk(client, demo_idp):
    """Opens a page and signs in as this person when asked to; the last response."""

    def walk(person, path="/form/"):
        response = client.get(path)
        while response.status_code == 302 and not response.url.startswith(demo_idp.issuer):
            response = client.get(response.url)
        back = requests.post(
            response.url, data={"sub": person.subject}, allow_redirects=False, timeout=5
        )
        return client.get(back.headers["Location"])

    return walk


@pytest.fixture
def sign_in(client, provider):
    """Signs in at the hostile provider; the ID token has these changes. The last response."""

    def sign_in(path="/form/", **changes):
        response = client.get("/oidc/authenticate/", {"next": path})
        asked = {k: v[0] for k, v in parse_qs(urlsplit(response.url).query).items()}
        id_token = provider.token(**{"nonce": asked["nonce"], **changes})
        answer = {"id_token": id_token, "access_token": "opaque", "token_type": "Bearer"}
        provider.answers.setdefault("token", answer)
        return client.get("/oidc/callback/", {"code": "c", "state": asked["state"]})

    return sign_in


@pytest.fixture
def grow_old(client):
    """Makes the session's sign-in an old one."""

    def grow_old():
        session = client.session
        session["oidc_id_token_expiration"] = time.time() - 1
        session.save()

    return grow_old
