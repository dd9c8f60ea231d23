"""Tells open pages that something changed. A page that misses it is late, never wrong."""

import json
import logging
from collections.abc import Iterable
from functools import cache

import redis
from django.conf import settings
from django.db import transaction

log = logging.getLogger(__name__)

CHANNEL = f"{settings.REDIS_PREFIX}changes"


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=1, socket_timeout=1)


def publish(topics: Iterable[str]) -> None:
    """Publish that these topics changed, such as "namespace:<id>" or "request:<id>", after commit.

    Never raises: with Redis away, pages fall back to asking again by themselves.
    """
    message = json.dumps(sorted(set(topics)))
    transaction.on_commit(lambda: _send(message), robust=True)


def _send(message: str) -> None:
    try:
        _client().publish(CHANNEL, message)
    except redis.RedisError as error:
        log.warning("changes not published: %s", error)
