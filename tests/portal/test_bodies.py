"""Bodies that nothing behind the door can take are refused there."""

import json

import pytest

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=x"


@pytest.mark.parametrize("charset", ["zlib", "hex", "utf-7", "utf-16", "idna", "latin-1", "none"])
@pytest.mark.parametrize("kind", [JSON, FORM, MULTIPART])
def test_another_charset(client, kind, charset):
    response = client.generic("POST", "/echo/", b"{}", content_type=f"{kind}; charset={charset}")
    assert response.status_code == 400
    assert "UTF-8" in response.content.decode()


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", '"utf-8"', "utf8"])
def test_utf_8_by_any_name(client, charset):
    body = json.dumps({"v": "Ärzte"}, ensure_ascii=False).encode()
    response = client.post("/echo/", body, content_type=f"{JSON}; charset={charset}")
    assert response.json()["body"] == {"v": "Ärzte"}


def test_too_long(client):
    body = json.dumps({"v": "x" * 3_000_000})
    response = client.post("/echo/", body, content_type=JSON)
    assert (response.status_code, response.json()["status"]) == (413, 413)
    assert client.post("/echo/", "v=" + "x" * 3_000_000, content_type=FORM).status_code == 413
