"""Whether what was asked for can be granted at all. One verdict for form, API and worker."""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.utils.translation import gettext as _

from cluster.amounts import COUNTED, check_amounts, check_limit_range
from cluster.names import check_namespace_name
from cluster.problem import Problem
from cluster.quantities import parse
from quotas.models import QuotaRequest
from quotas.states import Status
from tenants.models import Cluster, Namespace, Team, TeamGroup
from tenants.problems import sentence

REASON_MAX = 2_000
# Past this, a date is a slip of the pen, and some cannot be told in every time zone.
FAR = timedelta(days=36_500)

# What a container gets that names nothing, where the one who asks has no opinion.
LIMIT_DEFAULT = {"cpu": "1", "memory": "1Gi"}
LIMIT_DEFAULT_REQUEST = {"cpu": "500m", "memory": "512Mi"}


@dataclass(frozen=True, kw_only=True)
class Wish:
    """Everything a person fills in: for which team, where, how much, how long and why.

    Amounts are a ResourceQuota's `hard`, limits a LimitRange's defaults, as typed.
    """

    team: Team
    cluster: Cluster
    name: str
    amounts: dict[str, str]
    limit_default: dict[str, str]
    limit_default_request: dict[str, str]
    starts_at: datetime | None
    ends_at: datetime | None
    reason: str


def wish_of(request: QuotaRequest) -> Wish:
    """What this request asks for as it stands."""
    return Wish(
        team=request.team,
        cluster=request.cluster,
        name=request.name,
        amounts=request.amounts,
        limit_default=request.limit_default,
        limit_default_request=request.limit_default_request,
        starts_at=request.starts_at,
        ends_at=request.ends_at,
        reason=request.reason,
    )


def wish_digest(wish: Wish) -> str:
    """A fingerprint of everything in the wish: the same for the same wish, whenever asked."""
    times = [t and t.astimezone(UTC).isoformat() for t in (wish.starts_at, wish.ends_at)]
    parts = {**vars(wish), "team": str(wish.team.pk), "cluster": str(wish.cluster.pk)}
    parts["starts_at"], parts["ends_at"] = times
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def offered(cluster: Cluster) -> dict[str, Decimal] | None:
    """What the cluster's nodes offer in all, per resource; None until the watcher has seen them."""
    if cluster.allocatable is None:
        return None
    return {resource: parse(amount) for resource, amount in cluster.allocatable.items()}


def name_problem(name: str) -> Problem | None:
    """Why no namespace may be called so, whoever asks."""
    return check_namespace_name(
        name,
        reserved=settings.BERTH_RESERVED_NAMES,
        reserved_prefixes=settings.BERTH_RESERVED_PREFIXES,
    )


def wish_problems(
    wish: Wish, *, at: datetime, own: QuotaRequest | None = None
) -> dict[str, list[str]]:
    """Everything that stands against this wish, by field path; empty where nothing does.

    `own` is the request that is being edited, whose name does not stand in its own way.
    """
    problems: dict[str, list[str]] = {}

    def add(field: str, text: str) -> None:
        problems.setdefault(field, []).append(text)

    if not any(group.role == TeamGroup.Role.MEMBER for group in wish.team.team_groups.all()):
        add("team", _("The team has no group of members, so nobody could work there."))
    if problem := name_problem(wish.name):
        add("name", sentence(problem))
    elif name_taken(wish.cluster, wish.name, own=own):
        add("name", _("This name is taken on this cluster."))
    if not wish.cluster.enabled:
        add("cluster", _("Nothing can be asked for on this cluster at present."))
    for resource, found in check_amounts(wish.amounts, offered=offered(wish.cluster)).items():
        add(f"amounts/{resource}", sentence(found))
    for resource in COUNTED.keys() - wish.amounts.keys():
        # What a quota does not name it does not limit.
        add(f"amounts/{resource}", _("Give an amount; 0 allows none."))
    for resource in LIMIT_DEFAULT.keys() - wish.limit_default.keys():
        # The quota refuses a pod that names no limit and gets none.
        add(f"limit_default/{resource}", _("Give one: a pod that names none would be refused."))
    limits = check_limit_range(wish.limit_default, wish.limit_default_request)
    for path, found in limits.items():
        add(path, sentence(found))
    if not wish.reason.strip():
        add("reason", _("Say what it is for."))
    if len(wish.reason) > REASON_MAX:
        add("reason", _("At most %(limit)d characters.") % {"limit": REASON_MAX})
    for field, moment in (("starts_at", wish.starts_at), ("ends_at", wish.ends_at)):
        if moment is not None and abs(moment - at) > FAR:
            add(field, _("This is more than a hundred years away."))
    if wish.ends_at is not None:
        if wish.ends_at <= at:
            add("ends_at", _("This is in the past."))
        elif wish.starts_at is not None and wish.ends_at <= wish.starts_at:
            add("ends_at", _("The end must come after the start."))
    return problems


def name_taken(cluster: Cluster, name: str, *, own: QuotaRequest | None) -> bool:
    """Whether a namespace or another waiting request of this name stands on this cluster."""
    waiting = QuotaRequest.objects.filter(status=Status.SUBMITTED, cluster=cluster, name=name)
    if own is not None:
        waiting = waiting.exclude(pk=own.pk)
    held = Namespace.objects.filter(cluster=cluster, name=name, released_at=None)
    return waiting.exists() or held.exists()
