"""Every address of the portal."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("portal.signin.urls")),
    path("health/", include("portal.health.urls")),
    path("api/", include("portal.api.urls")),
    path("admin/", admin.site.urls),
    path("i18n/", include("django.conf.urls.i18n")),
    path("", include("quotas.urls")),
    path("", include("tenants.urls")),
    path("", include("portal.pages.urls")),
]
