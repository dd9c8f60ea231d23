"""Makes a user of an authorization code: tokens checked, person read, account kept up to date."""

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import requests
from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from mozilla_django_oidc.auth import OIDCAuthenticationBackend

from portal.signin import tokens
from portal.signin.claims import is_subject, person_of
from tenants.models import User
from tenants.services import user_sign_in

log = logging.getLogger(__name__)


class SignInFailed(Exception):
    """A sign-in that can't go on. `sentence` tells the person why, `status` is HTTP's."""

    def __init__(self, sentence: str | Promise, *, status: int) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.status = status


UNREACHABLE = _("The identity provider does not answer as it should. It may be back in a moment.")
NOT_BELIEVED = _("What the identity provider sent could not be verified.")


class Backend(OIDCAuthenticationBackend):
    """The library's code flow, with the checks that it leaves out.

    A person is (issuer, subject), never an e-mail address. Their groups are stored at each sign-in
    and at each renewal of one, so losing a group ends its rights at the next renewal, after
    OIDC_RENEW_S seconds at the latest: no request that needs a sign-in passes with an older one
    (portal.signin.middleware).

    Raises SignInFailed where anything is wrong.
    """

    def get_token(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Change the code for tokens."""
        if not payload["client_secret"]:  # a public client proves itself by PKCE alone
            del payload["client_secret"]
        with _failures("token endpoint"):
            answer = super().get_token(payload)
            if not all(isinstance(answer[name], str) for name in ("id_token", "access_token")):
                raise TypeError("a token is no text")
        return answer

    def verify_token(self, token: str, **kwargs: Any) -> dict[str, Any]:
        """The claims of the ID token; of userinfo, where the provider signs that."""
        with _failures("ID token"):
            if "nonce" in kwargs:
                return tokens.verified_id_token(token, nonce=kwargs["nonce"])
            return tokens.verified(
                token, audiences=[settings.OIDC_RP_CLIENT_ID], required=("iss", "aud", "sub")
            )

    def get_userinfo(
        self, access_token: str, id_token: str, payload: dict[str, Any]
    ) -> dict[str, Any]:
        """What userinfo says, if it speaks of the ID token's subject.

        Source: OpenID Connect Core 1.0, section 5.3.2.
        """
        with _failures("userinfo"):
            info = super().get_userinfo(access_token, id_token, payload)
            if not is_subject(info["sub"]) or info["sub"] != payload["sub"]:
                raise tokens.TokenRefused("userinfo speaks of another subject than the ID token")
        return info

    def get_or_create_user(self, access_token: str, id_token: str, payload: dict[str, Any]) -> User:
        """The user whom the ID token names, as the provider describes them now."""
        info = self.get_userinfo(access_token, id_token, payload)
        person = person_of(payload, info, groups_claim=settings.OIDC_GROUPS_CLAIM)
        return user_sign_in(issuer=payload["iss"], **vars(person))

    def store_tokens(self, access_token: str, id_token: str) -> None:
        """Keep the ID token aside: the session may still become another person's."""
        self.request.id_token = id_token

    def get_user(self, user_id: Any) -> User | None:
        """The user of a session; None, so that nobody is signed in, for one switched off."""
        return User.objects.filter(pk=user_id, is_active=True).first()


@contextlib.contextmanager
def _failures(part: str) -> Iterator[None]:
    """Turn whatever goes wrong while talking to the provider into SignInFailed, with a log line."""
    try:
        yield
    except tokens.TokenRefused as error:
        log.warning("sign-in refused, %s: %s", part, error)
        raise SignInFailed(NOT_BELIEVED, status=403) from error
    except (
        tokens.ProviderUnavailable,
        requests.RequestException,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
    ) as error:
        log.warning("sign-in failed, %s: %s: %.500s", part, type(error).__name__, error)
        raise SignInFailed(UNREACHABLE, status=503) from error
