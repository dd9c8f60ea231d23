"""What people do to requests. Each is one transaction: state, history and nudge, or nothing."""

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from quotas.checks import REASON_MAX, Wish, wish_problems
from quotas.errors import Conflict, NotAllowed, Refused
from quotas.models import Grant, QuotaRequest, Review
from quotas.permissions import may, may_submit
from quotas.states import Action, Status, after, before
from tenants.models import Namespace, User
from tenants.nudge import nudge
from tenants.publish import publish
from tenants.services import transition_record

CHANGED = gettext_lazy("This request has changed since it was shown to you.")


def request_submit(*, actor: User, wish: Wish) -> QuotaRequest:
    """Ask for a namespace.

    Raises:
        NotAllowed: the actor does not lead the team.
        Refused: something in the wish can't be granted.
        Conflict: somebody asked for the same name at the same moment.
    """
    if not may_submit(actor, wish.team):
        raise NotAllowed(_("Only a lead of the team may ask for it."))
    _check(wish, at=timezone.now())
    try:
        with transaction.atomic():
            request = QuotaRequest.objects.create(requester=actor, editor=actor, **_columns(wish))
            _record(request, Action.SUBMIT, actor=actor, was=None)
    except IntegrityError as error:
        raise Conflict(_("This name is taken on this cluster.")) from error
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
    _check(wish, at=timezone.now(), own=request)
    try:
        with transaction.atomic():
            _advance(
                request,
                Action.EDIT,
                version=version,
                actor=actor,
                changes={**_columns(wish), "version": version + 1, "editor": actor},
            )
    except IntegrityError as error:
        raise Conflict(_("This name is taken on this cluster.")) from error
    return request


def request_withdraw(*, actor: User, request: QuotaRequest, version: int) -> QuotaRequest:
    """Take the request back.

    Raises:
        NotAllowed: the actor does not lead the team.
        Conflict: the request was decided on or edited meanwhile.
    """
    if not may(actor, Action.WITHDRAW, request):
        raise NotAllowed(_("Only a lead of the team may withdraw it."))
    with transaction.atomic():
        _advance(
            request,
            Action.WITHDRAW,
            version=version,
            actor=actor,
            changes={"decided_at": timezone.now()},
        )
    return request


def request_approve(
    *, actor: User, request: QuotaRequest, version: int, comment: str = ""
) -> QuotaRequest:
    """Allow exactly the version that was shown: grant it and let the reconciler make it stand.

    Raises:
        NotAllowed: the actor is no approver, or asked for this.
        Refused: what was asked for can't be granted any more, such as an end that has passed.
        Conflict: the request was decided on or edited meanwhile, or the name was taken.
    """
    _may_decide(actor, Action.APPROVE, request)
    _check_comment(comment)
    now = timezone.now()
    _check(_wish(request), at=now, own=request)
    try:
        with transaction.atomic():
            _advance(
                request,
                Action.APPROVE,
                version=version,
                actor=actor,
                reason=comment,
                changes={"decided_at": now},
            )
            _review(request, Review.Decision.APPROVE, actor=actor, comment=comment)
            _grant(request, actor=actor)
    except IntegrityError as error:
        raise Conflict(_("This name is taken on this cluster.")) from error
    return request


def request_deny(*, actor: User, request: QuotaRequest, version: int, comment: str) -> QuotaRequest:
    """Say no, with a reason.

    Raises:
        NotAllowed: the actor is no approver, or asked for this.
        Refused: no reason was given.
        Conflict: the request was decided on or edited meanwhile.
    """
    _may_decide(actor, Action.DENY, request)
    _check_comment(comment)
    if not comment.strip():
        raise Refused({"comment": [_("Say why, so that the team knows what to change.")]})
    with transaction.atomic():
        _advance(
            request,
            Action.DENY,
            version=version,
            actor=actor,
            reason=comment,
            changes={"decided_at": timezone.now()},
        )
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


def _advance(
    request: QuotaRequest,
    action: Action,
    *,
    version: int,
    actor: User,
    changes: dict[str, Any],
    reason: str = "",
) -> None:
    """Move the request on, if it is still in a state for that and in the version that was shown.

    One guarded UPDATE decides a race; whoever comes second updates no row.
    """
    possible = before(action)
    was = request.status
    status = after(Status.SUBMITTED, action)
    updated = QuotaRequest.objects.filter(
        pk=request.pk, version=version, status__in=possible
    ).update(status=status, **changes)
    if not updated:
        request.refresh_from_db()
        raise Conflict(CHANGED)
    request.refresh_from_db()
    _record(request, action, actor=actor, was=was, reason=reason)


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


def _wish(request: QuotaRequest) -> Wish:
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


def _columns(wish: Wish) -> dict[str, Any]:
    return dict(vars(wish))
