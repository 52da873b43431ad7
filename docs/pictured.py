"""Draw the charts of a tutorial as it is executed: sphinx-gallery asks after each block of code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tarry.charts import DARK, draw

IMAGE = """
.. image:: /{path}
   :alt: {alt}
   :class: only-{ground}
"""


def scrape(block: Any, names: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the markup of the charts that a block of code has made, each drawn for light and for dark pages."""
    held, shown = names["example_globals"], names.setdefault("charts_shown", set())
    made = []
    for chart in list(held.values()):
        # The charts that tarry.charts has dressed: others are parts of them.
        if type(chart).__module__ == "tarry.charts" and hasattr(chart, "to_dict") and id(chart) not in shown:
            shown.add(id(chart))
            path = Path(next(names["image_path_iterator"])).with_suffix("")
            light = draw(chart, ground="transparent").decode()
            dark = light
            for ink, lighter in DARK.items():
                dark = dark.replace(ink, lighter).replace(ink.lower(), lighter)
            for ground, text in {"light": light, "dark": dark}.items():
                # The first of a pair has the name that sphinx-gallery looks for when it makes a thumbnail.
                file = path.with_name(path.name + ("" if ground == "light" else "-dark")).with_suffix(".svg")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
                inside = file.resolve().relative_to(Path(settings["src_dir"]).resolve()).as_posix()
                made.append(IMAGE.format(path=inside, alt="A chart made by the code above", ground=ground))
    return "\n".join(made)
