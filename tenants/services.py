"""Writes to users, teams and clusters, and to the history."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet

from tenants.models import Cluster, Namespace, Team, TeamGroup, Transition, User
from tenants.nudge import nudge

# What an admin decides of a cluster; the other columns are the watcher's.
CLUSTER_FIELDS = (
    "slug",
    "name",
    "kubeconfig",
    "context",
    "strict_certificates",
    "group_prefix",
    "enabled",
)
type Changes = dict[str, list[Any]]


def user_sign_in(
    *, issuer: str, subject: str, name: str, email: str, groups: Sequence[str] | None
) -> User:
    """The user of this issuer and subject, made if new, with what the provider says now.

    `groups` is None where the provider did not say.
    """
    claims = {
        "name": name[:255],
        "email": email[:320],
        "groups": None if groups is None else sorted(set(groups)),
    }
    user = User.objects.filter(issuer=issuer, subject=subject).first()
    if user is None:
        try:
            with transaction.atomic():
                return User.objects.create(issuer=issuer, subject=subject, **claims)
        except IntegrityError:  # the same person's first sign-in in two tabs
            user = User.objects.get(issuer=issuer, subject=subject)
    if any(getattr(user, field) != value for field, value in claims.items()):
        User.objects.filter(pk=user.pk).update(**claims)
        user.refresh_from_db()
    return user


def team_save(
    *, actor: User | None, team: Team, groups: Collection[tuple[TeamGroup.Role, str]]
) -> Team:
    """Keep this team, new or changed, with exactly these groups; its namespaces then follow.

    `actor` is None where an operator does it outside the portal.

    Raises:
        ValidationError: a group to which nothing may be bound, or a short name taken by another.
    """
    with transaction.atomic():
        was = Team.objects.select_for_update().filter(pk=team.pk).first()
        team.full_clean()
        team.save()
        had = {(group.role, group.name): group for group in team.team_groups.all()}
        wanted = {(str(role), name) for role, name in groups}
        for role, name in sorted(wanted - had.keys()):
            group = TeamGroup(team=team, role=role, name=name)
            group.full_clean()
            group.save()
        TeamGroup.objects.filter(pk__in=[had[key].pk for key in had.keys() - wanted]).delete()
        changed = _changes(was, team, ("slug", "name"))
        if wanted != had.keys():
            changed["groups"] = [[list(key) for key in sorted(keys)] for keys in (had, wanted)]
        if changed:
            _record_change(actor, "team", team, new=was is None, changed=changed, team=team)
        if changed.keys() - {"name"}:
            namespaces_touch(Namespace.objects.filter(team=team))
    return team


def cluster_save(*, actor: User | None, cluster: Cluster) -> Cluster:
    """Keep this cluster, new or changed; its namespaces then follow.

    `actor` is None where an operator does it outside the portal.

    Raises:
        ValidationError: a group prefix that nothing may be bound with, or a short name taken.
    """
    with transaction.atomic():
        was = Cluster.objects.select_for_update().filter(pk=cluster.pk).first()
        cluster.full_clean()
        if was is None:
            cluster.save()
        else:
            cluster.save(update_fields=CLUSTER_FIELDS)
        changed = _changes(was, cluster, CLUSTER_FIELDS)
        if changed:
            _record_change(actor, "cluster", cluster, new=was is None, changed=changed)
        if changed.keys() - {"name", "slug"}:
            namespaces_touch(Namespace.objects.filter(cluster=cluster))
    return cluster


def namespaces_touch(namespaces: QuerySet[Namespace]) -> None:
    """What should stand in these namespaces may have changed: have each reconciled, now."""
    live = namespaces.filter(released_at=None)
    with transaction.atomic():
        live.update(generation=F("generation") + 1, reconcile_at=None, failures=0)
        nudge(*live.values_list("pk", flat=True))


def _changes(was: Team | Cluster | None, now: Team | Cluster, fields: Sequence[str]) -> Changes:
    """Field to [before, after], for those that differ."""
    pairs = {field: [getattr(was, field, None), getattr(now, field)] for field in fields}
    return {field: pair for field, pair in pairs.items() if pair[0] != pair[1]}


def _record_change(
    actor: User | None,
    subject_type: str,
    subject: Team | Cluster,
    *,
    new: bool,
    changed: Changes,
    team: Team | None = None,
) -> None:
    transition_record(
        subject_type=subject_type,
        subject_id=subject.pk,
        action="register" if new else "change",
        actor=actor,
        team=team,
        data={"name": subject.slug, "changed": changed},
    )


def transition_record(
    *,
    subject_type: str,
    subject_id: object,
    action: str,
    actor: User | None,
    team: Team | None = None,
    namespace: Namespace | None = None,
    from_state: str = "",
    to_state: str = "",
    reason: str = "",
    data: Mapping[str, Any] | None = None,
) -> Transition:
    """Append one line to the history, in the transaction of the change it tells of."""
    return Transition.objects.create(
        subject_type=subject_type,
        subject_id=str(subject_id),
        action=action,
        actor=actor,
        team=team,
        namespace=namespace,
        from_state=from_state,
        to_state=to_state,
        reason=reason,
        data=dict(data or {}),
    )
