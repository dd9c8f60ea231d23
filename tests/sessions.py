"""Sessions of people who have signed in, without asking a provider."""

import time

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore

from portal.signin.session import EXPIRES


def session_of(user, *, fresh_for=600):
    """A session in which this person has signed in just now."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "portal.signin.backend.Backend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session[EXPIRES] = time.time() + fresh_for
    session.create()
    return session
