"""What all tests share: one database server, broker, identity provider and control plane a run.

The process that starts the run has a testbed (dev/testbed.py) and tells its workers where. A
database or a broker that the environment names already is used instead.
"""

import os
import shutil
from pathlib import Path

import django
import pytest
import redis

from dev.testbed import Absent, Client

MARKS = {
    "cluster": "meets the real control plane",
    "browser": "drives a real browser",
    "deep": "takes long; `make test-deep` runs it",
}
# Settings that a test run needs and nobody has an opinion on.
ENVIRONMENT = {
    "BERTH_SECRET_KEY": "of-the-tests-and-of-nothing-else",
    "BERTH_HTTPS": "0",
    "OIDC_ISSUER": "https://idp.example/realm",
    "OIDC_AUTHORIZATION_ENDPOINT": "https://idp.example/realm/authorize",
    "OIDC_TOKEN_ENDPOINT": "https://idp.example/realm/token",
    "OIDC_USERINFO_ENDPOINT": "https://idp.example/realm/userinfo",
    "OIDC_JWKS_ENDPOINT": "https://idp.example/realm/jwks",
}
FOLDER = "BERTH_TESTBED"

testbed = pytest.StashKey[Client]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Comes before pytest-django looks whether Django is set up."""
    for mark, meaning in MARKS.items():
        config.addinivalue_line("markers", f"{mark}: {meaning}")
    worker = getattr(config, "workerinput", None)
    if worker is None:
        config.stash[testbed] = bed = Client.start()
        os.environ[FOLDER] = str(bed.folder)
        os.environ.setdefault("DATABASE_URL", bed.postgres.url)
        os.environ.setdefault("REDIS_URL", bed.valkey.url)
        number, name = 0, "main"
    else:
        config.stash[testbed] = bed = Client(Path(os.environ[FOLDER]))
        name = worker["workerid"]
        number = 1 + int(name.removeprefix("gw"))
    # A database of its own, and a prefix since publishing knows no databases.
    if os.environ["REDIS_URL"] == bed.valkey.url:
        os.environ["REDIS_URL"] = bed.valkey.database(number)
    os.environ["BERTH_REDIS_PREFIX"] = f"berth-{name}:"
    for variable, value in ENVIRONMENT.items():
        os.environ.setdefault(variable, value)
    # A process that only hands tests to workers must not hand them this: they would read the
    # settings before they come here.
    if config.getoption("dist", "no") != "no":
        os.environ.pop("DJANGO_SETTINGS_MODULE", None)
    else:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
        # pytest-django does so only if something has read the settings already.
        django.setup()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    if (bed := config.stash.get(testbed, None)) is not None:
        bed.stop()


def pytest_collection_modifyitems(items):
    """A test that asks for a part has its mark, so that `-m` finds it."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if "control_plane" in fixtures:
            item.add_marker(pytest.mark.cluster)
        if "chromium" in fixtures:
            item.add_marker(pytest.mark.browser)


def _use(name, start):
    """The part, or the test is skipped with the reason, or fails where the part is required."""
    try:
        return start()
    except Absent as absent:
        if os.environ.get(f"BERTH_REQUIRE_{name}") == "1":
            pytest.fail(f"BERTH_REQUIRE_{name}=1, and: {absent}", pytrace=False)
        return pytest.skip(str(absent))


@pytest.fixture(scope="session")
def idp(pytestconfig):
    """The identity provider with the people of dev/people.py (`dev.idp.IdP`)."""
    return pytestconfig.stash[testbed].use_idp()


@pytest.fixture(scope="session")
def control_plane(pytestconfig):
    """The control plane of this run (`dev.kubernetes.ControlPlane`), shared by all tests.

    Tests name their namespaces uniquely. May be built first, which takes some minutes once.
    """
    return _use("CLUSTER", pytestconfig.stash[testbed].use_control_plane)


@pytest.fixture
def valkey():
    """A client of this worker's database of the broker, empty before the test."""
    with redis.Redis.from_url(os.environ["REDIS_URL"], decode_responses=True) as client:
        client.flushdb()
        yield client


def _launch_chromium():
    from playwright.sync_api import Error, sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if program is None:
        raise Absent("there is no chromium here: `apt-get install chromium`")
    playwright = sync_playwright().start()
    try:
        # Root has no other way, and what it meets here is only ours.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        return playwright, playwright.chromium.launch(executable_path=program, args=arguments)
    except Error as error:
        playwright.stop()
        raise Absent(f"{program} does not start: {error.message}") from error


@pytest.fixture(scope="module")
def chromium():
    """A real browser, Debian's chromium, driven by playwright.

    Not for longer than a module: while it runs, playwright has an event loop in this thread, in
    which neither asyncio nor Django's database does anything for the tests that come after.
    """
    playwright, browser = _use("BROWSER", _launch_chromium)
    yield browser
    browser.close()
    playwright.stop()
