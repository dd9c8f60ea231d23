"""Alive, and ready for work: real servers, there and away."""

import pytest
from django.db import connection

from dev.valkey import Valkey

pytestmark = pytest.mark.django_db


def test_ready_with_everything_there(client):
    response = client.get("/health/ready/")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
    assert "no-store" in response["Cache-Control"]


def test_not_ready_once_redis_is_gone(client, settings, tmp_path):
    with Valkey(tmp_path) as server:
        settings.REDIS_URL = server.url
        assert client.get("/health/ready/").status_code == 200
    response = client.get("/health/ready/")
    assert (response.status_code, response.json()["away"]) == (503, ["redis"])


def test_not_ready_without_the_database(client, monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "PORT", "1")
    monkeypatch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
    response = client.get("/health/ready/")
    assert (response.status_code, response.json()["away"]) == (503, ["database"])


def test_alive_with_everything_away(client, settings, django_assert_num_queries):
    settings.REDIS_URL = "redis://127.0.0.1:1"
    with django_assert_num_queries(0):
        assert client.get("/health/live/").status_code == 200


@pytest.mark.parametrize("path", ["/health/live/", "/health/ready/"])
def test_only_reads(client, path):
    assert client.post(path).status_code == 405
