"""Characters that the database can't hold never reach it."""

import json

import pytest


@pytest.mark.parametrize(
    "path",
    ["/echo/a%00b", "/nowhere/%00", "/echo/?search=%00", "/echo/?%00=1", "/echo/?a=1&b=x%00y"],
)
def test_nul_in_an_address(client, path):
    assert client.get(path).status_code == 400


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart"])
@pytest.mark.parametrize("form", [{"name": "a\x00b"}, {"a\x00": "b"}])
def test_nul_in_a_form(client, form, kind):
    if kind == "multipart":
        response = client.post("/echo/", {"name": "a\x00b"})
    else:
        body = "&".join(f"{k}={v}" for k, v in form.items()).replace("\x00", "%00")
        response = client.post("/echo/", body, content_type=kind)
    assert response.status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        r'{"name": "a\u0000b"}',
        r'{"a\u0000": 1}',
        r'{"amounts": {"deep": ["x", ["\u0000"]]}}',
        r'"\u0000"',
        r'{"name": "\ud800"}',
    ],
)
def test_nul_in_json(client, body):
    response = client.post("/echo/", body, content_type="application/json")
    assert response.status_code == 400
    assert "NUL" in response.json()["detail"]


@pytest.mark.parametrize(
    "value", [r"\u0000", "%00", "\\", "𝄞", "Ärzte", {"n": [1, None, True]}, []], ids=str
)
def test_what_only_looks_like_it(client, value):
    response = client.post("/echo/", json.dumps({"v": value}), content_type="application/json")
    assert response.json()["body"] == {"v": value}


def test_an_escaped_percent_sign(client):
    assert client.get("/echo/?a=%2500").json()["query"] == {"a": "%00"}


@pytest.mark.parametrize("body", ["", "{", "[" * 100_000, b"\xff\xfe", b'"\x00"'])
def test_no_json_is_left_to_the_view(client, body):
    client.raise_request_exception = False
    response = client.post("/who/", body, content_type="application/json")
    assert response.status_code in (400, 401)
