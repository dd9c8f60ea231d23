"""Refuses text that PostgreSQL can't hold, before it gets anywhere near a query."""

import json
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote

from django.http import HttpRequest, HttpResponseBadRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _

from portal.api.problems import CONTENT_TYPE, problem_body
from portal.text import is_storable


class NulByteMiddleware(MiddlewareMixin):
    """400 for a NUL character in the path, the query, a form or a JSON body.

    Form fields refuse it by themselves; search terms, ids in paths and values inside JSON don't,
    and end as an error of the database. Half a surrogate pair, which only JSON can carry, is as bad
    and treated the same.
    """

    get_response: Callable[[HttpRequest], HttpResponseBase]

    def process_request(self, request: HttpRequest) -> HttpResponseBase | None:
        if all(is_storable(text) for text in _texts(request)):
            return None
        detail = _("A character in this request can't be stored (NUL or half a surrogate pair).")
        if request.content_type == "application/json" or not request.accepts("text/html"):
            return JsonResponse(problem_body(400, detail), status=400, content_type=CONTENT_TYPE)
        return HttpResponseBadRequest(detail, content_type="text/plain; charset=utf-8")


def _texts(request: HttpRequest) -> Iterable[str]:
    yield request.path
    yield unquote(request.META.get("QUERY_STRING", ""))
    if request.content_type == "application/json":
        yield from _json_texts(request.body)
    else:
        for name, values in request.POST.lists():
            yield name
            yield from values


def _json_texts(body: bytes) -> Iterable[str]:
    """Every string in this JSON; none where it is no JSON, which the view tells the caller."""
    try:
        left: list[Any] = [json.loads(body)]
    except (ValueError, RecursionError):
        return
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            left += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            left += value
