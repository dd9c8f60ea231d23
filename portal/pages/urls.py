"""Addresses of the first page and of what stands on every page."""

from django.contrib.auth.decorators import login_not_required
from django.urls import path
from django.views.i18n import set_language

from portal.pages import views

urlpatterns = [
    path("", views.home, name="home"),
    path("notices/", views.notices, name="notices"),
    # As Django's own, but also for those who have not signed in yet.
    path("language/", login_not_required(set_language), name="language"),
]
