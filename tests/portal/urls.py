"""The portal's sign-in and health, with a few pages of ours to protect."""

import json

from django.http import HttpResponse, JsonResponse
from django.urls import include, path
from rest_framework.response import Response
from rest_framework.views import APIView, exception_handler


def form(request):
    return JsonResponse({"user": str(request.user.pk), "posted": dict(request.POST.lists())})


def stream(request):
    return HttpResponse("data: 1\n\n", content_type="text/event-stream")


def echo(request, text=""):
    body = json.loads(request.body) if request.content_type == "application/json" else None
    return JsonResponse({"path": text, "query": request.GET.dict(), "body": body})


echo.login_required = False


class Me(APIView):
    def get_exception_handler(self):
        return exception_handler

    def get(self, request):
        user = request.user
        return Response(
            {"subject": user.subject, "name": user.name, "email": user.email, "groups": user.groups}
        )

    post = get


urlpatterns = [
    path("", include("portal.signin.urls")),
    path("health/", include("portal.health.urls")),
    path("form/", form),
    path("stream/", stream),
    path("echo/", echo),
    path("echo/<path:text>", echo),
    path("api/v1/me/", Me.as_view()),
    path("", form),
]
