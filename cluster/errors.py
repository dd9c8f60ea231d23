"""What can go wrong between Berth and a cluster, as types: retry cures it, or it doesn't."""

from collections.abc import Mapping
from typing import Any


class ClusterError(Exception):
    """The API server refused, or could not be asked. `str()` is the server's own message.

    `reason` is CamelCase, fit for a condition. `retryable`: time may cure it. `retry_after`: the
    seconds the server asks to wait, where it does.
    """

    reason = "ClusterError"
    retryable = False

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.details = details or {}

    @property
    def kind(self) -> str:
        """The kind or resource the server names; it may be another than the one asked about."""
        return str(self.details.get("kind") or "")

    def fields(self) -> set[str]:
        """The fields that the server objects to."""
        causes = self.details.get("causes") or []
        return {str(cause["field"]) for cause in causes if cause.get("field")}


class Unreachable(ClusterError):
    """No answer, or one that did not come from the API server."""

    reason = "Unreachable"
    retryable = True


class Silent(Unreachable):
    """A watch said nothing for too long: its connection may be dead without our knowing."""


class Unauthorized(ClusterError):
    """The cluster does not accept Berth's own credentials; nobody's request was denied."""

    reason = "Unauthorized"
    retryable = True


class Forbidden(ClusterError):
    """Berth lacks a right, or admission refuses."""

    reason = "Forbidden"


class Terminating(Forbidden):
    """Nothing new may be made in a namespace that is being deleted."""

    reason = "NamespaceTerminating"
    retryable = True


class NotFound(ClusterError):
    """It is not there; seen by the next pass from the start."""

    reason = "NotFound"
    retryable = True


class AlreadyExists(ClusterError):
    """An object of this name is there."""

    reason = "AlreadyExists"


class Conflict(ClusterError):
    """Somebody was faster, perhaps at another object (`kind`): look again and retry."""

    reason = "Conflict"
    retryable = True


class Owned(Conflict):
    """Another field manager owns a field, and the apply was not forced."""

    reason = "OwnedByAnother"
    retryable = False


class Gone(ClusterError):
    """The resource version is too old: list again."""

    reason = "Expired"
    retryable = True


class Invalid(ClusterError):
    """The API server does not take the object as it is."""

    reason = "Invalid"


class Busy(ClusterError):
    """The API server, or something it asks, could not do it now."""

    reason = "ServerBusy"
    retryable = True


class NameTaken(ClusterError):
    """A namespace of this name stands there and is not ours. It is never touched."""

    reason = "NameTaken"


class Waiting(Exception):
    """Not there yet, and not an error: the cluster is still at it."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


_BY_STATUS: dict[int, type[ClusterError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: Busy,
}


def from_status(code: int, status: Any, *, retry_after: float | None = None) -> ClusterError:
    """The error for an answer with HTTP code `code`.

    `status` is the body: a `Status` object, or text where something else than the API server has
    answered.
    """
    if not isinstance(status, dict) or status.get("kind") != "Status":
        text = str(status).strip()[:500]
        known = _BY_STATUS.get(code) if code < 500 else None
        if known is Conflict or known is None:
            known = Unreachable
        return known(f"HTTP {code}: {text}" if text else f"HTTP {code}", retry_after=retry_after)
    details = status.get("details") or {}
    if retry_after is None and details.get("retryAfterSeconds"):
        retry_after = float(details["retryAfterSeconds"])
    message = str(status.get("message") or status.get("reason") or f"HTTP {code}")
    found = _type_of(code, status.get("reason"), details.get("causes") or [])
    return found(message, retry_after=retry_after, details=details)


def _type_of(code: int, reason: Any, causes: list[dict[str, Any]]) -> type[ClusterError]:
    because = {cause.get("reason") for cause in causes}
    if reason == "Expired":
        return Gone
    if code == 409 and reason == "AlreadyExists":
        return AlreadyExists
    if code == 409 and "FieldManagerConflict" in because:
        return Owned
    if code == 403 and "NamespaceTerminating" in because:
        return Terminating
    return _BY_STATUS.get(code) or (Busy if code >= 500 else Invalid)
