"""The API's own description, and the page to browse it."""

import json

import pytest
import yaml
from django.core.management import call_command
from django.test import Client

from tests.caller import Caller

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _whole_portal(settings):
    settings.ROOT_URLCONF = "portal.urls"


@pytest.fixture
def schema(tmp_path):
    file = tmp_path / "schema.yaml"
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", file)
    return yaml.safe_load(file.read_text())


def test_the_document_is_valid_and_without_a_warning(schema):
    assert schema["info"]["title"] == "Berth"
    assert set(schema["components"]["securitySchemes"]) == {"bearer", "session"}


def test_it_tells_every_operation(schema):
    told = {
        (method, path.removeprefix("/api/v1/"))
        for path, operations in schema["paths"].items()
        for method in operations
    }
    assert told == {
        ("get", "me/"),
        ("get", "teams/"),
        ("get", "teams/{id}/"),
        ("get", "clusters/"),
        ("get", "clusters/{id}/"),
        ("get", "namespaces/"),
        ("get", "namespaces/{id}/"),
        ("get", "namespaces/{id}/usage/"),
        ("get", "usage/"),
        ("get", "history/"),
        ("get", "requests/"),
        ("post", "requests/"),
        ("get", "requests/{id}/"),
        ("put", "requests/{id}/"),
        ("patch", "requests/{id}/"),
        ("post", "requests/{id}/approve/"),
        ("post", "requests/{id}/deny/"),
        ("post", "requests/{id}/withdraw/"),
    }


def test_every_operation_tells_of_problems(schema):
    for operations in schema["paths"].values():
        for operation in operations.values():
            assert "application/problem+json" in operation["responses"]["default"]["content"]


def test_the_portal_serves_it():
    answer = Client().get("/api/schema/", headers={"Accept": "application/json"})
    assert answer.status_code == 200
    assert "/api/v1/requests/" in json.loads(answer.content)["paths"]


def test_the_page_has_no_inline_script_and_no_foreign_address():
    answer = Client().get("/api/docs/")
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "http" not in page
    assert page.count("<script") == page.count("<script src=") == 3
    script = Client().get("/api/docs/?script=")
    assert script.headers["Content-Type"].startswith("application/javascript")


def test_addresses_that_are_not_there():
    answer = Caller().get("../nothing/")
    assert answer.status_code == 404
    assert answer.headers["Content-Type"] == "application/problem+json"
