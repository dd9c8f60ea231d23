"""Whether a session's sign-in still counts, and the attempts to renew it."""

import time
from urllib.parse import parse_qs, urlencode, urlsplit

from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse

# The library's keys in the session.
EXPIRES = "oidc_id_token_expiration"
ID_TOKEN = "oidc_id_token"  # noqa: S105
STATES = "oidc_states"
NEXT = "oidc_login_next"


def is_fresh(request: HttpRequest) -> bool:
    """Whether somebody is signed in whom the provider vouched for within OIDC_RENEW_S seconds."""
    return request.user.is_authenticated and request.session.get(EXPIRES, 0) > time.time()


def sign_in_url(next_url: str) -> str:
    """Where an interactive sign-in starts that comes back to `next_url`."""
    query = urlencode({"next": next_url})
    return f"{reverse('oidc_authentication_init')}?{query}"


def attempt_remember(
    request: HttpRequest, redirect: HttpResponseRedirect, *, silent: bool
) -> HttpResponseRedirect:
    """Note with this one attempt where it should come back to, and whether it may ask the person.

    The library keeps one such page for a whole session, so that two tabs which are renewed at once
    would both come back to the second one's page.
    """
    state = parse_qs(urlsplit(redirect.url).query)["state"][0]
    attempt = request.session[STATES][state]
    attempt["next"] = request.session.pop(NEXT, None)
    attempt["silent"] = silent
    request.session.modified = True
    return redirect
