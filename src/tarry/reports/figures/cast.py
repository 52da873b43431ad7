"""Who gets a colour, a dash and a mark; the others are grey."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from tarry.reports.figures.look import RULE
from tarry.results.charts import DASHES, PALETTE, altair

SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left"]
TOLD_APART = 8
OTHERS = "others"
IS_SHOWN, IS_OTHER = f"datum.group != '{OTHERS}'", f"datum.group == '{OTHERS}'"
"""Filters: whoever is told apart, and whoever is not."""


class Cast(NamedTuple):
    """Who is told apart by colour, in this order, and how many others are drawn in grey."""

    shown: list[str]
    others: int

    def of(self, name: str) -> str:
        """The group in which a name is drawn."""
        return name if name in self.shown else OTHERS

    @property
    def note(self) -> str:
        """A sentence on who is grey, if anybody is."""
        if not self.others:
            return ""
        return f" The {len(self.shown)} with the least regret have colours; {self.others} others are grey."


def choose_cast(ranked: Iterable[str]) -> Cast:
    """The first so many names, best first; all, if all can be told apart."""
    names = list(ranked)
    return Cast(names[:TOLD_APART], max(0, len(names) - TOLD_APART))


def encodings(
    cast: Cast, labels: dict[str, str] | None = None, *, marked: bool = False, only: list[str] | None = None
) -> dict[str, Any]:
    """Colour, dash and mark of the column ``group``, with one legend: of lines, or of marks where they are drawn.

    ``labels`` say more in the legend; ``only`` some of the cast take part, and look as they do elsewhere.
    """
    alt = altair()
    places = [i for i, name in enumerate(cast.shown) if only is None or name in only]
    has_others = cast.others > 0 and (only is None or any(name not in cast.shown for name in only))
    grey = [RULE] if has_others else []
    groups = [cast.shown[i] for i in places] + [OTHERS] * has_others
    labels = {OTHERS: f"{cast.others} others", **(labels or {})} if has_others else labels
    said = [(labels or {}).get(name, name) for name in groups]
    longest = max((len(text) for text in said), default=0)
    options: dict[str, Any] = {"columns": max(1, min(5, 100 // (longest + 6))), "labelLimit": 640, "symbolOpacity": 1}
    if labels:
        options["labelExpr"] = f"{json.dumps(dict(zip(groups, said, strict=True)))}[datum.label]"
    stroke = {"symbolType": "stroke", "symbolStrokeWidth": 2, "symbolSize": 500}
    points = {"symbolSize": 90, "symbolStrokeWidth": 0}
    legend = alt.Legend(title=None, orient="bottom", **options, **(points if marked else stroke))
    ranges = {
        "color": (alt.Color, [PALETTE[i] for i in places] + grey, legend),
        "strokeDash": (alt.StrokeDash, [DASHES[i] for i in places] + [[1, 0]] * has_others, None if marked else legend),
        "shape": (alt.Shape, [SHAPES[i] for i in places] + ["circle"] * has_others, legend if marked else None),
    }
    return {
        channel: kind("group:N", scale=alt.Scale(domain=groups, range=values), legend=shown)
        for channel, (kind, values, shown) in ranges.items()
    }


def lines_of(base: Any, look: dict[str, Any], **at: Any) -> Any:
    """A line for each ``line`` of the rows: those told apart in full, the others thin and pale beneath them."""
    told = {"detail": "line:N", "color": look["color"], "strokeDash": look["strokeDash"]}
    pale = base.transform_filter(IS_OTHER).mark_line(strokeWidth=0.8, opacity=0.55).encode(**at, **told)
    return pale + base.transform_filter(IS_SHOWN).mark_line(strokeWidth=1.8).encode(**at, **told)
