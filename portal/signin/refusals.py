"""What a request gets that must not pass, such that nothing a person typed is lost."""

import logging
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from portal.signin.session import sign_in_url

log = logging.getLogger(__name__)

# Where base.html lets a notice appear without touching the rest of the page. Read by htmx.
NOTICE_HEADERS = {
    "HX-Retarget": "#session-notice",
    "HX-Reswap": "innerHTML",
    "HX-Reselect": ".session-notice",
    "HX-Push-Url": "false",
}


def sign_in_needed(request: HttpRequest) -> HttpResponse:
    """401 with a link to sign in, in the form that the asker can use.

    The link opens in a new tab and ends on a page that says so, because what the refused page holds
    is in its own tab. htmx leaves its form as it stands and shows the link beside it; a plain form
    gets a page that carries its fields and sends them again.
    """
    url = sign_in_url(reverse("signed_in"))
    if _wants_json(request):
        response: HttpResponse = JsonResponse(
            {"detail": _("Sign in again."), "sign_in": request.build_absolute_uri(url)},
            status=401,
        )
    else:
        carry = not _is_htmx(request)
        response = _page(request, {"sign_in_url": url}, carry=carry, status=401)
    # HTTP asks for a challenge with every 401; no browser acts on this one.
    response["WWW-Authenticate"] = 'Session realm="Berth"'
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form without this session's CSRF token.

    Mostly that is a form which was opened before its session ended: signing in makes a new token.
    Where the browser vouches by `Origin` that one of our pages sent it, its fields are offered to
    be sent again; a form from elsewhere is not.
    """
    log.warning("CSRF: %s: %s", request.path, reason)
    ours = request.headers.get("Origin") == f"{request.scheme}://{request.get_host()}"
    return _page(request, {}, carry=ours, status=403)


def _page(
    request: HttpRequest, context: dict[str, Any], *, carry: bool, status: int
) -> HttpResponse:
    """The page of a refusal, or for a script only its notice; with what was posted, if carried."""
    context |= {"again": carry and request.method == "POST", "fields": _posted(request)}
    only_notice = _is_htmx(request) or _is_stream(request)
    template = "signin/refused.html#notice" if only_notice else "signin/refused.html"
    response = render(request, template, context, status=status)
    if only_notice:
        for name, value in NOTICE_HEADERS.items():
            response[name] = value
    add_never_cache_headers(response)
    return response


def _posted(request: HttpRequest) -> list[tuple[str, str]]:
    """Each field and value of a form, in order; files can't be sent again by a page."""
    return [
        (name, value)
        for name, values in request.POST.lists()
        for value in values
        if name != "csrfmiddlewaretoken"
    ]


def _is_htmx(request: HttpRequest) -> bool:
    return "HX-Request" in request.headers


def _is_stream(request: HttpRequest) -> bool:
    return "text/event-stream" in request.headers.get("Accept", "")


def _wants_json(request: HttpRequest) -> bool:
    return request.content_type == "application/json" or not (
        request.accepts("text/html") or _is_stream(request)
    )
