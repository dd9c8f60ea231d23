"""Errors as problem details (RFC 9457), in the services' own words."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.settings import api_settings

from quotas.errors import Conflict, NotAllowed, Refused

CONTENT_TYPE = "application/problem+json"


def exception_handler(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """What the API answers to this error; None where it is a fault of ours."""
    match error:
        case Refused():
            return problem(400, _("This can't be taken as it is."), errors=error.problems)
        case NotAllowed():
            return problem(403, error.sentence)
        case Conflict():
            return problem(409, error.sentence)
        case exceptions.ValidationError():
            return problem(400, _("This can't be taken as it is."), errors=_by_path(error.detail))
        case Http404():
            return problem(404, _("There is nothing here, or nothing that you may see."))
        case PermissionDenied():
            return problem(403, _("You may not do this."))
        case exceptions.APIException():
            return _api_problem(error)
    return None


def problem(status: int, detail: object, **members: Any) -> Response:
    """A problem details object; `members` are added to it."""
    body = {**problem_body(status, detail), **members}
    return Response(body, status=status, content_type=CONTENT_TYPE)


def problem_body(status: int, detail: object) -> dict[str, object]:
    """What every problem details object holds."""
    title = HTTPStatus(status).phrase
    return {"type": "about:blank", "title": title, "status": status, "detail": detail}


def _api_problem(error: exceptions.APIException) -> Response:
    members = error.detail if isinstance(error.detail, dict) else {"detail": error.detail}
    response = problem(error.status_code, **{"detail": error.default_detail, **members})
    if challenge := getattr(error, "auth_header", None):
        response["WWW-Authenticate"] = challenge
    return response


def _by_path(detail: Any, path: str = "") -> dict[str, list[str]]:
    """Flatten the framework's nested errors to paths such as `amounts/requests.cpu`."""
    if isinstance(detail, Mapping):
        found: dict[str, list[str]] = {}
        for key, inner in detail.items():
            own = "" if key == api_settings.NON_FIELD_ERRORS_KEY else str(key)
            found |= _by_path(inner, f"{path}/{own}" if path and own else own or path)
        return found
    sentences = detail if isinstance(detail, list) else [detail]
    return {path: [str(sentence) for sentence in sentences]}
