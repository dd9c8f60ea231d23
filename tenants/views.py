"""Pages of teams and of the history."""

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from tenants.rendering import page, page_of, person
from tenants.selectors import history_visible, namespaces_visible, teams_visible

LINES_PER_PAGE = 50


@require_safe
def team_list(request: HttpRequest) -> HttpResponse:
    """The teams this person may see, with their groups."""
    # Counted apart from the groups by which teams were found, which would multiply it.
    live = Count("namespaces", filter=Q(namespaces__released_at=None), distinct=True)
    teams = teams_visible(person(request)).annotate(namespace_count=live).order_by("name", "pk")
    return page(request, "tenants/team_list.html", {"page": page_of(request, teams)})


@require_safe
def team_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """One team: its groups and its namespaces."""
    user = person(request)
    team = get_object_or_404(teams_visible(user), slug=slug)
    namespaces = namespaces_visible(user).filter(team=team, released_at=None)
    context = {"team": team, "page": page_of(request, namespaces.order_by("name", "pk"))}
    return page(request, "tenants/team_detail.html", context)


@require_safe
def history(request: HttpRequest) -> HttpResponse:
    """Who did what and when, newest first; `?team=` and `?namespace=` narrow it down."""
    user = person(request)
    team, namespace = request.GET.get("team", ""), request.GET.get("namespace", "").strip()
    lines = history_visible(user)
    if team:
        lines = lines.filter(team__slug=team)
    if namespace:
        lines = lines.filter(Q(namespace__name=namespace) | Q(data__name=namespace))
    context = {
        "page": page_of(request, lines, per_page=LINES_PER_PAGE),
        "teams": teams_visible(user).order_by("name", "pk"),
        "team": team,
        "namespace": namespace,
    }
    return page(request, "tenants/history.html", context)
