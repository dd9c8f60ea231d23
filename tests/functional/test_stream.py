"""Server-sent events from a real web process: what is told, to whom, and for how long."""

import contextlib
import json
import subprocess
import sys
import threading
import time

import pytest
import requests
from django.contrib.sessions.backends.db import SessionStore

from dev.part import answers, free_port
from quotas.stream import BEAT_S
from tenants.models import Namespace
from tenants.publish import CHANNEL, publish
from tests.factories import (
    NamespaceFactory,
    QuotaRequestFactory,
    UsageFactory,
    UserFactory,
    member_of,
)
from tests.functional.conftest import ROOT, database_environment
from tests.sessions import session_of


@pytest.fixture
def web(transactional_db, valkey):
    """The address of a web process on this test's database and broker."""
    port = free_port()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "uvicorn", "portal.asgi:application", "--port", str(port)),
            *("--timeout-graceful-shutdown", "1"),
        ],
        cwd=ROOT,
        env=database_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 20
    while not answers(port) and time.monotonic() < until:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(10)


def signed_in(user, *, seconds=600):
    """A cookie of a session that is fresh for so many seconds."""
    return {"berth_session": session_of(user, fresh_for=seconds).session_key}


class Page:
    """An open page: collects the events it gets."""

    def __init__(self, web, cookies, *topics):
        self.events = []
        self.response = requests.get(
            f"{web}/stream/",
            params={"topic": list(topics)},
            headers={"Accept": "text/event-stream"},
            cookies=cookies,
            stream=True,
            timeout=30,
        )
        assert self.response.status_code == 200, self.response.text
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        with contextlib.suppress(requests.RequestException):  # the server ended it
            self._read_lines()

    def _read_lines(self):
        name = None
        for line in self.response.iter_lines(chunk_size=1, decode_unicode=True):
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                self.events.append((name, json.loads(line.removeprefix("data: "))))

    def wait(self, topic, *, pods=None, within=5):
        """The last event of a topic, once there is one (that counts so many pods)."""

        def last():
            found = [data for name, data in self.events if name == topic]
            if found and pods is not None:
                return found[-1] if used(found[-1]) == pods else None
            return found[-1] if found else None

        until = time.monotonic() + within
        while last() is None and time.monotonic() < until:
            time.sleep(0.01)
        assert last() is not None, self.events
        return last()


def used(data):
    return data["quotas"][0]["resources"]["pods"]["used"]


def use(usage, pods):
    usage.used["pods"] = pods
    usage.save()


@pytest.fixture
def usage(transactional_db):
    namespace = NamespaceFactory()
    return UsageFactory(cluster=namespace.cluster, namespace_name=namespace.name)


@pytest.fixture
def namespace(usage):
    return Namespace.objects.get()


def test_a_change_is_told_with_the_use_as_it_is_now(web, namespace, usage):
    topic = f"namespace:{namespace.pk}"
    page = Page(web, signed_in(member_of(namespace.team)), topic)
    assert page.response.headers["Content-Type"].startswith("text/event-stream")
    assert page.response.headers["X-Accel-Buffering"] == "no"
    page.wait(topic, pods="0")
    use(usage, "3")
    publish([topic, "namespace:of-nobody"])
    data = page.wait(topic, pods="3")
    assert data["quotas"][0]["resources"]["pods"] == {"used": "3", "hard": "10"}


def test_only_what_a_person_may_see_is_told(web, namespace):
    request = QuotaRequestFactory(team=namespace.team)
    theirs = [f"namespace:{namespace.pk}", f"team:{namespace.team.pk}", f"request:{request.pk}"]
    page = Page(
        web, signed_in(UserFactory(groups=[])), *theirs, "requests", "nonsense", "namespace:1"
    )
    publish([*theirs, "requests"])
    page.wait("requests")
    time.sleep(0.3)
    assert {name for name, _ in page.events} == {"requests"}


def test_the_stream_ends_with_the_sign_in(web, namespace):
    cookies = signed_in(member_of(namespace.team), seconds=2)
    page = Page(web, cookies, f"namespace:{namespace.pk}")
    page.thread.join(10)
    assert not page.thread.is_alive()
    again = requests.get(
        f"{web}/stream/", headers={"Accept": "text/event-stream"}, cookies=cookies, timeout=5
    )
    assert again.status_code == 401


def test_many_open_pages_hold_up_no_other(web, namespace, usage):
    topic = f"namespace:{namespace.pk}"
    cookies = signed_in(member_of(namespace.team))
    pages = [Page(web, cookies, topic) for _ in range(40)]
    for page in pages:
        page.wait(topic, pods="0")
    assert requests.get(f"{web}/health/ready/", timeout=2).status_code == 200
    use(usage, "7")
    publish([topic])
    for page in pages:
        page.wait(topic, pods="7")


def test_pages_hear_again_after_the_broker_was_away(web, namespace, usage, valkey):
    topic = f"namespace:{namespace.pk}"
    page = Page(web, signed_in(member_of(namespace.team)), topic)
    page.wait(topic, pods="0")
    use(usage, "5")
    # Cut every subscriber: what is published meanwhile is lost, and the page is told all the same.
    valkey.client_kill_filter(_type="pubsub")
    page.wait(topic, pods="5")


def test_pages_hear_again_after_something_unforeseen(web, namespace, usage, valkey):
    topic = f"namespace:{namespace.pk}"
    page = Page(web, signed_in(member_of(namespace.team)), topic)
    page.wait(topic, pods="0")
    valkey.publish(CHANNEL, "no JSON")
    use(usage, "5")
    page.wait(topic, pods="5")


@pytest.mark.deep
@pytest.mark.parametrize("lost", ["session", "group"])
def test_the_stream_ends_soon_after_the_right_to_it(web, namespace, usage, lost):
    user = member_of(namespace.team)
    cookies = signed_in(user)
    page = Page(web, cookies, f"namespace:{namespace.pk}")
    page.wait(f"namespace:{namespace.pk}")
    if lost == "session":
        SessionStore(cookies["berth_session"]).delete()
    else:
        user.groups = []
        user.save()
    page.thread.join(2 * BEAT_S + 5)
    assert not page.thread.is_alive()
