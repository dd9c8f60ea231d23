"""Django's admin, for the portal's own admins and nobody else."""

from functools import update_wrapper
from typing import Any, NoReturn

from django.conf import settings
from django.contrib import admin
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext_lazy as _

from portal.signin.views import SignOutView
from tenants.permissions import Role, has_role


class AdminSite(admin.AdminSite):
    """Opens to whom the IdP names a platform admin; to others who are signed in it is not there."""

    site_title = site_header = _("Berth: clusters and teams")
    index_title = _("What admins decide")

    def has_permission(self, request: HttpRequest) -> bool:
        """Whether this person may see anything here."""
        return request.user.is_authenticated and has_role(request.user, Role.ADMIN)

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """As Django's, with 404 where that would offer somebody signed in to sign in again."""
        opened = super().admin_view(view, cacheable)

        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if request.user.is_authenticated and not self.has_permission(request):
                raise Http404
            return opened(request, *args, **kwargs)

        return update_wrapper(guarded, opened)

    @method_decorator(login_not_required)
    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """There is one way to sign in, the portal's."""
        if request.user.is_authenticated and not self.has_permission(request):
            raise Http404
        back_to = request.GET.get(REDIRECT_FIELD_NAME) or reverse("admin:index")
        return redirect_to_login(back_to, settings.LOGIN_URL)

    def logout(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """There is one way to sign out, too: of the provider's session as well."""
        return SignOutView.as_view()(request)

    def password_change(self, request: HttpRequest, extra_context: Any = None) -> NoReturn:
        """Nobody has a password here."""
        raise Http404

    password_change_done = password_change
