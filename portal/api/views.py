"""What belongs to no room."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView


@extend_schema(exclude=True)
class Unknown(APIView):
    """404 for every other address under /api/, in the API's own form.

    Without it an address without its last slash would be redirected, and a POST become a GET.
    """

    permission_classes = [AllowAny]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise Http404
