"""Writes to users and to the history."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction

from tenants.models import Namespace, Team, Transition, User


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
