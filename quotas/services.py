"""What people do to requests. Each is one transaction: state, history and nudge, or nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from quotas.checks import REASON_MAX, Wish, wish_digest, wish_of, wish_problems
from quotas.errors import Conflict, NotAllowed, Refused
from quotas.models import Grant, QuotaRequest, Review
from quotas.permissions import may, may_submit
from quotas.states import Action, Status, after, before
from tenants.models import Namespace, Transition, User
from tenants.nudge import nudge
from tenants.publish import publish
from tenants.services import transition_record

CHANGED = gettext_lazy("This request has changed since it was shown to you.")
TAKEN = gettext_lazy("This name is taken on this cluster.")
KEY_USED = gettext_lazy("This key was used before, for something else.")


def request_submit(*, actor: User, wish: Wish, idempotency_key: str = "") -> QuotaRequest:
    """Ask for a namespace.

    A caller that may repeat itself, such as a tool that got no answer, brings an idempotency key.
    The same person's same wish with the same key is the same request, whatever became of it since.

    Raises:
        NotAllowed: the actor does not lead the team.
        Refused: something in the wish can't be granted.
        Conflict: the key was used for another wish.
    """
    if not may_submit(actor, wish.team):
        raise NotAllowed(_("Only a lead of the team may ask for it."))
    digest = wish_digest(wish)
    with _taken_is_refused(), transaction.atomic():
        if idempotency_key and (earlier := _earlier(actor, idempotency_key)):
            if earlier.digest != digest:
                raise Conflict(KEY_USED)
            return earlier
        _check(wish, at=timezone.now())
        request = QuotaRequest.objects.create(
            requester=actor,
            editor=actor,
            idempotency_key=idempotency_key,
            digest=digest,
            **_columns(wish),
        )
        _record(request, Action.SUBMIT, actor=actor, was=None)
    return request


def request_edit(*, actor: User, request: QuotaRequest, version: int, wish: Wish) -> QuotaRequest:
    """Replace what is asked for by a new version; a decision on the old one is then refused.

    Raises:
        NotAllowed: the actor does not lead the request's team or the wish's.
        Refused: something in the wish can't be granted.
        Conflict: the request was decided on or edited meanwhile.
    """
    if not (may(actor, Action.EDIT, request) and may_submit(actor, wish.team)):
        raise NotAllowed(_("Only a lead of the team may ask for it."))
    with _change(request):
        was = _advance(
            request,
            Action.EDIT,
            version=version,
            changes={"version": version + 1, "editor": actor},
        )
        _check(wish, at=timezone.now(), own=request)
        QuotaRequest.objects.filter(pk=request.pk).update(**_columns(wish))
        request.refresh_from_db()
        _record(request, Action.EDIT, actor=actor, was=was)
    return request


def request_withdraw(*, actor: User, request: QuotaRequest, version: int) -> QuotaRequest:
    """Take the request back. Doing so again changes nothing and is no conflict.

    Raises:
        NotAllowed: the actor does not lead the team.
        Conflict: the request was decided on or edited meanwhile.
    """
    if not may(actor, Action.WITHDRAW, request):
        raise NotAllowed(_("Only a lead of the team may withdraw it."))
    with _change(request):
        _close(request, Action.WITHDRAW, actor=actor, version=version)
    return request


def request_approve(
    *, actor: User, request: QuotaRequest, version: int, comment: str = ""
) -> QuotaRequest:
    """Allow exactly the version that was shown: grant it and let the reconciler make it stand.

    The same person's same decision again changes nothing and is no conflict.

    Raises:
        NotAllowed: the actor is no approver, or asked for this.
        Refused: what was asked for can't be granted any more, such as an end that has passed.
        Conflict: the request was decided on or edited meanwhile.
    """
    _may_decide(actor, Action.APPROVE, request)
    _check_comment(comment)
    with _change(request):
        if _close(request, Action.APPROVE, actor=actor, version=version, comment=comment):
            _check(wish_of(request), at=timezone.now(), own=request)
            _review(request, Review.Decision.APPROVE, actor=actor, comment=comment)
            _grant(request, actor=actor)
    return request


def request_deny(*, actor: User, request: QuotaRequest, version: int, comment: str) -> QuotaRequest:
    """Say no, with a reason. The same person's same decision again is no conflict.

    Raises:
        NotAllowed: the actor is no approver, or asked for this.
        Refused: no reason was given.
        Conflict: the request was decided on or edited meanwhile.
    """
    _may_decide(actor, Action.DENY, request)
    _check_comment(comment)
    if not comment.strip():
        raise Refused({"comment": [_("Say why, so that the team knows what to change.")]})
    with _change(request):
        if _close(request, Action.DENY, actor=actor, version=version, comment=comment):
            _review(request, Review.Decision.DENY, actor=actor, comment=comment)
    return request


def _check(wish: Wish, *, at: datetime, own: QuotaRequest | None = None) -> None:
    if problems := wish_problems(wish, at=at, own=own):
        raise Refused(problems)


def _check_comment(comment: str) -> None:
    if len(comment) > REASON_MAX:
        raise Refused({"comment": [_("At most %(limit)d characters.") % {"limit": REASON_MAX}]})


def _may_decide(actor: User, action: Action, request: QuotaRequest) -> None:
    if actor.pk in (request.requester_id, request.editor_id):
        raise NotAllowed(_("Nobody decides on a request of their own."))
    if not may(actor, action, request):
        raise NotAllowed(_("Only an approver may decide."))


@contextmanager
def _taken_is_refused() -> Iterator[None]:
    """Who loses a race for a name is told the same as who comes a minute later."""
    try:
        yield
    except IntegrityError as error:
        raise Refused({"name": [TAKEN]}) from error


@contextmanager
def _change(request: QuotaRequest) -> Iterator[None]:
    """One transaction; if it fails, the object in hand is again what the database has."""
    try:
        with _taken_is_refused(), transaction.atomic():
            yield
    except (Refused, Conflict):
        request.refresh_from_db()
        raise


def _advance(
    request: QuotaRequest, action: Action, *, version: int, changes: dict[str, Any]
) -> str:
    """Move the request on, if it is still in a state for that and in the version that was shown.

    One guarded UPDATE decides a race; whoever comes second updates no row. Returns the state that
    it was in.
    """
    was = request.status
    updated = QuotaRequest.objects.filter(
        pk=request.pk, version=version, status__in=before(action)
    ).update(status=after(Status.SUBMITTED, action), **changes)
    request.refresh_from_db()
    if not updated:
        raise Conflict(CHANGED)
    return was


def _close(
    request: QuotaRequest, action: Action, *, actor: User, version: int, comment: str = ""
) -> bool:
    """Take the request out of waiting; False where this person did just that before."""
    try:
        was = _advance(request, action, version=version, changes={"decided_at": timezone.now()})
    except Conflict:
        if _is_repeat(request, action, actor=actor, version=version, comment=comment):
            return False
        raise
    _record(request, action, actor=actor, was=was, reason=comment)
    return True


def _is_repeat(
    request: QuotaRequest, action: Action, *, actor: User, version: int, comment: str
) -> bool:
    stands = request.version == version and request.status == after(Status.SUBMITTED, action)
    return (
        stands
        and Transition.objects.filter(
            subject_type="request",
            subject_id=str(request.pk),
            action=action,
            actor=actor,
            reason=comment,
        ).exists()
    )


def _earlier(actor: User, idempotency_key: str) -> QuotaRequest | None:
    """This person's request of this key. Until the transaction ends nobody else makes one."""
    User.objects.select_for_update(no_key=True).get(pk=actor.pk)
    return QuotaRequest.objects.filter(requester=actor, idempotency_key=idempotency_key).first()


def _record(
    request: QuotaRequest, action: Action, *, actor: User, was: str | None, reason: str = ""
) -> None:
    transition_record(
        subject_type="request",
        subject_id=request.pk,
        action=action,
        actor=actor,
        team=request.team,
        from_state=was or "",
        to_state=request.status,
        reason=reason,
        data={
            "version": request.version,
            "cluster": request.cluster.slug,
            "name": request.name,
            "amounts": request.amounts,
        },
    )
    publish([f"request:{request.pk}", "requests"])


def _review(request: QuotaRequest, decision: Review.Decision, *, actor: User, comment: str) -> None:
    Review.objects.create(
        request=request,
        reviewer=actor,
        decision=decision,
        version=request.version,
        comment=comment,
    )


def _grant(request: QuotaRequest, *, actor: User) -> Grant:
    """Write down what should stand from now on, and ask for a reconcile."""
    namespace = Namespace.objects.create(
        cluster=request.cluster, team=request.team, name=request.name
    )
    grant = Grant.objects.create(
        namespace=namespace,
        request=request,
        amounts=request.amounts,
        limit_default=request.limit_default,
        limit_default_request=request.limit_default_request,
        starts_at=request.starts_at,
        ends_at=request.ends_at,
    )
    request.namespace = namespace
    request.save(update_fields=["namespace"])
    transition_record(
        subject_type="namespace",
        subject_id=namespace.pk,
        action="grant",
        actor=actor,
        team=request.team,
        namespace=namespace,
        data={"request": request.pk, "version": request.version, "amounts": request.amounts},
    )
    nudge(namespace.pk)
    return grant


def _columns(wish: Wish) -> dict[str, Any]:
    return dict(vars(wish))
