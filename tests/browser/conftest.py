"""The portal on a port of its own, and people who have signed in to it with a real browser."""

import threading
import time

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.sessions import session_of

# On a busy machine a page takes its time.
PATIENCE_MS = 20_000
expect.set_options(timeout=PATIENCE_MS)
# What htmx, or the browser itself, would complain of while a page works as it should.
QUIET = ("401", "409", "400")


@pytest.fixture
def portal(transactional_db, valkey, monkeypatch):
    """The address of the portal as ASGI, on this test's database and broker."""
    # playwright keeps an event loop in this thread, for which Django would refuse its database.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    config = uvicorn.Config(
        "portal.asgi:application",
        port=0,
        log_level="warning",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 20
    while not server.started:
        assert time.monotonic() < until
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def open_as(portal, chromium):
    """`open_as(user)`: a browser window of this person; what its console complains of fails."""
    contexts, complaints = [], []

    def open_window(user, **options):
        options = {"locale": "en", "reduced_motion": "reduce", **options}
        context = chromium.new_context(base_url=portal, **options)
        contexts.append(context)
        session = session_of(user)
        context.add_cookies(
            [{"name": "berth_session", "value": session.session_key, "url": portal}]
        )
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda message: (
                complaints.append(message.text)
                if message.type == "error" and not any(code in message.text for code in QUIET)
                else None
            ),
        )
        page.session = session
        return page

    yield open_window
    for context in contexts:
        context.close()
    assert not complaints


@pytest.fixture
def accessible():
    """`accessible(page)`: axe finds nothing serious on it, in light and in dark."""
    axe = Axe()

    def check(page):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            found = axe.run(page).response["violations"]
            serious = [v for v in found if v["impact"] in ("serious", "critical")]
            told = [(v["id"], [n["target"] for n in v["nodes"]]) for v in serious]
            assert not told, (scheme, page.url, told)

    return check
