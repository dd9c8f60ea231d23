"""Each action as a call with sensible arguments, by service and by API."""

from quotas import services
from quotas.checks import Wish, wish_of
from quotas.models import Grant, QuotaRequest, Review
from quotas.states import Action
from tenants.models import Namespace, Transition
from tests.factories import AMOUNTS

SERVICES = {
    Action.APPROVE: services.request_approve,
    Action.DENY: services.request_deny,
    Action.WITHDRAW: services.request_withdraw,
}


def wish(request, **changes):
    """What this request asks for, with changes."""
    return Wish(**{**vars(wish_of(request)), **changes})


def act(action, *, actor, request, version=1):
    """Do this to the request; SUBMIT asks for a like one of another name."""
    match action:
        case Action.SUBMIT:
            return services.request_submit(actor=actor, wish=wish(request, name="another"))
        case Action.EDIT:
            return services.request_edit(
                actor=actor, request=request, version=version, wish=wish(request, reason="Better.")
            )
        case Action.DENY:
            options = {"comment": "Too much."}
        case _:
            options = {}
    return SERVICES[action](actor=actor, request=request, version=version, **options)


def send(caller, action, request, *, version=1):
    """The same by the API."""
    path = f"requests/{request.pk}/"
    match action:
        case Action.SUBMIT:
            return caller.post("requests/", body(request, name="another"))
        case Action.EDIT:
            return caller.patch(path, {"version": version, "reason": "Better."})
        case Action.DENY:
            return caller.post(f"{path}deny/", {"version": version, "comment": "Too much."})
    return caller.post(f"{path}{action}/", {"version": version})


def body(request=None, **changes):
    """A whole wish as the API takes it."""
    return {
        "team": request.team.slug if request else "alpha",
        "cluster": request.cluster.slug if request else "dev",
        "name": "team-alpha",
        "amounts": dict(AMOUNTS),
        "reason": "Training.",
        **changes,
    }


def trace():
    """Everything that an action may leave behind."""
    return {
        model.__name__: list(model.objects.order_by("pk").values())
        for model in (QuotaRequest, Review, Grant, Namespace, Transition)
    }
