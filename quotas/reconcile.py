"""Brings one namespace to what was granted: read, build, apply, read back, write conditions.

Level-triggered and idempotent: it looks at what should stand now, not at what happened. Running it
twice, late or after a crash at any point ends in the same place.
"""

import logging
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Case, DateTimeField, F, Q, Value, When
from django.utils import timezone

from cluster import bridge
from cluster.amounts import check_amounts
from cluster.client import Client, Connection
from cluster.errors import ClusterError, Waiting
from cluster.names import GroupError
from cluster.steps import STEPS, Step
from cluster.tenant import Tenant
from quotas.checks import name_problem, offered
from quotas.desired import desired_tenant
from quotas.models import Grant
from tenants.models import Cluster, Namespace, TeamGroup, Transition
from tenants.publish import publish
from tenants.services import transition_record
from tenants.states import READY, Status, is_true, with_condition

log = logging.getLogger(__name__)

STEP_TIMEOUT_S = 30
BACKOFF_MAX_S = 60
# A cluster that is out of sight is asked for so long, and so long after without an answer again.
PROBE_S = 2
PROBE_AGAIN_S = 5
# A refusal stands until somebody changes something; look again now and then all the same.
REFUSED_AGAIN = timedelta(minutes=10)


def connection_of(cluster: Cluster) -> Connection:
    """How Berth reaches this cluster."""
    return Connection(
        kubeconfig=cluster.kubeconfig,
        context=cluster.context,
        strict_certificates=cluster.strict_certificates,
    )


# When a cluster out of sight last gave no answer to this process, and how that ended.
_unanswered: dict[UUID, tuple[float, ClusterError]] = {}


def namespace_reconcile(namespace_id: UUID) -> None:
    """Converge this namespace, unless another worker is at it; that one then sees what changed."""
    with _claim(namespace_id) as claimed:
        if not claimed:
            return
        # Whoever approved a change meanwhile found the claim taken, so look once more.
        while (done := _pass(namespace_id)) is not None and _changed_since(namespace_id, done):
            pass


@contextmanager
def _claim(namespace_id: UUID) -> Iterator[bool]:
    """Hold the namespace for this worker. PostgreSQL lets go when the worker dies."""
    key = int.from_bytes(namespace_id.bytes[:8], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [key])
        claimed = cursor.fetchone()[0]
    try:
        yield claimed
    finally:
        if claimed:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [key])


def _changed_since(namespace_id: UUID, generation: int) -> bool:
    return Namespace.objects.filter(pk=namespace_id, generation__gt=generation).exists()


def _pass(namespace_id: UUID) -> int | None:
    """One pass over the steps; the generation it worked for, None where there is nothing to do."""
    now = timezone.now()
    namespace = (
        Namespace.objects.select_related("cluster", "team")
        .filter(pk=namespace_id, released_at=None)
        .first()
    )
    grant = Grant.objects.filter(namespace=namespace_id, superseded_at=None).first()
    if namespace is None or grant is None:
        return None
    work = _Work(namespace)
    if grant.starts_at is not None and grant.starts_at > now:
        work.not_yet(grant.starts_at)
        return namespace.generation
    members = namespace.team.team_groups.filter(role=TeamGroup.Role.MEMBER)
    groups = list(members.values_list("name", flat=True))
    there = offered(namespace.cluster)
    if not namespace.uid and not there:
        # Which accelerators there are is not known yet: those of the grant may be misspelt, which
        # the API server takes without limiting anything, and others would be free. The watcher
        # nudges when it knows.
        work.retry(READY, "NodesUnknown", "The cluster's nodes have not been seen yet.")
        return namespace.generation
    try:
        tenant = desired_tenant(namespace, grant, groups=groups, offered=there or (), at=now)
        words = _objections(namespace, grant, groups, there)
    except GroupError as error:
        words = str(error)
    if words:
        work.stop(READY, "Refused", words)
        return namespace.generation
    if work.converge(tenant):
        ends = grant.ends_at if grant.ends_at is not None and grant.ends_at > now else None
        work.ready(look_again=ends)
    return namespace.generation


def _objections(
    namespace: Namespace,
    grant: Grant,
    groups: list[str],
    there: Mapping[str, Decimal] | None,
) -> str:
    """What the worker itself has against this grant, in the form's words; empty where nothing.

    The form asked the same, perhaps before the cluster was there to tell what it offers. What
    stands already is not taken back because a node is away or its name was reserved later. And it
    still converges when its team's last group of members is gone: those people must lose their
    access.
    """
    found = check_amounts(grant.amounts, offered=None if namespace.uid else there).values()
    words = [str(problem) for problem in found]
    if namespace.uid:
        return " ".join(words)
    if problem := name_problem(namespace.name):
        words.insert(0, str(problem))
    if not groups:
        words.append("The team has no group of members, so nobody could work there.")
    return " ".join(words)


def _silence(cluster: Cluster, client: Client) -> ClusterError | None:
    """How a cluster that the watcher has lost is silent still; None where it may well answer.

    Asked before anything else, and briefly: each of its namespaces would hold a thread of the
    worker until time runs out, and those of other clusters would wait for a thread.
    """
    if cluster.lost_since is None:
        _unanswered.pop(cluster.pk, None)
        return None
    last = _unanswered.get(cluster.pk)
    if last is not None and time.monotonic() - last[0] < PROBE_AGAIN_S:
        return last[1]
    try:
        bridge.run(client.version(), timeout=PROBE_S)
    except ClusterError as error:
        _unanswered[cluster.pk] = time.monotonic(), error
        return error
    return None


class _Work:
    """Writes down how far one pass has come, for the pages that are watching and for the sweep."""

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace
        self.was_ready = is_true(namespace.conditions, READY)

    def converge(self, tenant: Tenant) -> bool:
        """Run all steps in order; False where one could not be finished now."""
        client = bridge.client_for(connection_of(self.namespace.cluster))
        if silence := _silence(self.namespace.cluster, client):
            self.retry(READY, silence.reason, str(silence))
            return False
        for step in STEPS:
            try:
                done = bridge.run(step.run(client, tenant), timeout=STEP_TIMEOUT_S)
            except Waiting as wait:
                self.retry(step.condition, wait.reason, wait.message)
                return False
            except ClusterError as error:
                if error.retryable:
                    self.retry(step.condition, error.reason, str(error), after=error.retry_after)
                else:
                    self.stop(step.condition, error.reason, str(error))
                return False
            tenant = done or tenant
            self.done(step, tenant)
        return True

    def done(self, step: Step, tenant: Tenant) -> None:
        """Tick off a step; the namespace's uid is kept as soon as it is known."""
        with transaction.atomic():
            if tenant.uid != self.namespace.uid:
                self._record("recreated" if self.namespace.uid else "created", uid=tenant.uid)
            self._save({step.condition: ("True", step.reason, "")}, uid=tenant.uid)

    def ready(self, *, look_again: datetime | None) -> None:
        """All of it stands."""
        # Whoever saw a change meanwhile has noted another time, which then holds.
        as_begun = When(reconcile_at=self.namespace.reconcile_at, then=Value(look_again))
        with transaction.atomic():
            if not self._known_ready():
                self._record("ready")
            self._save(
                {READY: ("True", "Converged", "")},
                observed_generation=self.namespace.generation,
                reconcile_at=Case(
                    as_begun, default=F("reconcile_at"), output_field=DateTimeField()
                ),
                failures=0,
            )

    def _known_ready(self) -> bool:
        """Whether the history says so already; waiting in between leaves no line."""
        lines = Transition.objects.filter(
            namespace=self.namespace, action__in=["ready", "not_ready", "recreated"]
        )
        return self.was_ready or lines.values_list("action", flat=True).first() == "ready"

    def not_yet(self, starts_at: datetime) -> None:
        """Granted, but from a later time on."""
        self._save(
            {READY: ("False", "NotStarted", f"Granted from {starts_at.isoformat()}.")},
            observed_generation=self.namespace.generation,
            reconcile_at=starts_at,
        )

    def retry(
        self, condition: str, reason: str, message: str, *, after: float | None = None
    ) -> None:
        """Not finished, and time may cure it: look again soon, then ever less often."""
        failures = self.namespace.failures + 1
        delay = after or min(0.5 * 2**failures, BACKOFF_MAX_S) * random.uniform(0.5, 1)  # noqa: S311
        self._save(
            {
                condition: ("Unknown", reason, message),
                READY: ("False", reason, message),
            },
            reconcile_at=timezone.now() + timedelta(seconds=delay),
            failures=failures,
        )
        log.info("namespace %s waits at %s: %s %s", self.namespace, condition, reason, message)

    def stop(self, condition: str, reason: str, message: str) -> None:
        """Trying again can't cure it: say so in the server's own words."""
        with transaction.atomic():
            if self.was_ready:
                self._record("not_ready", reason=f"{reason}: {message}")
            self._save(
                {
                    condition: ("False", reason, message),
                    READY: ("False", reason, message),
                },
                observed_generation=self.namespace.generation,
                reconcile_at=timezone.now() + REFUSED_AGAIN,
            )
        log.warning("namespace %s stops at %s: %s %s", self.namespace, condition, reason, message)

    def _save(self, found: dict[str, tuple[Status, str, str]], **columns: object) -> None:
        namespace = self.namespace
        for type, (status, reason, message) in found.items():
            namespace.conditions = with_condition(
                namespace.conditions,
                type=type,
                status=status,
                reason=reason,
                message=message,
                generation=namespace.generation,
                at=timezone.now(),
            )
        for column, value in columns.items():
            setattr(namespace, column, value)
        Namespace.objects.filter(pk=namespace.pk).update(conditions=namespace.conditions, **columns)
        publish([f"namespace:{namespace.pk}", f"team:{namespace.team_id}"])

    def _record(self, action: str, *, reason: str = "", **data: object) -> None:
        transition_record(
            subject_type="namespace",
            subject_id=self.namespace.pk,
            action=action,
            actor=None,
            team=self.namespace.team,
            namespace=self.namespace,
            reason=reason,
            data=data,
        )


def namespaces_due(*, at: datetime) -> list[UUID]:
    """Namespaces that are behind and not waiting for a later try, or whose time has come."""
    behind = Q(observed_generation__lt=F("generation"), reconcile_at=None)
    due = Namespace.objects.filter(behind | Q(reconcile_at__lte=at), released_at=None)
    return list(due.order_by("reconcile_at").values_list("pk", flat=True))
