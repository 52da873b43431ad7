"""A picture of the console for the docs: ``python tests/support/console_pictures.py docs/pictures`` writes it."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

from chromium import launch
from playwright.sync_api import sync_playwright
from serving import Served

WIDE = {"width": 1180, "height": 1240}
PAUSE = 0.05  # seconds between two orders


def fill(served: Served) -> None:
    """Let a shop's orders come in, and the payments of a fifth of them, the larger ones later."""
    draw = random.Random(4)
    waiting: list[tuple[int, str, int]] = []
    for i in range(160):
        id, paid = f"order-{i}", int(draw.random() < 0.2)
        served.call("POST", "/v1/joins/orders/decide", {"id": id, "features": {"basket": draw.randint(5, 90)}})
        waiting.append((i + draw.randint(20, 40) if paid else i + draw.randint(1, 15), id, paid))
        time.sleep(PAUSE)
        for due in [one for one in waiting if one[0] <= i]:
            waiting.remove(due)
            served.call("POST", "/v1/joins/orders/label", {"id": due[1], "label": due[2]})


def main(folder: Path) -> None:
    """Write a picture of a live join."""
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        served = Served(Path(scratch))
        try:
            served.call("POST", "/v1/joins/orders", {"capacity": 12, "seed": 1})
            browser = launch(playwright, "DejaVu Sans", Path(scratch))
            page = browser.new_page(viewport=WIDE)
            page.goto(f"{served.url}/")
            page.get_by_label("Token").fill(served.token)
            page.keyboard.press("Enter")
            page.get_by_role("heading", name="Overview").wait_for()
            page.goto(f"{served.url}/console/#/joins/orders")
            page.get_by_text("Live.").wait_for()
            fill(served)
            page.get_by_label("Stays in slots over time").wait_for()
            page.wait_for_timeout(1000)
            page.screenshot(path=folder / "console-join.png")
            browser.close()
        finally:
            served.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
