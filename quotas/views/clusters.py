"""Pages of clusters: what they offer, what is promised and used."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from quotas.capacity import capacity_of
from tenants.rendering import page, page_of, person
from tenants.selectors import clusters_visible, namespaces_visible


@require_safe
def cluster_list(request: HttpRequest) -> HttpResponse:
    """Every cluster, with what is left on it."""
    shown = page_of(request, clusters_visible(person(request)).order_by("name", "pk"))
    clusters = list(shown)
    capacity = capacity_of(clusters)
    context = {
        "page": shown,
        "clusters": [(cluster, capacity[cluster.pk]) for cluster in clusters],
        "topics": [f"cluster:{cluster.slug}" for cluster in clusters],
    }
    return page(request, "quotas/cluster_list.html", context)


@require_safe
def cluster_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """One cluster, and on it the namespaces that this person may see."""
    user = person(request)
    cluster = get_object_or_404(clusters_visible(user), slug=slug)
    namespaces = namespaces_visible(user).filter(cluster=cluster, released_at=None)
    context = {
        "cluster": cluster,
        "capacity": capacity_of([cluster])[cluster.pk],
        "page": page_of(request, namespaces.order_by("name", "pk")),
        "topics": [f"cluster:{cluster.slug}"],
    }
    return page(request, "quotas/cluster_detail.html", context)
