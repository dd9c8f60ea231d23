"""Addresses under /api/."""

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.routers import SimpleRouter

from portal.api.views import Unknown
from quotas.api import NamespaceViewSet, RequestViewSet, UsageViewSet
from tenants.api import ClusterViewSet, HistoryViewSet, MeView, TeamViewSet

router = SimpleRouter(use_regex_path=False)
router.register("teams", TeamViewSet, basename="api-team")
router.register("clusters", ClusterViewSet, basename="api-cluster")
router.register("namespaces", NamespaceViewSet, basename="api-namespace")
router.register("usage", UsageViewSet, basename="api-usage")
router.register("requests", RequestViewSet, basename="api-request")
router.register("history", HistoryViewSet, basename="api-history")

v1 = [
    path("me/", MeView.as_view(), name="api-me"),
    *router.urls,
]

urlpatterns = [
    path("v1/", include(v1)),
    path("schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("docs/", SpectacularSwaggerSplitView.as_view(url_name="api-schema"), name="api-docs"),
    path("<path:rest>", Unknown.as_view()),
]
