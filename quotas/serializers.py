"""How the API reads wishes and decisions, and writes requests, namespaces and use."""

from collections.abc import Mapping
from typing import Any, cast

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from quotas.checks import LIMIT_DEFAULT, LIMIT_DEFAULT_REQUEST
from quotas.models import Grant, QuotaRequest, Review
from tenants.models import Cluster, Namespace, Team
from tenants.selectors import clusters_visible, teams_visible
from tenants.serializers import PersonSerializer
from tenants.states import is_true

# --- read ---------------------------------------------------------------------------------------


class InputSerializer(serializers.Serializer[Any]):
    """Refuses what it does not know, rather than let a slip of the pen pass for agreement."""

    def to_internal_value(self, data: Any) -> Any:
        names = data.keys() if isinstance(data, Mapping) else set()
        errors: dict[Any, Any] = {
            name: [_("This can't be set here.")] for name in names - self.fields.keys()
        }
        try:
            value = super().to_internal_value(data)
        except serializers.ValidationError as error:
            errors |= cast(dict[Any, Any], error.detail)
        if errors:
            raise serializers.ValidationError(errors)
        return value


class TextField(serializers.CharField):
    """Text exactly as it was sent. A number is none."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, allow_blank=True, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class AmountField(TextField):
    """A quantity in Kubernetes' writing, such as "100Gi". A whole number stands for itself."""

    default_error_messages = {"invalid": gettext_lazy("Write the amount as text, as in “100Gi”.")}

    def to_internal_value(self, data: Any) -> str:
        if type(data) is int:
            return str(data)
        return super().to_internal_value(data)


class SlugField(serializers.SlugRelatedField[Any]):
    """A short name. What the caller may not see is answered as what there is not."""

    default_error_messages = {
        "does_not_exist": gettext_lazy("There is none of this name."),
        "invalid": gettext_lazy("Not a valid string."),
    }

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(slug_field="slug", **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class TeamField(SlugField):
    def get_queryset(self) -> QuerySet[Team]:
        return teams_visible(self.context["request"].user)


class ClusterField(SlugField):
    def get_queryset(self) -> QuerySet[Cluster]:
        return clusters_visible(self.context["request"].user)


class WishSerializer(InputSerializer):
    """What is asked for.

    `amounts` is a ResourceQuota's `hard`; the limits are a container's defaults in the LimitRange.
    """

    team = TeamField(queryset=Team.objects.none())
    cluster = ClusterField(queryset=Cluster.objects.none())
    name = TextField()
    amounts = serializers.DictField(child=AmountField())
    limit_default = serializers.DictField(child=AmountField(), default=LIMIT_DEFAULT.copy)
    limit_default_request = serializers.DictField(
        child=AmountField(), default=LIMIT_DEFAULT_REQUEST.copy
    )
    starts_at = serializers.DateTimeField(allow_null=True, default=None)
    ends_at = serializers.DateTimeField(allow_null=True, default=None)
    reason = TextField()


class VersionField(serializers.IntegerField):
    """The version of the request that the caller saw; another one now is a conflict."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=1, **kwargs)


class EditSerializer(WishSerializer):
    """What is asked for instead. An amounts map is replaced as a whole."""

    version = VersionField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "version" not in attrs:
            raise serializers.ValidationError({"version": [_("Name the version that you saw.")]})
        return attrs


class WithdrawSerializer(InputSerializer):
    version = VersionField()


class ApproveSerializer(InputSerializer):
    version = VersionField()
    comment = TextField(default="")


class DenySerializer(InputSerializer):
    version = VersionField()
    comment = TextField()


# --- write --------------------------------------------------------------------------------------


class AmountsSerializer(serializers.Serializer[Any]):
    """The columns that a request and a grant share."""

    amounts = serializers.DictField(child=serializers.CharField(), read_only=True)
    limit_default = serializers.DictField(child=serializers.CharField(), read_only=True)
    limit_default_request = serializers.DictField(child=serializers.CharField(), read_only=True)
    starts_at = serializers.DateTimeField(allow_null=True, read_only=True)
    ends_at = serializers.DateTimeField(allow_null=True, read_only=True)


class ReviewSerializer(serializers.ModelSerializer[Review]):
    reviewer = PersonSerializer(read_only=True)

    class Meta:
        model = Review
        fields = ["decision", "version", "comment", "reviewer", "at"]
        read_only_fields = fields


class RequestSerializer(AmountsSerializer, serializers.ModelSerializer[QuotaRequest]):
    """A request as it stands. `namespace` is null until it was approved."""

    team = serializers.SlugRelatedField[Team](slug_field="slug", read_only=True)
    cluster = serializers.SlugRelatedField[Cluster](slug_field="slug", read_only=True)
    requester = PersonSerializer(read_only=True)
    editor = PersonSerializer(read_only=True)
    reviews = ReviewSerializer(many=True, read_only=True)

    class Meta:
        model = QuotaRequest
        fields = [
            "id",
            "version",
            "status",
            "team",
            "cluster",
            "name",
            "amounts",
            "limit_default",
            "limit_default_request",
            "starts_at",
            "ends_at",
            "reason",
            "requester",
            "editor",
            "submitted_at",
            "decided_at",
            "reviews",
            "namespace",
        ]
        read_only_fields = fields


class ConditionSerializer(serializers.Serializer[Any]):
    """One condition, in the form that Kubernetes uses."""

    type = serializers.CharField()
    status = serializers.ChoiceField(["True", "False", "Unknown"])
    reason = serializers.CharField()
    message = serializers.CharField(allow_blank=True)
    lastTransitionTime = serializers.DateTimeField()  # noqa: N815
    observedGeneration = serializers.IntegerField(required=False)  # noqa: N815


class GrantSerializer(AmountsSerializer, serializers.ModelSerializer[Grant]):
    """What was allowed, and by which request."""

    class Meta:
        model = Grant
        fields = [
            "id",
            "request",
            "amounts",
            "limit_default",
            "limit_default_request",
            "starts_at",
            "ends_at",
            "created_at",
        ]
        read_only_fields = fields


class NamespaceSerializer(serializers.ModelSerializer[Namespace]):
    """A namespace: what was granted, and how far the cluster has come.

    The cluster has caught up when `observed_generation` equals `generation`.
    """

    team = serializers.SlugRelatedField[Team](slug_field="slug", read_only=True)
    cluster = serializers.SlugRelatedField[Cluster](slug_field="slug", read_only=True)
    ready = serializers.SerializerMethodField()
    conditions = ConditionSerializer(many=True, read_only=True)
    grant = serializers.SerializerMethodField()

    class Meta:
        model = Namespace
        fields = [
            "id",
            "name",
            "team",
            "cluster",
            "uid",
            "generation",
            "observed_generation",
            "ready",
            "conditions",
            "grant",
            "created_at",
            "released_at",
        ]
        read_only_fields = fields

    def get_ready(self, namespace: Namespace) -> bool:
        return is_true(namespace.conditions, "Ready")

    @extend_schema_field(GrantSerializer(allow_null=True))
    def get_grant(self, namespace: Any) -> Any:
        return GrantSerializer(namespace.live_grants[0]).data if namespace.live_grants else None


class RowSerializer(serializers.Serializer[Any]):
    """One resource of one quota, in plain numbers: bytes, cores, pieces.

    `used` is null where the cluster has not reported, `percent` where it has no meaning. Among
    several quotas that count everything the `binding` one has the lowest limit.
    """

    resource = serializers.CharField()
    label: Any = serializers.CharField()
    used = serializers.DecimalField(max_digits=None, decimal_places=None, allow_null=True)
    hard = serializers.DecimalField(max_digits=None, decimal_places=None)
    used_text = serializers.CharField()
    hard_text = serializers.CharField()
    percent = serializers.FloatField(allow_null=True)
    level = serializers.ChoiceField(["unreported", "none", "ok", "high", "full", "over"])
    binding = serializers.BooleanField()


class QuotaSerializer(serializers.Serializer[Any]):
    """One ResourceQuota; `as_of` is up to when its figures are known to be current."""

    name = serializers.CharField()
    scope = serializers.CharField(allow_blank=True)
    reported = serializers.BooleanField()
    as_of = serializers.DateTimeField(allow_null=True)
    rows = RowSerializer(many=True)


class UsageSerializer(serializers.Serializer[Any]):
    """The use of one namespace, per quota that stands in it."""

    namespace = serializers.UUIDField(source="pk")
    name = serializers.CharField()
    team = serializers.CharField(source="team.slug")
    cluster = serializers.CharField(source="cluster.slug")
    quotas = serializers.SerializerMethodField()

    @extend_schema_field(QuotaSerializer(many=True))
    def get_quotas(self, namespace: Namespace) -> Any:
        return QuotaSerializer(self.context["usage"][namespace.pk], many=True).data
