"""Every kind of person against every action: by service and by API, from one table."""

import pytest

from quotas.errors import NotAllowed
from quotas.permissions import may, may_submit
from quotas.selectors import requests_visible
from quotas.states import Action
from tests.caller import Caller, errors
from tests.quotas.actions import act, send, trace
from tests.quotas.people import EVERY_PAIR, PEOPLE, pair_id

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("kind", "action"), EVERY_PAIR, ids=pair_id)
def test_service(kind, action):
    person, request = kind.meet()
    was = trace()
    if action in kind.may:
        act(action, actor=person, request=request)
        assert trace() != was
    else:
        with pytest.raises(NotAllowed):
            act(action, actor=person, request=request)
        assert trace() == was
    if action != Action.SUBMIT:
        assert may(person, action, request) == (action in kind.may)


@pytest.mark.parametrize(("kind", "action"), EVERY_PAIR, ids=pair_id)
def test_api(kind, action):
    person, request = kind.meet()
    was = trace()
    answer = send(Caller(person), action, request)
    if action in kind.may:
        assert answer.status_code == (201 if action == Action.SUBMIT else 200), answer.content
        assert trace() != was
        return
    assert trace() == was
    if not kind.active:
        errors(answer, 401)
    elif kind.sees:
        errors(answer, 403)
    elif action == Action.SUBMIT:
        assert errors(answer) == {"team": ["There is none of this name."]}
    else:
        errors(answer, 404)


@pytest.mark.parametrize(("kind", "action"), EVERY_PAIR, ids=pair_id)
def test_page(kind, action):
    person, request = kind.meet()
    browser = Caller(person).client
    was = trace()
    if action == Action.SUBMIT:
        answer = browser.get("/requests/new/")
        # A lead of another team may ask, only not for this one.
        offered = answer.context["form"].fields["team"] if answer.status_code == 200 else None
        assert bool(offered and request.team in offered.queryset) == (action in kind.may)
        return
    if action == Action.EDIT:
        answer, done = browser.get(f"/requests/{request.pk}/edit/"), 200
    else:
        sent = {"version": 1, "comment": "Too much."}
        answer, done = browser.post(f"/requests/{request.pk}/{action}/", sent), 302
    if action in kind.may:
        assert answer.status_code == done, answer.content
        assert (trace() != was) == (action != Action.EDIT)
        return
    assert trace() == was
    if kind.active:
        assert answer.status_code == (403 if kind.sees else 404)
    else:
        assert answer.status_code in (302, 401)
        assert "/requests/" not in answer.headers.get("Location", "").split("?")[0]


@pytest.mark.parametrize("kind", PEOPLE, ids=pair_id)
def test_what_is_seen(kind):
    person, request = kind.meet()
    status = 200 if kind.sees else 404 if kind.active else 401
    caller = Caller(person)
    assert caller.get(f"requests/{request.pk}/").status_code == status
    listed = caller.get("requests/")
    if kind.active:
        assert [row["id"] for row in listed.json()["results"]] == ([request.pk] * kind.sees)
    else:
        errors(listed, 401)
    assert may_submit(person, request.team) == (Action.SUBMIT in kind.may)
    assert requests_visible(person).filter(pk=request.pk).exists() == kind.sees
