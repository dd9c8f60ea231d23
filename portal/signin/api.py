"""Who calls the API: a bearer of one of the provider's tokens, or a browser's session."""

from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.plumbing import build_bearer_security_scheme_object
from rest_framework import authentication, exceptions
from rest_framework.request import Request

from portal.signin import tokens
from portal.signin.claims import person_of
from portal.signin.session import is_fresh, sign_in_url
from tenants.models import User
from tenants.services import user_sign_in


class ProviderAway(exceptions.APIException):
    """503: whether a token is good can't be told now."""

    status_code = 503
    default_detail = _("The identity provider does not answer, so the token can't be verified.")
    default_code = "provider_unavailable"


class BearerAuthentication(authentication.BaseAuthentication):
    """A JWT of the configured issuer for one of OIDC_API_AUDIENCES, verified here.

    What the bearer may do in this request follows from the groups in this token and from nothing
    else: a token without a groups claim gives 'unknown', and so no right that comes from a group,
    even where the same person's last sign-in in a browser showed groups. The account of somebody
    known is read and not written: a token lives on after its groups were lost, and storing them
    would give them back to the person's session.
    """

    def authenticate(self, request: Request) -> tuple[User, dict[str, Any]] | None:
        scheme, _space, token = _authorization(request).partition(" ")
        if scheme.lower() != "bearer":
            return None
        try:
            claims = tokens.verified(token.strip(), audiences=settings.OIDC_API_AUDIENCES)
        except tokens.TokenRefused as error:
            raise exceptions.AuthenticationFailed(
                _("The token is refused: %(why)s.") % {"why": error}
            ) from error
        except tokens.ProviderUnavailable as error:
            raise ProviderAway from error
        user = _bearer(claims)
        if not user.is_active:
            raise exceptions.AuthenticationFailed(_("This account is switched off."))
        return user, claims

    def authenticate_header(self, request: Request) -> str:
        """The challenge of a 401. Source: RFC 6750, section 3."""
        if _authorization(request).lower().startswith("bearer"):
            return 'Bearer realm="Berth", error="invalid_token"'
        return 'Bearer realm="Berth"'


def _authorization(request: Request) -> str:
    header: str = request.META.get("HTTP_AUTHORIZATION", "")
    return header.strip()


def _bearer(claims: dict[str, Any]) -> User:
    person = person_of(claims, groups_claim=settings.OIDC_GROUPS_CLAIM)
    user = User.objects.filter(issuer=claims["iss"], subject=person.subject).first()
    if user is None:
        user = user_sign_in(issuer=claims["iss"], **vars(person))
    user.groups = person.groups
    return user


class SessionAuthentication(authentication.SessionAuthentication):
    """A browser's session, if its sign-in is as fresh as pages ask for."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        found: tuple[User, None] | None = super().authenticate(request)
        if found and not is_fresh(request._request):
            url = request.build_absolute_uri(sign_in_url("/"))
            raise exceptions.NotAuthenticated({"detail": _("Sign in again."), "sign_in": url})
        return found


class BearerScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document describes bearer tokens."""

    target_class = BearerAuthentication
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return build_bearer_security_scheme_object("Authorization", "Bearer", "JWT")


class SessionScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document describes the session's cookie."""

    target_class = SessionAuthentication
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}
