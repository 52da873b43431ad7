"""Measure six parts of docs/figures.json, and draw README's pictures from one: `python -m studies figures`.

The parts are flights, arrivals, clinical, queue, slice and samples. Other commands keep other parts there with
`--write`; each part names its command (`studies.numbers`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from studies.cases import Case, clinical_case, flights_case, queue_case
from studies.charts import WIDTH
from studies.measure import Scores, believe, believe_shuffled, measure_sample, quiet
from studies.numbers import DOCS, Values, read_numbers, short, write_numbers
from studies.streams import PAIRS
from tarry.charts import DARK, INK, PALETTE, altair, data_of, draw, dressed
from tarry.cli.console import progress_lines, refusing
from tarry.planning.policies import find_policy

PICTURES = DOCS / "pictures"
FRONT = {"VarOpt": PALETTE[0], "drop newest": PALETTE[1], "drop oldest": PALETTE[2], "time out": PALETTE[3]}
SLOTS = (2, 4, 8, 16, 32, 64)
PANELS = ("as recorded", "control: shuffled over take-offs")
RUNS = {"flights": 12, "slice": 12, "arrivals": 4, "clinical": 100, "queue": 24}
SAMPLES, DRAWS = "samples", 100  # one decision in N, of departures and patients
MAKE: dict[str, Callable[[], Case]] = {
    "flights": flights_case,
    "slice": lambda: flights_case(first=20_000),
    "arrivals": lambda: flights_case("arrival"),
    "clinical": clinical_case,
    "queue": queue_case,
}
PARTS = (*MAKE, SAMPLES)

Tell = Callable[[str], None]


def figures_command(
    part: Annotated[list[str] | None, typer.Argument(help=f"Parts: {', '.join(PARTS)} (default: all).")] = None,
) -> None:
    """Measure six parts of docs/figures.json, and draw README's pictures; each other part names its own command."""
    with refusing(), quiet(), progress_lines("measuring") as tell:
        for name in part or PARTS:
            if name == SAMPLES:
                write_numbers(name, f"python -m studies figures {name}", sample_values())
                continue
            if name not in MAKE:
                raise ValueError(f"there is no part {name!r}; take one of {', '.join(PARTS)}")
            values = case_values(MAKE[name](), RUNS[name], tell)
            if name == "flights":
                values["by_slots"] = believed_by_slots(flights_case(), 2 * RUNS[name], tell)
            write_numbers(name, f"python -m studies figures {name}", values)
        PICTURES.mkdir(exist_ok=True)
        for file, drawn in front_pictures(read_numbers()["flights"]["values"]).items():
            (PICTURES / file).write_text(drawn, encoding="utf-8")


def case_values(case: Case, seeds: int, tell: Tell) -> Values:
    """Return the facts of a case and, for each policy, what it believes, sees and costs a model."""
    stream, delays = case.stream, case.stream.delays
    return {
        "decisions": stream.horizon,
        "truth": short(stream.mean),
        "slots": case.capacity,
        "mean_backlog": short(delays.total_delay / stream.horizon),
        "max_backlog": delays.max_backlog,
        "max_delay": delays.max_delay,
        "policies": {one.policy: score_values(one) for one in case.figures(seeds, tell=tell)},
    }


def sample_values() -> Values:
    """Return what one decision in N believes, and the slots that it takes."""
    values: Values = {}
    for name in ("flights", "clinical"):
        case = MAKE[name]()
        sample = measure_sample(case.stream, case.capacity, DRAWS, has_model=name == "clinical")
        values[name] = {
            "n": sample.n,
            "believed": short(sample.believed.mean),
            "deviation": short(sample.believed.deviation),
            "shuffled": short(sample.shuffled.mean),
            "shuffled_deviation": short(sample.shuffled.deviation),
            "mean_slots": short(sample.mean_slots),
            "peak_slots": short(sample.peak_slots),
        }
        if sample.progressive is not None:
            values[name]["progressive"] = short(sample.progressive.mean)
            values[name]["progressive_error"] = short(sample.progressive.error)
    return values


def score_values(score: Scores) -> Values:
    """Return one policy's numbers: means, the deviation of one run, standard errors."""
    return {
        "believed": short(score.believed.mean),
        "deviation": short(score.believed.deviation),
        "shuffled": short(score.shuffled.mean),
        "shuffled_deviation": short(score.shuffled.deviation),
        "seen": short(score.seen),
        "progressive": short(score.progressive.mean),
        "progressive_error": short(score.progressive.error),
        "last": short(score.last.mean),
        "last_error": short(score.last.error),
        "memory": score.memory,
    }


def believed_by_slots(case: Case, seeds: int, tell: Tell) -> list[Values]:
    """Return the mean label that each policy of the front picture believes in, by panel and number of slots."""
    rows = []
    for name in FRONT:
        for slots in SLOTS:
            tell(f"{name}, {slots} slots")
            policy = find_policy(name)
            spreads = (
                believe(case.stream, policy, slots, seeds),
                believe_shuffled(case.stream, policy, slots, PAIRS, seeds // 4 + 2),
            )
            for panel, spread in zip(PANELS, spreads, strict=True):
                cell = {"mean": short(spread.mean), "sd": short(spread.deviation)}
                rows.append({"panel": panel, "policy": name, "slots": slots, **cell})
    return rows


def front_pictures(values: Values) -> dict[str, str]:
    """Return the front picture as SVG for light and for dark screens, by file name."""
    light = draw(front_chart(values), ground="transparent").decode()
    dark = light
    for ink, lighter in DARK.items():
        dark = dark.replace(ink, lighter).replace(ink.lower(), lighter)
    return {"flights-light.svg": light + "\n", "flights-dark.svg": dark + "\n"}


def front_chart(values: Values) -> Any:
    """Return charts of the believed mean delay against slots, side by side: as recorded, and shuffled."""
    alt = altair()
    panels = [
        _panel(alt, [row for row in values["by_slots"] if row["panel"] == name], values["truth"], name)
        for name in PANELS
    ]
    title = "The mean delay that each policy believes in, by slots"
    about = [
        "Drop newest errs by rush hours: with pairs of wait and delay shuffled over take-offs it is right.",
        "Drop oldest and time out lose late flights in both.",
    ]
    return dressed(alt.hconcat(*panels, spacing=24), title, about)


def _panel(alt: Any, rows: list[Values], truth: float, name: str) -> Any:
    rows = [{**row, "low": row["mean"] - 2 * row["sd"], "high": row["mean"] + 2 * row["sd"]} for row in rows]
    line = alt.Chart(data_of([{"mean": truth, "slots": SLOTS[-1], "text": f"truth {truth:.1f}"}]))
    scale = alt.Scale(type="log", base=2, domain=[SLOTS[0], SLOTS[-1]], nice=False)
    x = alt.X("slots:Q", title="slots", scale=scale).axis(values=list(SLOTS), format="d", grid=False)
    is_first = name == PANELS[0]
    title = "believed mean delay, minutes" if is_first else None
    y = alt.Y("mean:Q", title=title, scale=alt.Scale(domain=[0, 18])).axis(labels=is_first)
    legend = alt.Legend(title=None, orient="top", symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1)
    colour = alt.Color("policy:N", scale=alt.Scale(domain=list(FRONT), range=list(FRONT.values())), legend=legend)
    # Where lines meet, the dashes of one let the other through.
    dash = alt.StrokeDash("policy:N", scale=alt.Scale(domain=list(FRONT), range=[[1, 0], [6, 3], [1, 0], [3, 3]]))
    dash = dash.legend(None)
    base = alt.Chart(data_of(rows))
    layers = [
        line.mark_rule(color=INK, strokeDash=[5, 4]).encode(y="mean:Q"),
        line.mark_text(align="right", dy=-11, fontSize=13, color=INK).encode(x=x, y=y, text="text:N"),
        base.mark_area(opacity=0.25).encode(x=x, y="low:Q", y2="high:Q", color=colour),
        base.mark_line(strokeWidth=2.5).encode(x=x, y=y, color=colour, strokeDash=dash),
        base.mark_point(filled=True, size=40, opacity=1).encode(x=x, y=y, color=colour),
    ]
    return alt.layer(*layers).properties(width=WIDTH // 2 - 12, height=230, title=name)
