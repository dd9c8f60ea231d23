"""Verifies tokens of the configured provider locally, with its published keys."""

import logging
import threading
import time
from collections.abc import Collection
from functools import cache
from typing import Any

import jwt
import requests
from django.conf import settings

from portal.signin.claims import is_subject

log = logging.getLogger(__name__)

# How long published keys are used before they are fetched again, in seconds.
KEYS_S = 300
# A token with an unknown key asks the provider at most this often, in seconds: anybody can make up
# such tokens.
UNKNOWN_KEY_S = 2
# How far the provider's clock may be off, in seconds.
LEEWAY_S = 10


class TokenRefused(Exception):
    """A token that can't be believed; the message says why, for the log and for tools."""


class ProviderUnavailable(Exception):
    """The provider did not answer, or not with what its protocol asks for."""


def verified(
    token: str,
    *,
    audiences: Collection[str],
    required: Collection[str] = ("exp", "iss", "aud", "sub"),
) -> dict[str, Any]:
    """The claims of a token that the configured issuer signed for one of these audiences.

    The algorithm is the configured one and no other, whatever the token's header says.

    Raises:
        TokenRefused: the signature, a time, the issuer, the audience or the subject is wrong.
        ProviderUnavailable: the provider's keys could not be fetched.
    """
    try:
        header = jwt.get_unverified_header(token)
        if header["alg"] != settings.OIDC_RP_SIGN_ALGO:
            raise TokenRefused("the algorithm is not the configured one")
        claims = jwt.decode(
            token,
            _keys(settings.OIDC_OP_JWKS_ENDPOINT).find(header.get("kid")),
            algorithms=[settings.OIDC_RP_SIGN_ALGO],
            audience=list(audiences),
            issuer=settings.OIDC_ISSUER,
            leeway=LEEWAY_S,
            options={"require": list(required)},
        )
    # PyJWT lets the errors of parsers through where a token is odd enough.
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise TokenRefused(str(error)) from error
    if not is_subject(claims["sub"]):
        raise TokenRefused("the subject is no text of 1 to 255 characters")
    return claims


def verified_id_token(token: str, *, nonce: str | None) -> dict[str, Any]:
    """The claims of an ID token that was issued to this portal for this sign-in.

    Source: OpenID Connect Core 1.0, section 3.1.3.7.

    Raises:
        TokenRefused, ProviderUnavailable: as `verified`, or another's audience or nonce.
    """
    client_id = settings.OIDC_RP_CLIENT_ID
    claims = verified(token, audiences=[client_id])
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if (several or "azp" in claims) and claims.get("azp") != client_id:
        raise TokenRefused("the authorized party is another client")
    if not nonce or claims.get("nonce") != nonce:
        raise TokenRefused("the nonce is not that of this sign-in")
    return claims


@cache
def _keys(url: str) -> "KeySet":
    return KeySet(url)


class KeySet:
    """The provider's published keys, shared by all threads of a process.

    They are fetched when they are wanted and older than KEYS_S, and when a token names one that is
    not among them: a provider that was restarted may have a new one.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._failure: ProviderUnavailable | None = None
        self._tried_at = self._fetched_at = self._unknown_at = float("-inf")

    def find(self, kid: str | None) -> jwt.PyJWK:
        """The key of this id; where the token names none, the provider's only key.

        Raises:
            TokenRefused: the provider has no such key.
            ProviderUnavailable: the keys could not be fetched.
        """
        asked_at = time.monotonic()
        with self._lock:
            if asked_at - self._fetched_at > KEYS_S:
                self._fetch(asked_at)
            key = self._match(kid)
            if key is None and asked_at - self._unknown_at > UNKNOWN_KEY_S:
                self._fetch(asked_at)
                self._unknown_at = time.monotonic()
                key = self._match(kid)
        if key is None:
            raise TokenRefused("the provider has no such key")
        return key

    def _match(self, kid: str | None) -> jwt.PyJWK | None:
        if kid is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(kid)

    def _fetch(self, asked_at: float) -> None:
        """Fetch, unless another thread tried while this one waited: then its outcome counts."""
        if self._tried_at < asked_at:
            try:
                self._keys = _fetch_keys(self._url)
                self._failure = None
                self._fetched_at = time.monotonic()
            except ProviderUnavailable as failure:
                self._failure = failure
            self._tried_at = time.monotonic()
        if self._failure:
            raise self._failure


def _fetch_keys(url: str) -> dict[str | None, jwt.PyJWK]:
    """The signing keys by their id. A key of another kind than the configured one is left out."""
    algorithm = settings.OIDC_RP_SIGN_ALGO
    keys: dict[str | None, jwt.PyJWK] = {}
    try:
        response = requests.get(url, timeout=settings.OIDC_TIMEOUT)
        response.raise_for_status()
        published = response.json()["keys"]
        for data in published:
            if data.get("use", "sig") == "sig" and data.get("alg", algorithm) == algorithm:
                try:
                    keys[data.get("kid")] = jwt.PyJWK(data, algorithm=algorithm)
                except jwt.PyJWTError as error:
                    log.info("a key of the provider is of no use here: %s", error)
    except (requests.RequestException, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ProviderUnavailable(f"the provider's keys: {error}") from error
    return keys
