"""What Schemathesis checks of every answer beside its own checks: a call that is refused has changed nothing."""

from __future__ import annotations

import os
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import schemathesis

URL, TOKEN = "FUZZED_URL", "FUZZED_TOKEN"  # variables of the environment
_known: dict[str, bytes] = {}  # what was kept after the last call, by the object's address


@schemathesis.check
def refused_calls_change_nothing(ctx: Any, response: Any, case: Any) -> None:
    """Compare all that is kept of a join or session with what was kept after the last call, if this one was refused."""
    name = (case.path_parameters or {}).get("name")
    if name is None:
        return
    place = f"/v1/{case.path.split('/')[2]}/{quote(str(name), safe='')}"
    now = _export(place)
    before = _known.get(place)
    _known[place] = now
    if response.status_code >= 400 and before is not None:
        assert now == before, f"{response.status_code}, and {place} went from {before[:500]!r} to {now[:500]!r}"


def _export(place: str) -> bytes:
    """Return everything that is kept, or nothing where nothing is."""
    asked = Request(f"{os.environ[URL]}{place}/export?payloads=true")
    asked.add_header("authorization", f"Bearer {os.environ[TOKEN]}")
    try:
        with urlopen(asked, timeout=60) as found:
            return bytes(found.read())
    except HTTPError as error:
        with error:
            return b""
