"""Open every page of the built site in Chromium: `python tests/support/site_check.py [folder]`, as `make docs` does.

Light and dark, at 1200 and at 400 pixels: no message in the console, no request that leaves the folder, no page wider
than the screen, no picture that is missing. And the search, without a network, finds what readers look for.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from chromium import launch, opened
from playwright.sync_api import Browser, sync_playwright
from system import PACKAGES

ROOT = Path(__file__).parents[2]
WORDS = {"drop newest": "when-not", "capacity": "glossary", "VarOpt": "10_varopt"}
WIDTHS = (1200, 400)  # pixels
MISSING = "[...document.images].filter(i => i.getClientRects().length && !i.naturalWidth).map(i => i.src)"
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
FOUND = "ul.search > li"


def complaints_about(browser: Browser, path: Path, folder: Path) -> list[str]:
    """Return what is wrong with a page, a sentence each."""
    found = []
    with opened(browser, path) as sight:
        for scheme in ("light", "dark"):
            sight.page.emulate_media(color_scheme=scheme)
            for width in WIDTHS:
                sight.page.set_viewport_size({"width": width, "height": 1000})
                sight.page.wait_for_timeout(30)
                if (over := sight.page.evaluate(WIDER)) > 0:
                    found.append(f"{over} pixels too wide at {width}, {scheme}")
                found += [f"picture missing, {scheme}: {source}" for source in sight.page.evaluate(MISSING)]
        found += sight.complaints
        inside = folder.resolve().as_uri()
        found += [f"asks for {url}" for url in sight.requests if not url.startswith((inside, "data:", "blob:"))]
    return [f"{path.relative_to(folder)}: {told}" for told in dict.fromkeys(found)]


def search(browser: Browser, folder: Path, words: str) -> list[str]:
    """Return the addresses that the site's own search finds."""
    with opened(browser, folder / "search.html") as sight:
        sight.page.goto(f"{(folder / 'search.html').resolve().as_uri()}?q={words.replace(' ', '+')}")
        sight.page.wait_for_selector(FOUND, timeout=20_000)
        sight.page.wait_for_timeout(500)  # results come one by one
        return [str(link.get_attribute("href")) for link in sight.page.query_selector_all(f"{FOUND} > a")]


def filtered(browser: Browser, folder: Path, words: str) -> tuple[int, int]:
    """Return how many rows the tables of methods have, and how many are left when the first fields hold these words."""
    with opened(browser, folder / "methods.html") as sight:
        count = "[...document.querySelectorAll('table.docutils tbody tr')].filter(row => !row.hidden).length"
        every = int(sight.page.evaluate(count))
        for field in sight.page.query_selector_all(".tarry-filter"):
            field.fill(words)
        return every, int(sight.page.evaluate(count))


def check(folder: Path) -> list[str]:
    """Return what is wrong with a site."""
    found = []
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        browser = launch(playwright, "DejaVu Sans", Path(scratch))
        for path in sorted(folder.rglob("*.html")):
            found += complaints_about(browser, path, folder)
        for words, page in WORDS.items():
            if not any(page in address for address in search(browser, folder, words)):
                found.append(f"search: {words!r} does not find {page}")
        every, left = filtered(browser, folder, "exp3")
        if not 0 < left < every / 2:
            found.append(f"methods: the filter leaves {left} of {every} rows")
        browser.close()
    return found


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "out" / "site"
    lacking = [name for name in ("chromium", "fonts-dejavu-core") if PACKAGES[name]() is None]
    if lacking:
        sys.stdout.write(f"the site was not opened in a browser: install {', '.join(lacking)}\n")
        return 0
    begun = time.monotonic()
    found = check(folder)
    pages = len(list(folder.rglob("*.html")))
    sys.stdout.write(
        "\n".join([*found, f"{pages} pages opened in {time.monotonic() - begun:.0f} s, {len(found)} faults\n"])
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
