"""Addresses of teams and of the history."""

from django.urls import path

from tenants import views

urlpatterns = [
    path("teams/", views.team_list, name="teams"),
    path("teams/<slug:slug>/", views.team_detail, name="team"),
    path("history/", views.history, name="history"),
]
