"""The API of requests, namespaces and use. What a page can do, it can do, by the same services."""

import dataclasses
from typing import Any, ClassVar, cast

import django_filters
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.mixins import ListModelMixin, RetrieveModelMixin
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import GenericViewSet

from quotas import services
from quotas.checks import Wish, wish_of
from quotas.errors import Conflict
from quotas.models import QuotaRequest
from quotas.selectors import namespaces_granted, requests_visible
from quotas.serializers import (
    ApproveSerializer,
    DenySerializer,
    EditSerializer,
    NamespaceSerializer,
    RequestSerializer,
    UsageSerializer,
    WishSerializer,
    WithdrawSerializer,
)
from quotas.states import Status
from quotas.usage import usage_of
from tenants.models import Namespace, User

IDEMPOTENCY_KEY = "Idempotency-Key"
KEY_MAX = 255


class NamespaceFilter(django_filters.FilterSet):
    """By team, cluster and name, or by whether the cluster has all that was granted."""

    team = django_filters.CharFilter(field_name="team__slug")
    cluster = django_filters.CharFilter(field_name="cluster__slug")
    name = django_filters.CharFilter()
    ready = django_filters.BooleanFilter(method="filter_ready")

    class Meta:
        model = Namespace
        fields: ClassVar[list[str]] = []

    def filter_ready(
        self, namespaces: QuerySet[Namespace], name: str, ready: bool
    ) -> QuerySet[Namespace]:
        is_ready = {"conditions__contains": [{"type": "Ready", "status": "True"}]}
        return namespaces.filter(**is_ready) if ready else namespaces.exclude(**is_ready)


class VisibleNamespaces(GenericViewSet[Namespace]):
    """The namespaces that the caller may see."""

    queryset = Namespace.objects.none()
    filterset_class = NamespaceFilter

    def get_queryset(self) -> QuerySet[Namespace]:
        return namespaces_granted(cast(User, self.request.user))


class NamespaceViewSet(ListModelMixin, RetrieveModelMixin, VisibleNamespaces):
    """Namespaces: what was granted, and how far the cluster has come."""

    serializer_class = NamespaceSerializer
    lookup_value_converter = "uuid"

    @extend_schema(responses=UsageSerializer)
    @action(detail=True, filterset_class=None)
    def usage(self, request: Request, pk: str) -> Response:
        """The use of this namespace, per quota that stands in it."""
        return Response(_usage([self.get_object()])[0])


class UsageViewSet(ListModelMixin, VisibleNamespaces):
    """The use of all namespaces that the caller may see."""

    serializer_class = UsageSerializer

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response(_usage(page or []))


def _usage(namespaces: list[Namespace]) -> Any:
    context = {"usage": usage_of(namespaces)}
    return UsageSerializer(namespaces, many=True, context=context).data


class RequestFilter(django_filters.FilterSet):
    """By where it stands, team, cluster and name of the namespace."""

    status = django_filters.ChoiceFilter(choices=Status.choices)
    team = django_filters.CharFilter(field_name="team__slug")
    cluster = django_filters.CharFilter(field_name="cluster__slug")
    name = django_filters.CharFilter()

    class Meta:
        model = QuotaRequest
        fields: ClassVar[list[str]] = []


class RequestViewSet(ListModelMixin, RetrieveModelMixin, GenericViewSet[QuotaRequest]):
    """Requests.

    Each change names the `version` that the caller saw. If the request has moved on since, the
    answer is 409 with the request as it is now in `request`. The same person's same decision again
    gets the same answer again.
    """

    queryset = QuotaRequest.objects.none()
    serializer_class = RequestSerializer
    filterset_class = RequestFilter
    lookup_value_converter = "int"

    @property
    def actor(self) -> User:
        return cast(User, self.request.user)

    def get_queryset(self) -> QuerySet[QuotaRequest]:
        return requests_visible(self.actor)

    @extend_schema(
        request=WishSerializer,
        responses={201: RequestSerializer},
        parameters=[
            OpenApiParameter(
                IDEMPOTENCY_KEY,
                str,
                OpenApiParameter.HEADER,
                description="A text of your own, at most 255 characters. The same wish sent again "
                "with the same key is answered with the same request; another wish gets 409.",
            )
        ],
    )
    def create(self, request: Request) -> Response:
        """Ask for a namespace."""
        wish = Wish(**self._input(WishSerializer))
        submitted = services.request_submit(
            actor=self.actor, wish=wish, idempotency_key=_idempotency_key(request)
        )
        return self._answer(submitted, status=201)

    @extend_schema(request=EditSerializer, responses=RequestSerializer)
    def update(self, request: Request, pk: int) -> Response:
        """Ask for something else instead, in a new version."""
        return self._edit(partial=False)

    @extend_schema(request=EditSerializer, responses=RequestSerializer)
    def partial_update(self, request: Request, pk: int) -> Response:
        """Ask for something else in part; what is not named stays."""
        return self._edit(partial=True)

    @extend_schema(request=ApproveSerializer, responses=RequestSerializer)
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, pk: int) -> Response:
        """Allow exactly the version that was shown."""
        return self._decide(services.request_approve, ApproveSerializer)

    @extend_schema(request=DenySerializer, responses=RequestSerializer)
    @action(detail=True, methods=["post"])
    def deny(self, request: Request, pk: int) -> Response:
        """Say no, with a reason."""
        return self._decide(services.request_deny, DenySerializer)

    @extend_schema(request=WithdrawSerializer, responses=RequestSerializer)
    @action(detail=True, methods=["post"])
    def withdraw(self, request: Request, pk: int) -> Response:
        """Take the request back."""
        return self._decide(services.request_withdraw, WithdrawSerializer)

    def _edit(self, *, partial: bool) -> Response:
        shown = self.get_object()
        values = self._input(EditSerializer, partial=partial)
        version = values.pop("version")
        wish = dataclasses.replace(wish_of(shown), **values)
        return self._answer(
            services.request_edit(actor=self.actor, request=shown, version=version, wish=wish)
        )

    def _decide(self, service: Any, serializer: type[BaseSerializer[Any]]) -> Response:
        shown = self.get_object()
        values = self._input(serializer)
        return self._answer(service(actor=self.actor, request=shown, **values))

    def _input(self, serializer: type[BaseSerializer[Any]], **options: Any) -> dict[str, Any]:
        read = serializer(data=self.request.data, context=self.get_serializer_context(), **options)
        read.is_valid(raise_exception=True)
        return dict(read.validated_data)

    def _answer(self, request: QuotaRequest, *, status: int = 200) -> Response:
        return Response(self._as_it_is(request.pk), status=status)

    def _as_it_is(self, pk: Any) -> Any:
        return RequestSerializer(self.get_queryset().get(pk=pk)).data

    def handle_exception(self, exc: Exception) -> Response:
        """As everywhere; a conflict also tells how the request is now."""
        response = super().handle_exception(exc)
        if isinstance(exc, Conflict) and "pk" in self.kwargs:
            response.data["request"] = self._as_it_is(self.kwargs["pk"])
        return response


def _idempotency_key(request: Request) -> str:
    key = request.headers.get(IDEMPOTENCY_KEY)
    if key is None:
        return ""
    if not (0 < len(key) <= KEY_MAX and key.isascii() and key.isprintable()):
        words = _("Between 1 and %(limit)d printable ASCII characters.") % {"limit": KEY_MAX}
        raise ValidationError({IDEMPOTENCY_KEY: [words]})
    return key
