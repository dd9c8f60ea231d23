"""The portal, and a few pages of ours to protect."""

import json

from django.http import HttpResponse, JsonResponse
from django.urls import path
from rest_framework.response import Response
from rest_framework.views import APIView

from portal import urls as portal_urls


def form(request):
    return JsonResponse({"user": str(request.user.pk), "posted": dict(request.POST.lists())})


def stream(request):
    return HttpResponse("data: 1\n\n", content_type="text/event-stream")


def echo(request, text=""):
    body = json.loads(request.body) if request.content_type == "application/json" else None
    return JsonResponse({"path": text, "query": request.GET.dict(), "body": body})


echo.login_required = False


class Me(APIView):
    def get(self, request):
        user = request.user
        return Response(
            {"subject": user.subject, "name": user.name, "email": user.email, "groups": user.groups}
        )

    post = get


urlpatterns = [
    path("form/", form),
    path("stream/", stream),
    path("echo/", echo),
    path("echo/<path:text>", echo),
    path("who/", Me.as_view()),
    *portal_urls.urlpatterns,
]
