from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class PortalConfig(AppConfig):
    name = "portal"


class BerthAdminConfig(AdminConfig):
    default_site = "portal.admin_site.AdminSite"
