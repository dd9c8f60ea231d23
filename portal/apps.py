from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class PortalConfig(AppConfig):
    name = "portal"


class BerthAdminConfig(AdminConfig):
    default_site = "portal.admin_site.AdminSite"

    def ready(self) -> None:
        super().ready()
        from django.contrib import admin
        from django.contrib.auth.models import Group

        # Groups are the identity provider's; Django's own are not in use.
        admin.site.unregister(Group)
