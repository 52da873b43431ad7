"""Open every page of the built site in Chromium: `python tests/support/site_check.py [folder]`, as `make docs` does.

Light and dark, at 1200 and at 400 pixels: no message in the console, no request that leaves the folder, no page wider
than the screen, no picture that is missing. And the search, without a network, finds what readers look for.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from chromium import launch, opened
from playwright.sync_api import Browser, sync_playwright
from system import PACKAGES

ROOT = Path(__file__).parents[2]
# What readers look for, and the pages that may stand among the first three results.
WORDS = {
    "drop newest": ("explanation/when-not", "explanation/why-weights", "explanation/models", "cases"),
    "capacity": ("planning", "howto/backups", "glossary", "gallery/04_planning"),
    "VarOpt": ("explanation/why-weights", "gallery/10_varopt", "glossary", "theory"),
    "window": ("live", "gallery/01_conversions", "glossary"),
    "conversions": ("gallery/01_conversions", "start/practitioner", "live"),
    "bandit": ("choosing", "methods", "glossary", "start/researcher"),
    "sweep": ("experiments", "howto/engines", "gallery/08_sweep"),
}
FIRST = 3
WIDTHS = (1200, 400)  # pixels
MISSING = "[...document.images].filter(i => i.getClientRects().length && !i.naturalWidth).map(i => i.src)"
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
FOUND = "ul.search > li"
FINISHED = "document.querySelector('#search-results h2').innerText === 'Search Results'"


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
        if sight.page.query_selector(".sphx-glr-download-link-note"):
            found.append("begins with the gallery's note, and so would its excerpt in the search")
        found += sight.complaints
        inside = folder.resolve().as_uri()
        found += [f"asks for {url}" for url in sight.requests if not url.startswith((inside, "data:", "blob:"))]
    return [f"{path.relative_to(folder)}: {told}" for told in dict.fromkeys(found)]


def search(browser: Browser, folder: Path, words: str) -> tuple[list[str], list[str]]:
    """Return the pages that the site's own search finds, in its order, and what the console says meanwhile."""
    with opened(browser, folder / "search.html") as sight:
        sight.page.goto(f"{(folder / 'search.html').resolve().as_uri()}?q={words.replace(' ', '+')}")
        sight.page.wait_for_selector(FOUND, timeout=20_000)
        sight.page.wait_for_function(FINISHED, timeout=20_000)  # results come one by one
        links = [str(link.get_attribute("href")) for link in sight.page.query_selector_all(f"{FOUND} > a")]
        return [link.partition("#")[0].removesuffix(".html") for link in links], sight.complaints


def misplaced(words: str, wanted: Collection[str], pages: Sequence[str]) -> list[str]:
    """Return a sentence if the first results of a search are not pages that one would want.

    >>> misplaced("window", ["live", "glossary"], ["live", "glossary", "reference/api/live"])
    ["search: 'window' finds reference/api/live among the first 3, wanted live, glossary"]
    >>> misplaced("window", ["live", "glossary", "cases"], ["cases", "live", "glossary", "reference/api/live"])
    []
    """
    others = [page for page in pages[:FIRST] if page not in wanted]
    found = ", ".join(others) or "too little"
    told = f"search: {words!r} finds {found} among the first {FIRST}, wanted {', '.join(wanted)}"
    return [told] if others or len(pages) < FIRST else []


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
        for words, wanted in WORDS.items():
            pages, complaints = search(browser, folder, words)
            found += misplaced(words, wanted, pages) + [f"search: {told}" for told in dict.fromkeys(complaints)]
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
