"""Pages of requests: ask, look, decide."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from quotas import services
from quotas.capacity import capacity_of, fit_of
from quotas.convergence import convergence_of
from quotas.errors import Conflict, NotAllowed, Refused
from quotas.forms import DecisionForm, WishForm
from quotas.models import QuotaRequest
from quotas.permissions import actions_open, may
from quotas.selectors import requests_visible, requests_waiting
from quotas.states import Action, Status
from quotas.views.history import history_of
from tenants.rendering import page, page_of, person
from tenants.selectors import clusters_enabled, teams_led


@require_safe
def request_list(request: HttpRequest) -> HttpResponse:
    """Requests, newest first; `?status=` narrows them down."""
    status = request.GET.get("status", "")
    rows = requests_visible(person(request))
    if status in Status.values:
        rows = rows.filter(status=status)
    context = {
        "page": page_of(request, rows.order_by("-id")),
        "status": status,
        "statuses": Status.choices,
        "topics": ["requests"],
    }
    return page(request, "quotas/request_list.html", context)


@require_safe
def review_list(request: HttpRequest) -> HttpResponse:
    """What waits for a decision, the longest wait first."""
    shown = page_of(request, requests_waiting(person(request)))
    waiting = list(shown)
    capacity = capacity_of({wish.cluster for wish in waiting})
    context = {
        "page": shown,
        "waiting": [(wish, fit_of(wish.amounts, capacity[wish.cluster.pk])) for wish in waiting],
        "topics": ["requests"],
    }
    return page(request, "quotas/review_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def request_new(request: HttpRequest) -> HttpResponse:
    """Ask for a namespace."""
    user = person(request)
    teams = teams_led(user).order_by("name", "pk")
    if not teams:
        raise PermissionDenied(_("Only a lead of a team may ask for something."))
    form = WishForm(
        request.POST or None,
        teams=teams,
        clusters=clusters_enabled(),
        initial={field: request.GET.get(field, "") for field in ("team", "cluster")},
    )

    def submit() -> QuotaRequest:
        key = form.cleaned_data["key"]
        return services.request_submit(
            actor=user, wish=form.wish(), idempotency_key=f"form:{key}" if key else ""
        )

    return _fill_in(request, form, submit, done=_("Your request is waiting for approval."))


@require_http_methods(["GET", "HEAD", "POST"])
def request_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Change what a waiting request asks for."""
    user = person(request)
    asked = get_object_or_404(requests_visible(user), pk=pk)
    if not may(user, Action.EDIT, asked):
        raise PermissionDenied(_("Only a lead of the team may ask for it."))
    version = DecisionForm(request.POST)
    form = WishForm(
        request.POST or None,
        teams=teams_led(user).order_by("name", "pk"),
        clusters=clusters_enabled(),
        request=asked,
    )

    def edit() -> QuotaRequest:
        if not version.is_valid():
            raise Conflict(services.CHANGED)
        return services.request_edit(
            actor=user, request=asked, version=version.cleaned_data["version"], wish=form.wish()
        )

    if Action.EDIT not in actions_open(user, asked):
        return _detail(request, asked, conflict=_("This request can no longer be changed."))
    done = _("Your change is waiting for approval.")
    return _fill_in(request, form, edit, done=done, asked=asked)


@require_safe
def request_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """One request: what it asks for, what was decided, how far the cluster has come."""
    return _detail(request, get_object_or_404(requests_visible(person(request)), pk=pk))


@require_POST
def request_approve(request: HttpRequest, pk: int) -> HttpResponse:
    """Say yes to the version that was shown."""
    return _decide(request, pk, services.request_approve, takes_comment=True)


@require_POST
def request_deny(request: HttpRequest, pk: int) -> HttpResponse:
    """Say no, with a reason."""
    return _decide(request, pk, services.request_deny, takes_comment=True)


@require_POST
def request_withdraw(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a request back."""
    return _decide(request, pk, services.request_withdraw, takes_comment=False)


def _decide(
    request: HttpRequest,
    pk: int,
    service: Callable[..., QuotaRequest],
    *,
    takes_comment: bool,
) -> HttpResponse:
    """Hand a decision to its service; what it objects to is told on the request's page."""
    asked = get_object_or_404(requests_visible(person(request)), pk=pk)
    form = DecisionForm(request.POST)
    if not form.is_valid():
        return _detail(request, asked, conflict=services.CHANGED)
    comment = {"comment": form.cleaned_data["comment"]} if takes_comment else {}
    try:
        service(
            actor=person(request),
            request=asked,
            version=form.cleaned_data["version"],
            **comment,
        )
    except NotAllowed as no:
        raise PermissionDenied(str(no.sentence)) from no
    except Conflict as conflict:
        return _detail(request, asked, conflict=conflict.sentence)
    except Refused as refused:
        return _detail(request, asked, problems=refused.problems)
    return redirect(asked)


def _fill_in(
    request: HttpRequest,
    form: WishForm,
    save: Callable[[], QuotaRequest],
    *,
    done: str,
    asked: QuotaRequest | None = None,
) -> HttpResponse:
    """Show the form, or save it and go to the request. With objections, what was typed stays."""
    status = 200
    if form.is_bound:
        status = 400
        if form.is_valid():
            try:
                saved = save()
            except NotAllowed as no:
                raise PermissionDenied(str(no.sentence)) from no
            except Refused as refused:
                form.add_problems(refused.problems)
            except Conflict as conflict:
                if asked and Action.EDIT not in actions_open(person(request), asked):
                    return _detail(request, asked, conflict=conflict.sentence)
                # What was typed may be sent again, over what stands now.
                form.add_error(None, str(conflict.sentence))
                form.data = {**request.POST.dict(), "key": str(uuid4())}
                status = 409
            else:
                messages.success(request, done)
                return redirect(saved)
    version = request.POST.get("version", "") if status == 400 else asked and asked.version
    context = {"form": form, "asked": asked, "version": version}
    return page(request, "quotas/request_form.html", context, partial="page", status=status)


def _detail(
    request: HttpRequest,
    asked: QuotaRequest,
    *,
    conflict: Any = "",
    problems: Mapping[str, Sequence[Any]] | None = None,
) -> HttpResponse:
    """The page of a request as it is now; 409 after a lost race, 400 after an objection."""
    user = person(request)
    # Loaded anew: a service may have moved it on, or been told that somebody else has.
    asked = get_object_or_404(requests_visible(user), pk=asked.pk)
    may_do = {action.value: True for action in actions_open(user, asked)}
    capacity = capacity_of([asked.cluster])[asked.cluster.pk]
    namespace = asked.namespace
    context = {
        "asked": asked,
        "fit": fit_of(asked.amounts, capacity),
        "may": may_do,
        "conflict": conflict,
        "problems": [sentence for found in (problems or {}).values() for sentence in found],
        "comment": request.POST.get("comment", ""),
        "shown": request.GET.get("shown", f"{asked.status}-{asked.version}"),
        "now": f"{asked.status}-{asked.version}",
        "reviews": list(asked.reviews.all()),
        "others": _others(request, asked) if "approve" in may_do else [],
        "convergence": convergence_of(namespace) if namespace else None,
        "history": history_of(user, namespace=namespace, request_id=asked.pk),
        "topics": [f"request:{asked.pk}", *([f"namespace:{namespace.pk}"] if namespace else [])],
    }
    status = 409 if conflict else 400 if problems else 200
    return page(
        request,
        "quotas/request_detail.html",
        context,
        partial="changed" if "shown" in request.GET else "live",
        status=status,
    )


def _others(request: HttpRequest, asked: QuotaRequest) -> list[QuotaRequest]:
    """Who else waits for the same cluster, the longest wait first."""
    waiting = requests_waiting(person(request)).filter(cluster=asked.cluster)
    return list(waiting.exclude(pk=asked.pk)[:5])
