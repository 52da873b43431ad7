"""What went wrong, as problem details (RFC 9457): the library's sentence, with name, value and remedy where known."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

from pydantic_core import to_json

from tarry.errors import ArgumentError, Mismatch, Missing, StoreError, TarryError, Uncertain
from tarry.live.values import brief

MEDIA = "application/problem+json"
COME_AGAIN = {"retry-after": "1"}  # seconds
_logger = logging.getLogger("tarry.service")
_TITLES = {
    400: "The request cannot be read",
    401: "A token is needed",
    403: "This token does not allow it",
    404: "There is no such thing",
    405: "This address does not take this method",
    408: "The request came too slowly",
    409: "Something else has this name",
    413: "The request is too large",
    415: "This encoding is not read",
    422: "The request makes no sense",
    429: "Too many requests",
    500: "Something is broken here",
    503: "Not now",
}
DEFECT = "this is a defect of the server; its log says more"
_LONG = 2000  # letters of a sentence that are sent


class Problem(NamedTuple):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    name: str | None = None
    value: str | None = None
    remedy: str | None = None
    is_stored: str | None = None
    request_id: str | None = None


class Refusal(Exception):
    """Say what is wrong with a request, with the status it is answered with."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None, **parts: Any) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers, self.parts = status, detail, headers or {}, parts

    def body(self, request_id: str | None = None) -> bytes:
        """Return problem details as JSON."""
        title = _TITLES.get(self.status, "The request was refused")
        parts = self.parts | {"request_id": request_id}
        problem = Problem("about:blank", title, self.status, self.detail[:_LONG], **parts)
        # A message may quote what no encoding has.
        return to_json({name: part for name, part in problem._asdict().items() if part is not None})


def as_refusal(error: Exception) -> Refusal:
    """Return the status and the sentence of an error; one that tells the caller nothing is a defect, and logged."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, ArgumentError):
        value = None if error.value is ... else brief(error.value)
        return Refusal(422, str(error), name=error.name, value=value, remedy=error.remedy or None)
    if isinstance(error, Missing):
        return Refusal(404, str(error))
    if isinstance(error, Mismatch):
        return Refusal(409, str(error))
    if isinstance(error, StoreError):
        return Refusal(
            503, str(error), COME_AGAIN, **({"is_stored": "unknown"} if isinstance(error, Uncertain) else {})
        )
    if isinstance(error, (ValueError, TypeError, TarryError)):
        return Refusal(422, str(error))
    _logger.error("a request failed", exc_info=error)
    return Refusal(500, DEFECT)
