"""Where commands print: tables whole, and a sign of life while they work."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

PIPED = 132  # columns where nobody's screen says otherwise
PAUSE = 5.0  # seconds between lines that say what is being done


def screen() -> Console:
    """Standard output; what goes into a pipe or a file is not cut at 80 columns."""
    console = Console()
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(width=PIPED)


@contextmanager
def telling(doing: str) -> Iterator[Callable[[str], None]]:
    """A function that says what is being done: on a screen in one line, elsewhere in one every few seconds."""
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(doing) as status:
            yield lambda text: status.update(f"{doing}: {text}")
        return
    last = time.monotonic()

    def tell(text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= PAUSE:
            last = time.monotonic()
            console.print(f"{doing}: {text}", highlight=False, soft_wrap=True)

    yield tell
