"""A case from end to end: the stream, its figures, its pictures and its page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from tarry.cases.charts import bias_chart, precision_chart, timeline_chart
from tarry.cases.findings import findings
from tarry.cases.learning import FOUR, SLICE, Result, other_learners
from tarry.cases.measure import Figures, Spread, believe, measure
from tarry.cases.policies import POLICIES, Policy
from tarry.cases.stream import Stream
from tarry.cases.table import LEGEND, OTHERS, cells, columns, html, others_rows
from tarry.cases.timeline import busiest, timeline
from tarry.reports.page import document, figure
from tarry.results.charts import draw

CAPACITIES = (2, 4, 8, 16, 32, 64, 128, 256)
COMPARED = ("VarOpt", "Priority", "Bernoulli (calibrated)", "drop newest", "drop oldest", "time out")
SHOWN = 150  # rounds in the picture of the tracking set
LANES = 12  # and slots at most: more cannot be told apart
DENSITY = 144  # pixels an inch of a .png

Tell = Callable[[str], None]


def quietly(_: str) -> None:
    """Tell nobody."""


class Case(NamedTuple):
    """A stream, and what is told of it besides its figures."""

    stream: Stream
    capacity: int
    story: str
    policies: tuple[Policy, ...] = POLICIES

    def figures(self, seeds: int, policies: Iterable[Policy] | None = None, tell: Tell = quietly) -> list[Figures]:
        """Every policy in turn."""
        chosen, found = list(self.policies if policies is None else policies), []
        for i, policy in enumerate(chosen, 1):
            tell(f"{policy.name} ({i} of {len(chosen)} policies)")
            found.append(measure(self.stream, policy, self.capacity, seeds))
        return found

    def others(self, seeds: int, rounds: int = SLICE, tell: Tell = quietly) -> list[Result]:
        """Every other learner under four policies."""
        return list(other_learners(self.stream, self.capacity, seeds, rounds, tell))

    def precision(self, seeds: int, tell: Tell = quietly) -> list[tuple[str, int, Spread]]:
        """The believed mean label by policy and capacity, up to the largest backlog, beyond which nothing is lost."""
        d, found = self.stream.delays, []
        for policy in self.policies:
            for slots in [c for c in CAPACITIES if c <= d.max_backlog and policy.name in COMPARED]:
                tell(f"{policy.name}, {slots} slots")
                star = "" if policy.make(d, slots).is_unbiased else " *"
                found.append((f"{policy.name}{star}", slots, believe(self.stream, policy, slots, seeds)))
        return found

    def pictures(self, figures: list[Figures], seeds: int, tell: Tell = quietly) -> dict[str, Any]:
        """Bias of the label by policy, precision against capacity, timeline of the tracking set: as charts, by name."""
        shown = min(SHOWN, self.stream.horizon // 2)
        first = busiest(self.stream, shown)
        slots = min(self.capacity, LANES)
        stays = timeline(self.stream, slots, first, first + shown - 1)
        return {
            "bias": bias_chart(self.stream, figures),
            "precision": precision_chart(self.stream, self.precision(2 * seeds, tell)),
            "timeline": timeline_chart(self.stream, stays, slots),
        }


def save_pictures(pictures: dict[str, Any], folder: Path, kind: str = "svg") -> list[Path]:
    """Write charts as bias.svg, precision.svg, … (or .png) and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{kind}" for name in pictures]
    for path, chart in zip(paths, pictures.values(), strict=True):
        path.write_bytes(draw(chart, kind, density=DENSITY))
    return paths


def save_page(case: Case, figures: list[Figures], others: list[Result], pictures: dict[str, Any], path: Path) -> Path:
    """Write one self-contained page: story, pictures, tables."""
    stream = case.stream
    parts = [f"<h1>{escape(stream.name)}</h1>", f"<p>{escape(stream.facts)}.</p>", f"<p>{escape(case.story)}</p>"]
    parts.append(f"<p>{escape(findings(stream, figures))}</p>")
    parts += [figure(chart, name) for name, chart in pictures.items()]
    parts.append(html(columns(stream), [cells(one) for one in figures], LEGEND))
    if others:
        parts.append(html(("learner", "what", *(p.name for p in FOUR)), others_rows(others), OTHERS))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document(stream.name, "\n".join(parts)), encoding="utf-8")
    return path.resolve()
