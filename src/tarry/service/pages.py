"""The console: pages that a browser shows, served from the package, with charts in the theme that all charts share."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles

from tarry.charts import DARK, FAINT, FATE_COLOURS, FONT, GRID, INK, PALETTE, RULE

FOLDER = Path(__file__).parent / "console"
_COLOURS = {"ink": INK, "faint": FAINT, "grid": GRID, "rule": RULE}
_A_DAY = {"cache-control": "max-age=86400"}


def add_console(app: FastAPI) -> None:
    """Add the console's files, its theme and the chart library, which need no token: the pages ask for one."""

    @app.get("/console/vega.js", include_in_schema=False)
    def vega() -> Response:
        return Response(_vega(), media_type="text/javascript", headers=_A_DAY)

    @app.get("/console/theme.json", include_in_schema=False)
    async def theme() -> Response:
        said = {**_COLOURS, "font": FONT, "palette": PALETTE, "dark": DARK, "fates": FATE_COLOURS}
        return JSONResponse(said, headers=_A_DAY)

    @app.get("/", include_in_schema=False)
    async def start() -> Response:
        return RedirectResponse("/console/")

    app.mount("/console", StaticFiles(directory=FOLDER, html=True), name="console")


@cache
def _vega() -> bytes:
    """Return Vega-Lite as one script; the converter of pictures brings it along."""
    from vl_convert import javascript_bundle

    return bytes(javascript_bundle(), "utf-8")  # type: ignore[call-arg]  # its stub asks for what may be left out
