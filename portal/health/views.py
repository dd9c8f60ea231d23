"""Health of this process, for a load balancer or a kubelet. Tells nothing but names."""

import logging
from collections.abc import Callable

import psycopg
import redis
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

log = logging.getLogger(__name__)


@login_not_required
@never_cache
@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """200 as long as this process answers; a restart would not cure anything that it leaves out."""
    return JsonResponse({"status": "ok"})


@login_not_required
@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """200 if the database and Redis answer now, 503 with the names of those that don't."""
    checks: dict[str, Callable[[], None]] = {"database": _ask_database, "redis": _ask_redis}
    away = [name for name, ask in checks.items() if not _answers(name, ask)]
    if away:
        return JsonResponse({"status": "unavailable", "away": away}, status=503)
    return JsonResponse({"status": "ok"})


def _answers(name: str, ask: Callable[[], None]) -> bool:
    try:
        ask()
    except (psycopg.Error, redis.RedisError) as error:
        log.warning("not ready, %s: %s", name, error)
        return False
    return True


def _ask_database() -> None:
    # A connection of its own: the pool would wait longer than anybody who asks for health, and one
    # that is busy is no reason to take work away from this process.
    parameters = connection.get_connection_params() | {"connect_timeout": 2}
    with psycopg.connect(**parameters) as own:
        own.execute("SELECT 1")


def _ask_redis() -> None:
    with redis.Redis.from_url(
        settings.REDIS_URL, socket_connect_timeout=1, socket_timeout=1
    ) as client:
        client.ping()
