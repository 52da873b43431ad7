"""Pages that need no token: the console, with charts in the theme that all charts share, and the page of the API."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tarry.charts import DARK, FAINT, FATE_COLOURS, FONT, GRID, INK, PALETTE, RULE
from tarry.service.description import description

FOLDER = Path(__file__).parent / "console"
_COLOURS = {"ink": INK, "faint": FAINT, "grid": GRID, "rule": RULE}
_A_DAY = {"cache-control": "max-age=86400"}


def routes() -> list[Any]:
    """Return the routes of these pages."""
    files = GZipMiddleware(StaticFiles(directory=FOLDER, html=True))
    return [
        Route("/", lambda request: RedirectResponse("/console/")),
        Route("/openapi.json", lambda request: JSONResponse(description())),
        Route("/docs", lambda request: HTMLResponse(_page())),
        Route("/console/vega.js", vega),
        Route("/console/theme.json", theme),
        Mount("/console", files, name="console"),
    ]


def vega(request: Request) -> Response:
    """Send Vega-Lite as one script."""
    return Response(_vega(), media_type="text/javascript", headers=_A_DAY)


def theme(request: Request) -> Response:
    """Send the colours and fonts of charts."""
    said = {**_COLOURS, "font": FONT, "palette": PALETTE, "dark": DARK, "fates": FATE_COLOURS}
    return JSONResponse(said, headers=_A_DAY)


@cache
def _vega() -> bytes:
    """Return Vega-Lite as one script; the converter of pictures brings it along."""
    from vl_convert import javascript_bundle

    return bytes(javascript_bundle(), "utf-8")  # type: ignore[call-arg]  # its stub asks for what may be left out


@cache
def _page() -> str:
    """Return the calls as a page for readers, from their description for programs."""
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Calls · Tarry</title>'
    style = '<link rel="stylesheet" href="/console/console.css">'
    intro = "<p>Every call, from <a href='/openapi.json'>openapi.json</a>; docs/service.md has examples.</p>"
    return f"{head}{style}<main><h1>Calls</h1>{intro}{''.join(_sections())}</main></html>"


def _sections() -> Iterator[str]:
    described = description()
    schemas = described["components"]["schemas"]
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield f"<h2>{method.upper()} {escape(path)}</h2><p>{escape(operation['summary'])}</p>"
            fields = {part["name"]: part for part in operation.get("parameters", ()) if part["in"] == "query"}
            if "requestBody" in operation:
                name = operation["requestBody"]["x-row"]
                fields = schemas[name]["properties"]
            lines = (
                f"<tr><th scope='row'>{escape(field)}</th><td>{escape(part.get('description', ''))}</td></tr>"
                for field, part in fields.items()
            )
            yield f"<table>{''.join(lines)}</table>" if fields else ""
