"""Pages in the system's Chromium, driven by Playwright: in a font of the test's choice, with no network to reach."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright
from system import find

# By family: the package that brings it. DejaVu Sans is among the widest that systems fall back to.
FONTS = {"DejaVu Sans": "fonts-dejavu-core", "Liberation Sans": "fonts-liberation"}
# A set-up of its own for the browser: it sees one folder of fonts, and every name it asks for becomes one family.
FONT_SETUP = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig><dir>{folder}</dir><cachedir>{cache}</cachedir>
<match target="pattern"><edit name="family" mode="prepend" binding="strong"><string>{family}</string></edit></match>
</fontconfig>"""


class Sight(NamedTuple):
    """A page that was opened: the addresses it asked for and the complaints in its console, kept up to date."""

    page: Page
    requests: list[str]
    complaints: list[str]


def launch(playwright: Playwright, family: str, scratch: Path) -> Browser:
    """Start the browser with one family of fonts; its set-up is written to ``scratch``."""
    setup = scratch / "fonts.conf"
    folder = find(FONTS[family]).parent
    setup.write_text(FONT_SETUP.format(folder=folder, cache=scratch / "cache", family=family))
    return playwright.chromium.launch(
        executable_path=find("chromium"),
        args=["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
        env={**os.environ, "FONTCONFIG_FILE": str(setup)},
    )


@contextmanager
def opened(browser: Browser, path: Path) -> Iterator[Sight]:
    """Show a page in a tab of its own, and close the tab at the end."""
    page = browser.new_page(viewport={"width": 1000, "height": 1400}, color_scheme="light")
    sight = Sight(page, [], [])
    page.on("request", lambda request: sight.requests.append(request.url))
    page.on("requestfailed", lambda request: sight.complaints.append(f"{request.url}: {request.failure}"))
    page.on("pageerror", lambda error: sight.complaints.append(str(error)))
    page.on("console", lambda message: sight.complaints.extend(_complaint(message)))
    try:
        page.goto(path.resolve().as_uri())
        page.wait_for_timeout(100)  # milliseconds, for what a page asks for late
        yield sight
    finally:
        page.close()


def _complaint(message: ConsoleMessage) -> list[str]:
    return [message.text] if message.type in ("error", "warning", "assert") else []
