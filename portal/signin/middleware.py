"""Lets nobody pass whose sign-in has grown old, whatever the method."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from mozilla_django_oidc.middleware import SessionRefresh

from portal.signin.refusals import sign_in_needed
from portal.signin.session import attempt_remember, is_fresh


class FreshSessionMiddleware(LoginRequiredMiddleware):
    """Django's rule that every view needs a sign-in, with 'signed in lately' for 'signed in'.

    Somebody who opens a page is sent to the provider: silently (prompt=none) to renew an old
    sign-in, interactively without one. Anything else, such as a form, an htmx request, a stream or
    a script's fetch, can't follow such a redirect without losing what it carries: it gets 401 with
    a link.

    Views marked `login_not_required` are left alone. The API's are among them, since Django REST
    Framework marks its own: there, portal.signin.api asks for the same of sessions, and bearer
    tokens have no session.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        super().__init__(get_response)
        self._refresh = SessionRefresh(get_response)

    # Not process_request: the check against cross-site forgery must come first, because what a
    # refused form carried is offered to be sent again.
    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: Any,
        view_kwargs: Any,
    ) -> HttpResponseBase | None:
        if not getattr(view_func, "login_required", True) or is_fresh(request):
            return None
        if not _is_navigation(request):
            return sign_in_needed(request)
        if request.user.is_authenticated:
            redirect = self._refresh.process_request(request)
            if isinstance(redirect, HttpResponseRedirect):
                return attempt_remember(request, redirect, silent=True)
        return self.handle_no_permission(request, view_func)


def _is_navigation(request: HttpRequest) -> bool:
    """Whether a browser asks for a page to show, and so follows a redirect to another site."""
    headers = request.headers
    return (
        request.method == "GET"
        and "HX-Request" not in headers
        and "X-Requested-With" not in headers
        and headers.get("Sec-Fetch-Mode", "navigate") == "navigate"
        and request.accepts("text/html")
        and "text/event-stream" not in headers.get("Accept", "")
    )
