"""From an answer to a type that says whether retrying can help."""

from typing import Any

import pytest

from cluster.errors import (
    AlreadyExists,
    Busy,
    ClusterError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    Owned,
    Terminating,
    Unauthorized,
    Unreachable,
    from_status,
)


def status(reason: str, **more: Any) -> dict[str, Any]:
    return {"kind": "Status", "reason": reason, "message": f"{reason} said so", **more}


@pytest.mark.parametrize(
    ("code", "body", "expected", "retryable"),
    [
        (400, status("BadRequest"), Invalid, False),
        (401, status("Unauthorized"), Unauthorized, True),
        (403, status("Forbidden"), Forbidden, False),
        (
            403,
            status("Forbidden", details={"causes": [{"reason": "NamespaceTerminating"}]}),
            Terminating,
            True,
        ),
        (404, status("NotFound"), NotFound, True),
        (409, status("AlreadyExists"), AlreadyExists, False),
        (409, status("Conflict", details={"kind": "resourcequotas"}), Conflict, True),
        (
            409,
            status("Conflict", details={"causes": [{"reason": "FieldManagerConflict"}]}),
            Owned,
            False,
        ),
        (410, status("Expired"), Gone, True),
        (410, status("Gone"), Gone, True),
        (400, status("Expired"), Gone, True),
        (422, status("Invalid"), Invalid, False),
        (418, status("Teapot"), Invalid, False),
        (429, status("TooManyRequests"), Busy, True),
        (500, status("InternalError"), Busy, True),
        (503, status("ServiceUnavailable"), Busy, True),
        (504, status("Timeout"), Busy, True),
        (502, "<html>Bad gateway</html>", Unreachable, True),
        (503, "", Unreachable, True),
        (409, "not the API server", Unreachable, True),
        (301, {"kind": "Page"}, Unreachable, True),
    ],
)
def test_types(code: int, body: Any, expected: type[ClusterError], retryable: bool) -> None:
    error = from_status(code, body)
    assert type(error) is expected
    assert error.retryable is retryable
    assert error.reason.isalnum()
    assert str(error)
    if isinstance(body, dict) and "message" in body:
        assert str(error) == body["message"]


def test_which_object_is_in_conflict() -> None:
    assert from_status(409, status("Conflict", details={"kind": "resourcequotas"})).kind == (
        "resourcequotas"
    )


def test_how_long_to_wait() -> None:
    body = status("TooManyRequests", details={"retryAfterSeconds": 7})
    assert from_status(429, body).retry_after == 7
    assert from_status(429, body, retry_after=3).retry_after == 3
    assert from_status(500, status("InternalError")).retry_after is None


def test_fields_the_server_objects_to() -> None:
    body = status("Invalid", details={"causes": [{"field": "roleRef"}, {"reason": "x"}]})
    assert from_status(422, body).fields() == {"roleRef"}


def test_a_page_of_html_is_cut_short() -> None:
    assert len(str(from_status(502, "x" * 10_000))) < 600
