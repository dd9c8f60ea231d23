"""Providers to sign in with, and a browser's way through them."""

import copy
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import oidc_provider_mock
import pytest
import requests

from portal.signin import tokens
from tests.portal.hostile import Provider


@pytest.fixture(autouse=True)
def _pages(settings):
    settings.ROOT_URLCONF = "tests.portal.urls"
    settings.ALLOWED_HOSTS = ["testserver"]
    # A bare layout: what stands around these pages has tests of its own.
    templates = copy.deepcopy(settings.TEMPLATES)
    templates[0]["DIRS"].insert(0, Path(__file__).parent / "templates")
    settings.TEMPLATES = templates


@pytest.fixture
def provider(settings):
    """A provider that does as it is told, wrong things too."""
    provider = Provider()
    _use(settings, provider.settings())
    yield provider
    provider.close()


@pytest.fixture(scope="session")
def _mock_idp():
    with oidc_provider_mock.run_server_in_thread() as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture
def mock_idp(_mock_idp, settings):
    """A provider that works; its address."""
    _use(
        settings,
        {
            "OIDC_ISSUER": _mock_idp,
            "OIDC_OP_AUTHORIZATION_ENDPOINT": f"{_mock_idp}/oauth2/authorize",
            "OIDC_OP_TOKEN_ENDPOINT": f"{_mock_idp}/oauth2/token",
            "OIDC_OP_USER_ENDPOINT": f"{_mock_idp}/userinfo",
            "OIDC_OP_JWKS_ENDPOINT": f"{_mock_idp}/jwks",
            "OIDC_OP_LOGOUT_ENDPOINT": f"{_mock_idp}/oauth2/end_session",
            "OIDC_API_AUDIENCES": ["berth"],
        },
    )
    return _mock_idp


def _use(settings, values):
    tokens._keys.cache_clear()
    for name, value in values.items():
        setattr(settings, name, value)


@pytest.fixture
def walk(client):
    """Signs in at the working provider as this subject, with these claims; the last response."""

    def walk(idp, sub, path="/form/", **claims):
        requests.put(f"{idp}/users/{sub}", json=claims, timeout=5).raise_for_status()
        response = client.get(path)
        while response.status_code == 302 and not response.url.startswith(idp):
            response = client.get(response.url)
        back = requests.post(response.url, data={"sub": sub}, allow_redirects=False, timeout=5)
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
