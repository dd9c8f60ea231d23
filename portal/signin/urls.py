"""Signing in and out. The first three names are those that mozilla-django-oidc looks up."""

from django.urls import path

from portal.signin import views

urlpatterns = [
    path("oidc/authenticate/", views.AuthenticateView.as_view(), name="oidc_authentication_init"),
    path("oidc/callback/", views.CallbackView.as_view(), name="oidc_authentication_callback"),
    path("oidc/logout/", views.SignOutView.as_view(), name="oidc_logout"),
    path("sign-in/done/", views.signed_in, name="signed_in"),
    path("sign-in/out/", views.signed_out, name="signed_out"),
]
