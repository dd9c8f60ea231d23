"""What people fill in. A form parses; whether it can be granted the services say.

Fields are named as the paths of `quotas.errors.Problems`, so that each objection of a service finds
its field by name.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any
from uuid import uuid4

from django import forms
from django.db.models import QuerySet
from django.forms.boundfield import BoundField
from django.utils.translation import gettext_lazy as _

from cluster.quantities import human
from quotas.checks import LIMIT_DEFAULT, LIMIT_DEFAULT_REQUEST, Wish, wish_of
from quotas.errors import Problems
from quotas.models import QuotaRequest
from quotas.usage import label, order
from tenants.models import Cluster, Team

# A development namespace of one team; what the form begins with.
AMOUNTS = {
    "requests.cpu": "20",
    "requests.memory": "100Gi",
    "limits.cpu": "40",
    "limits.memory": "200Gi",
    "requests.nvidia.com/gpu": "4",
    "pods": "10",
}
GPU = "nvidia.com/gpu"
DEFAULTS = {"limit_default": LIMIT_DEFAULT, "limit_default_request": LIMIT_DEFAULT_REQUEST}
LIMIT_LABELS = {
    "limit_default/cpu": _("CPU limit of a container"),
    "limit_default/memory": _("Memory limit of a container"),
    "limit_default_request/cpu": _("CPU request of a container"),
    "limit_default_request/memory": _("Memory request of a container"),
}
# What counts these at a node, where it isn't the part after "requests.".
NODE_RESOURCE = {"requests.cpu": "cpu", "requests.memory": "memory", "pods": "pods"}
MOMENT = "%Y-%m-%dT%H:%M"


class MomentInput(forms.DateTimeInput):
    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__(format=MOMENT)


class WishForm(forms.Form):
    """Everything of a `quotas.checks.Wish`, with a field for each resource that can be asked for.

    Every amount is filled in, since what a quota does not name is not limited at all.
    """

    team = forms.ModelChoiceField(
        Team.objects.none(), label=_("Team"), empty_label=None, to_field_name="slug"
    )
    cluster = forms.ModelChoiceField(
        Cluster.objects.none(), label=_("Cluster"), empty_label=None, to_field_name="slug"
    )
    name = forms.CharField(
        label=_("Name of the namespace"),
        required=False,
        strip=False,
        help_text=_("Small letters, digits and hyphens, such as team-alpha."),
    )
    starts_at = forms.DateTimeField(label=_("From"), required=False, widget=MomentInput())
    ends_at = forms.DateTimeField(label=_("Until"), required=False, widget=MomentInput())
    reason = forms.CharField(
        label=_("What is it for?"), required=False, widget=forms.Textarea({"rows": 4})
    )
    # Names this submission, so that sending it twice asks once.
    key = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(
        self,
        *args: Any,
        teams: QuerySet[Team],
        clusters: QuerySet[Cluster],
        request: QuotaRequest | None = None,
        **kwargs: Any,
    ) -> None:
        self.clusters = list(clusters)
        wish = wish_of(request) if request else None
        initial = kwargs.pop("initial", None) or {}
        kwargs["initial"] = {"key": uuid4(), **(_initial(wish) if wish else {}), **initial}
        super().__init__(*args, **kwargs)
        self.fields["team"].queryset = teams  # type: ignore[attr-defined]
        self.fields["cluster"].queryset = clusters  # type: ignore[attr-defined]
        amounts = AMOUNTS | (wish.amounts if wish else {})
        amounts |= {key: amounts.get(key, "0") for key in _accelerators(self.clusters)}
        for resource, amount in sorted(amounts.items(), key=order):
            self.fields[f"amounts/{resource}"] = _amount_field(
                resource, amount, hint=self._hint(resource)
            )
        for path, text in LIMIT_LABELS.items():
            part, _slash, resource = path.partition("/")
            values = getattr(wish, part) if wish else DEFAULTS[part]
            self.fields[path] = _amount_field(
                resource, values.get(resource, ""), text=text, required=False
            )
        for field in self.fields.values():
            select = isinstance(field.widget, forms.Select)
            field.widget.attrs["class"] = "form-select" if select else "form-control"
            field.widget.attrs["autocomplete"] = "off"

    def amount_fields(self) -> Iterator[BoundField]:
        """The fields of the quota, in order."""
        return (self[name] for name in self.fields if name.startswith("amounts/"))

    def limit_fields(self) -> Iterator[BoundField]:
        """The fields of what a container gets that names nothing itself."""
        return (self[name] for name in LIMIT_LABELS)

    def wish(self) -> Wish:
        """What was filled in, as typed. Only for a valid form."""
        data = self.cleaned_data
        return Wish(
            team=data["team"],
            cluster=data["cluster"],
            name=data["name"],
            amounts=self._amounts(),
            limit_default=self._part("limit_default"),
            limit_default_request=self._part("limit_default_request"),
            starts_at=data["starts_at"],
            ends_at=data["ends_at"],
            reason=data["reason"],
        )

    def add_problems(self, problems: Problems) -> None:
        """Put each objection beside its field; what has no field here stands above them all."""
        for path, sentences in problems.items():
            for sentence in sentences:
                self.add_error(path if path in self.fields else None, str(sentence))

    def _amounts(self) -> dict[str, str]:
        """The amounts, without accelerators of which there are to be none: not named is none."""
        return {
            resource: amount
            for resource, amount in self._part("amounts").items()
            if "/" not in resource or amount != "0"
        }

    def _part(self, part: str) -> dict[str, str]:
        prefix = f"{part}/"
        return {
            name.removeprefix(prefix): value
            for name, value in self.cleaned_data.items()
            if name.startswith(prefix) and value != ""
        }

    def _hint(self, resource: str) -> str:
        """What each cluster has in all of this resource; empty where nobody has seen it."""
        node = NODE_RESOURCE.get(resource, resource.removeprefix("requests."))
        if resource.startswith("limits."):
            return ""
        return ", ".join(
            _("%(cluster)s has %(amount)s in all")
            % {"cluster": cluster, "amount": human(resource, cluster.allocatable.get(node, "0"))}
            for cluster in self.clusters
            if cluster.allocatable is not None
        )


def _accelerators(clusters: Sequence[Cluster]) -> list[str]:
    """The quota keys of everything with a '/' that some cluster offers."""
    found = {r for c in clusters for r in c.allocatable or {} if "/" in r}
    return sorted(f"requests.{resource}" for resource in found)


def _amount_field(
    resource: str, amount: str, *, hint: str = "", text: Any = None, required: bool = True
) -> forms.CharField:
    return forms.CharField(
        label=text or label(resource),
        initial=amount,
        required=required,
        strip=False,
        help_text=hint,
        error_messages={"required": _("Give an amount; 0 allows none.")},
        widget=forms.TextInput({"placeholder": amount, "spellcheck": "false"}),
    )


def _initial(wish: Wish) -> dict[str, Any]:
    fields: Collection[str] = ("team", "cluster", "name", "starts_at", "ends_at", "reason")
    values = {field: getattr(wish, field) for field in fields}
    return values | {"team": wish.team.slug, "cluster": wish.cluster.slug}


class DecisionForm(forms.Form):
    """Which version a decision is about, and its comment."""

    version = forms.IntegerField(min_value=1, max_value=2**31 - 1)
    comment = forms.CharField(required=False)
