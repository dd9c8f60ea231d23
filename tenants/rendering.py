"""How views answer: the whole page, or to htmx just the part of it that is to be replaced."""

from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_cache_control, patch_vary_headers

from tenants.models import User

PER_PAGE = 25


def person(request: HttpRequest) -> User:
    """Who is asking. The sign-in middleware lets nobody else reach a view that calls this."""
    assert isinstance(request.user, User)
    return request.user


def page(
    request: HttpRequest,
    template: str,
    context: dict[str, Any],
    *,
    partial: str = "live",
    status: int = 200,
) -> HttpResponse:
    """The page, or to htmx the partial of that name inside the same template.

    Both have one address, so caches are told to keep them apart.
    """
    wants_partial = request.headers.get("HX-Request") == "true"
    name = f"{template}#{partial}" if wants_partial else template
    response = render(request, name, context, status=status)
    patch_vary_headers(response, ["HX-Request", "Cookie"])
    patch_cache_control(response, private=True, no_cache=True)
    return response


def page_of(
    request: HttpRequest, rows: QuerySet[Any] | list[Any], *, per_page: int = PER_PAGE
) -> Page[Any]:
    """The page of rows that `?page=` names; the nearest where there is no such."""
    return Paginator(rows, per_page).get_page(request.GET.get("page"))
