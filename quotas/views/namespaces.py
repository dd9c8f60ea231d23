"""Pages of namespaces: what was granted, what is used, how far the cluster has come."""

from collections import Counter
from collections.abc import Collection

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from cluster.names import GroupError, subject
from cluster.tenant import QUOTA_NAME
from quotas.convergence import convergence_of
from quotas.selectors import namespaces_granted
from quotas.usage import QuotaView, usage_of
from quotas.views.history import history_of
from tenants.models import Namespace, TeamGroup
from tenants.rendering import page, page_of, person
from tenants.selectors import teams_visible


@require_safe
def namespace_list(request: HttpRequest) -> HttpResponse:
    """Namespaces with their use; `?team=` and `?name=` narrow them down."""
    user = person(request)
    team, name = request.GET.get("team", ""), request.GET.get("name", "").strip()
    rows = namespaces_granted(user).filter(released_at=None, name__contains=name)
    if team:
        rows = rows.filter(team__slug=team)
    shown = page_of(request, rows.order_by("name", "pk"))
    namespaces = list(shown)
    usage = usage_of(namespaces)
    context = {
        "page": shown,
        "namespaces": [(n, usage[n.pk]) for n in namespaces],
        "teams": teams_visible(user).order_by("name", "pk"),
        "team": team,
        "name": name,
        "topics": [f"namespace:{n.pk}" for n in namespaces],
    }
    return page(request, "quotas/namespace_list.html", context)


@require_safe
def namespace_detail(request: HttpRequest, cluster: str, name: str) -> HttpResponse:
    """The dashboard of one namespace."""
    user = person(request)
    # Names of namespaces are unique per cluster among those that stand.
    namespace = get_object_or_404(
        namespaces_granted(user).prefetch_related("team__team_groups"),
        cluster__slug=cluster,
        name=name,
        released_at=None,
    )
    grants = namespace.live_grants  # type: ignore[attr-defined]
    # Our own quota first, then those that others made.
    quotas = sorted(usage_of([namespace])[namespace.pk], key=lambda q: q.name != QUOTA_NAME)
    context = {
        "namespace": namespace,
        "grant": grants[0] if grants else None,
        "quotas": quotas,
        "contested": _contested(quotas),
        "convergence": convergence_of(namespace),
        "subjects": _subjects(namespace),
        "history": history_of(
            user, namespace=namespace, request_id=grants[0].request_id if grants else None
        ),
        "topics": [f"namespace:{namespace.pk}"],
    }
    return page(request, "quotas/namespace_detail.html", context)


def _contested(quotas: Collection[QuotaView]) -> set[str]:
    """The resources that several quotas limit for every pod, so that one of them binds."""
    counted = Counter(row.resource for quota in quotas if not quota.scope for row in quota.rows)
    return {resource for resource, times in counted.items() if times > 1}


def _subjects(namespace: Namespace) -> list[tuple[str, str]]:
    """Each group that works here and its name in the binding; empty where none can be bound."""
    found = []
    for group in namespace.team.team_groups.all():
        if group.role == TeamGroup.Role.MEMBER:
            try:
                found.append((group.name, subject(namespace.cluster.group_prefix, group.name)))
            except GroupError:
                found.append((group.name, ""))
    return found
