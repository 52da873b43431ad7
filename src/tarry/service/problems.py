"""What went wrong, as problem details (RFC 9457): the library's sentence, with name, value and remedy where known."""

from __future__ import annotations

from typing import Any

from fastapi.responses import Response
from pydantic import BaseModel, Field, ValidationError
from pydantic_core import to_json

from tarry.errors import ArgumentError, Mismatch, Missing, StoreError, TarryError, Uncertain
from tarry.live.values import brief

MEDIA = "application/problem+json"
COME_AGAIN = {"retry-after": "1"}  # seconds
_TITLES = {
    400: "The request cannot be read",
    401: "A token is needed",
    403: "This token does not allow it",
    404: "There is no such thing",
    405: "This address does not take this method",
    408: "The request came too slowly",
    409: "Something else has this name",
    411: "The length of the body is missing",
    413: "The request is too large",
    415: "This encoding is not read",
    422: "The request makes no sense",
    429: "Too many requests",
    431: "The headers are too large",
    500: "Something is broken here",
    503: "Not now",
}
DEFECT = "this is a defect of the server; its log says more"
_KINDS = frozenset(("single", "batch", "str", "int", "float", "bool", "Bytes"))  # of unions
_LONG = 2000  # letters of a sentence that are sent


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    name: str | None = None
    value: str | None = None
    remedy: str | None = None
    is_stored: str | None = Field(None, description="`unknown` where the store was lost in the middle of a commit.")
    request_id: str | None = None


class Refusal(Exception):
    """Say what is wrong with a request, with the status it is answered with."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None, **parts: Any) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers, self.parts = status, detail, headers, parts


def body_of(status: int, detail: str, **parts: Any) -> bytes:
    """Return problem details as JSON."""
    title = _TITLES.get(status, "The request was refused")
    said = {"type": "about:blank", "title": title, "status": status, "detail": detail[:_LONG], **parts}
    # A message may quote what no encoding has.
    return to_json({name: part for name, part in said.items() if part is not None}, inf_nan_mode="null")


def answer_to(error: Exception, request_id: str = "") -> Response:
    """Return what a request is answered that has failed so."""
    refused = as_refusal(error)
    body = body_of(refused.status, refused.detail, **refused.parts, request_id=request_id or None)
    return Response(body, refused.status, refused.headers, MEDIA)


def is_ours(error: Exception) -> bool:
    """Return whether an error tells the caller something, and is no defect."""
    return isinstance(error, (Refusal, ValueError, TypeError, TarryError))


def as_refusal(error: Exception) -> Refusal:
    """Return the status and the sentence of an error; raise it again if it is no error of ours."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, ValidationError):
        return _invalid(error)
    if isinstance(error, ArgumentError):
        value = None if error.value is ... else brief(error.value)
        return Refusal(422, str(error), name=error.name, value=value, remedy=error.remedy or None)
    if isinstance(error, Missing):
        return Refusal(404, str(error))
    if isinstance(error, Mismatch):
        return Refusal(409, str(error))
    if isinstance(error, StoreError):
        parts = {"is_stored": "unknown"} if isinstance(error, Uncertain) else {}
        return Refusal(503, str(error), COME_AGAIN, **parts)
    if isinstance(error, (ValueError, TypeError, TarryError)):
        return Refusal(422, str(error))
    raise error


def _invalid(error: ValidationError) -> Refusal:
    first = error.errors(include_url=False, include_context=False)[0]
    # The words for the kinds of a union stand in the path too; places in the request are names of fields and numbers.
    place = ".".join(str(part) for part in first["loc"] if isinstance(part, int) or _is_field(part))
    value = brief(first["input"])
    return Refusal(422, f"{place or 'the body'}: {first['msg']}, got {value}", name=place or None, value=value)


def _is_field(part: str) -> bool:
    return part.isidentifier() and part not in _KINDS
