"""Signing in and out in a browser."""

import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render, resolve_url
from django.utils.cache import add_never_cache_headers
from django.utils.decorators import method_decorator
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe
from mozilla_django_oidc.views import (
    OIDCAuthenticationCallbackView,
    OIDCAuthenticationRequestView,
    OIDCLogoutView,
)

from portal.signin.backend import UNREACHABLE, SignInFailed
from portal.signin.session import ID_TOKEN, STATES, attempt_remember, sign_in_url
from tenants.models import User

log = logging.getLogger(__name__)

# Answers to a silent attempt which only mean that the provider has to ask the person.
# Source: OpenID Connect Core 1.0, section 3.1.2.6.
ASK_THE_PERSON = {
    "login_required",
    "interaction_required",
    "consent_required",
    "account_selection_required",
}


@method_decorator(login_not_required, name="dispatch")
class AuthenticateView(OIDCAuthenticationRequestView):
    """Sends the person to the provider, to come back to `?next=`."""

    def get(self, request: HttpRequest) -> HttpResponseBase:
        return attempt_remember(request, super().get(request), silent=False)


@method_decorator(login_not_required, name="dispatch")
class CallbackView(OIDCAuthenticationCallbackView):
    """Where the provider sends the person back; every failure ends on a page that says why."""

    user: User | None = None
    attempt: Mapping[str, Any] = {"next": None, "silent": False}

    def get(self, request: HttpRequest) -> HttpResponseBase:
        attempts = request.session.get(STATES, {})
        state = request.GET.get("state", "")
        try:
            if state not in attempts:
                raise SignInFailed(
                    _("This sign-in was begun in another browser, or has been used already."),
                    status=400,
                )
            self.attempt = attempts[state]
            if error := request.GET.get("error"):
                del attempts[state]
                request.session.modified = True
                return self.refused(error)
            return super().get(request)
        except SignInFailed as failure:
            return self.failed(failure)

    def failed(self, failure: SignInFailed) -> HttpResponse:
        """The page that says why, with a link that tries again and then goes on as meant."""
        response = render(
            self.request,
            "signin/failed.html",
            {"sentence": failure.sentence, "try_again_url": sign_in_url(self.success_url)},
            status=failure.status,
        )
        add_never_cache_headers(response)
        return response

    def refused(self, error: str) -> HttpResponseBase:
        """The provider says no: to a silent attempt, that may only mean 'not silently'.

        The session is left as it is. It is too old to pass anywhere, and when the same person signs
        in, the CSRF token of the forms they have open still holds.
        """
        log.warning("the provider refused a sign-in: %.100r", error)
        if self.attempt["silent"] and error in ASK_THE_PERSON:
            return redirect(sign_in_url(self.success_url))
        if error in ("server_error", "temporarily_unavailable"):
            raise SignInFailed(UNREACHABLE, status=503)
        raise SignInFailed(_("The identity provider did not let you in."), status=403)

    @property
    def success_url(self) -> str:
        return self.attempt["next"] or resolve_url(settings.LOGIN_REDIRECT_URL)

    def login_success(self) -> HttpResponseBase:
        response = super().login_success()
        self.request.session[ID_TOKEN] = self.request.id_token
        return response

    def login_failure(self) -> HttpResponseBase:
        if self.user:
            raise SignInFailed(_("Your account is switched off in this portal."), status=403)
        raise SignInFailed(_("The identity provider sent an incomplete answer."), status=400)


@method_decorator(login_not_required, name="dispatch")
class SignOutView(OIDCLogoutView):
    """Ends the session here by POST, then at the provider."""

    http_method_names = ["post"]


def provider_logout_url(request: HttpRequest) -> str:
    """Where the provider ends its own session and sends the person back to our last page.

    Source: OpenID Connect RP-Initiated Logout 1.0, section 2.
    """
    after = resolve_url(settings.LOGOUT_REDIRECT_URL)
    endpoint = settings.OIDC_OP_LOGOUT_ENDPOINT
    if not endpoint:
        return after
    query: dict[str, Any] = {
        "client_id": settings.OIDC_RP_CLIENT_ID,
        "post_logout_redirect_uri": request.build_absolute_uri(after),
    }
    if id_token := request.session.get(ID_TOKEN):
        query["id_token_hint"] = id_token
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"


@login_not_required
@require_safe
def signed_out(request: HttpRequest) -> HttpResponse:
    """The last page of a visit."""
    return render(request, "signin/signed_out.html")


@require_safe
def signed_in(request: HttpRequest) -> HttpResponse:
    """Tells somebody who signed in in a new tab to go back to the tab they came from."""
    return render(request, "signin/signed_in.html")
