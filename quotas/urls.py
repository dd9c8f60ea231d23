"""Addresses of requests, reviews, namespaces and clusters, and of the stream."""

from django.urls import path

from quotas.stream import stream
from quotas.views import clusters, namespaces, requests

urlpatterns = [
    path("requests/", requests.request_list, name="requests"),
    path("requests/new/", requests.request_new, name="request_new"),
    path("requests/<int:pk>/", requests.request_detail, name="request"),
    path("requests/<int:pk>/edit/", requests.request_edit, name="request_edit"),
    path("requests/<int:pk>/approve/", requests.request_approve, name="request_approve"),
    path("requests/<int:pk>/deny/", requests.request_deny, name="request_deny"),
    path("requests/<int:pk>/withdraw/", requests.request_withdraw, name="request_withdraw"),
    path("reviews/", requests.review_list, name="reviews"),
    path("namespaces/", namespaces.namespace_list, name="namespaces"),
    path("namespaces/<slug:cluster>/<slug:name>/", namespaces.namespace_detail, name="namespace"),
    path("clusters/", clusters.cluster_list, name="clusters"),
    path("clusters/<slug:slug>/", clusters.cluster_detail, name="cluster"),
    path("stream/", stream, name="stream"),
]
