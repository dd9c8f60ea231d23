"""Refuses bodies and text that nothing behind it can take."""

import json
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _

from portal.api.problems import CONTENT_TYPE, problem_body
from portal.text import is_storable


class BodyMiddleware(MiddlewareMixin):
    """400 for a body in another charset than UTF-8, 413 for one that is too long.

    Python knows charsets that are none, such as zlib. What Django makes of such a form is an error
    again on the page that tells of it, and NUL may hide from NulByteMiddleware in UTF-7.
    """

    get_response: Callable[[HttpRequest], HttpResponseBase]

    def process_request(self, request: HttpRequest) -> HttpResponseBase | None:
        charset = (request.content_params or {}).get("charset", "utf-8")
        if charset.lower() not in ("utf-8", "utf8"):
            return _refused(request, 400, _("The charset of a request has to be UTF-8."))
        try:
            # Files, which may be longer, come as forms only, and no form here takes one.
            request.body  # noqa: B018
        except RequestDataTooBig:
            return _refused(request, 413, _("This request is too long."))
        return None


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
        return _refused(request, 400, detail)


def _refused(request: HttpRequest, status: int, detail: str) -> HttpResponse:
    if request.content_type == "application/json" or not request.accepts("text/html"):
        body = problem_body(status, detail)
        return JsonResponse(body, status=status, content_type=CONTENT_TYPE)
    return HttpResponse(detail, status=status, content_type="text/plain; charset=utf-8")


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
