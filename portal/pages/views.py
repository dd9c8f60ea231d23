"""The first page, and what stands on every page."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from portal.signin.refusals import sign_in_needed
from portal.signin.session import is_fresh, sign_in_url
from quotas.selectors import namespaces_granted, requests_waiting
from quotas.usage import usage_of
from tenants.models import User
from tenants.permissions import sees_everything
from tenants.rendering import page, person
from tenants.selectors import teams_of

NAMESPACES_SHOWN = 12
WAITING_SHOWN = 6


@login_not_required
@require_safe
def home(request: HttpRequest) -> HttpResponseBase:
    """What concerns this person now; to a stranger, what this is and where to sign in."""
    if not isinstance(request.user, User):
        return render(request, "pages/landing.html")
    if is_fresh(request):
        return my_home(request)
    # The sign-in middleware lets everybody pass here, so this page asks for itself.
    if request.headers.get("HX-Request") == "true":
        return sign_in_needed(request)
    return redirect(sign_in_url(request.get_full_path()))


def my_home(request: HttpRequest) -> HttpResponse:
    """Own namespaces with their use, own requests that wait; with a role, all that wait."""
    user = person(request)
    teams = list(teams_of(user).order_by("name", "pk"))
    mine = namespaces_granted(user).filter(team__in=teams, released_at=None).order_by("name", "pk")
    namespaces = list(mine[: NAMESPACES_SHOWN + 1])
    usage = usage_of(namespaces)
    waiting = requests_waiting(user)
    own = waiting.filter(team__in=teams)
    queue = waiting if sees_everything(user) else waiting.none()
    context = {
        "teams": teams,
        "namespaces": [(n, usage[n.pk]) for n in namespaces[:NAMESPACES_SHOWN]],
        "more_namespaces": len(namespaces) > NAMESPACES_SHOWN,
        "own_requests": own[:WAITING_SHOWN],
        "queue": queue[:WAITING_SHOWN],
        "queue_length": queue.count(),
        "topics": ["requests", *(f"team:{team.pk}" for team in teams)],
    }
    return page(request, "pages/home.html", context)


@require_safe
def notices(request: HttpRequest) -> HttpResponse:
    """What every page tells at its top, asked again by the page while it is open."""
    return page(request, "base.html", {}, partial="notices")
