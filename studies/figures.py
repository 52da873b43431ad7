"""Measure five parts of docs/figures.json, and draw README's pictures from one: `python -m studies figures`.

The parts are flights, arrivals, clinical, queue and slice. Other commands keep other parts there with `--write`; each
part names its command (`studies.numbers`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from studies.cases import Case, clinical_case, flights_case, queue_case
from studies.charts import WIDTH
from studies.measure import Scores, believe, quiet
from studies.numbers import DOCS, Values, read_numbers, short, write_numbers
from tarry.charts import DARK, INK, PALETTE, altair, data_of, draw, dressed
from tarry.cli.console import progress_lines, refusing
from tarry.planning.policies import find_policy

PICTURES = DOCS / "pictures"
FRONT = {"VarOpt": PALETTE[0], "drop newest": PALETTE[1], "drop oldest": PALETTE[2], "time out": PALETTE[3]}
SLOTS = (2, 4, 8, 16, 32, 64)
NAMED_AT = {"VarOpt": 16, "drop newest": 16, "drop oldest": 16, "time out": 64}  # slots, where a line has room
RUNS = {"flights": 12, "slice": 12, "arrivals": 4, "clinical": 100, "queue": 24}
MAKE: dict[str, Callable[[], Case]] = {
    "flights": flights_case,
    "slice": lambda: flights_case(first=20_000),
    "arrivals": lambda: flights_case("arrival"),
    "clinical": clinical_case,
    "queue": queue_case,
}

Tell = Callable[[str], None]


def figures_command(
    part: Annotated[list[str] | None, typer.Argument(help=f"Parts: {', '.join(MAKE)} (default: all).")] = None,
) -> None:
    """Measure five parts of docs/figures.json, and draw README's pictures; each other part names its own command."""
    with refusing(), quiet(), progress_lines("measuring") as tell:
        for name in part or MAKE:
            if name not in MAKE:
                raise ValueError(f"there is no part {name!r}; take one of {', '.join(MAKE)}")
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


def score_values(score: Scores) -> Values:
    """Return one policy's numbers: means, the deviation of one run, standard errors."""
    return {
        "believed": short(score.believed.mean),
        "deviation": short(score.believed.deviation),
        "seen": short(score.seen),
        "progressive": short(score.progressive.mean),
        "progressive_error": short(score.progressive.error),
        "last": short(score.last.mean),
        "last_error": short(score.last.error),
        "memory": score.memory,
    }


def believed_by_slots(case: Case, seeds: int, tell: Tell) -> list[Values]:
    """Return the mean label that each policy of the front picture believes in, by the number of slots."""
    rows = []
    for name in FRONT:
        for slots in SLOTS:
            tell(f"{name}, {slots} slots")
            spread = believe(case.stream, find_policy(name), slots, seeds)
            rows.append({"policy": name, "slots": slots, "mean": short(spread.mean), "sd": short(spread.deviation)})
    return rows


def front_pictures(values: Values) -> dict[str, str]:
    """Return the front picture as SVG for light and for dark screens, by file name."""
    light = draw(front_chart(values), ground="transparent").decode()
    dark = light
    for ink, lighter in DARK.items():
        dark = dark.replace(ink, lighter).replace(ink.lower(), lighter)
    return {"flights-light.svg": light + "\n", "flights-dark.svg": dark + "\n"}


def front_chart(values: Values) -> Any:
    """Return a chart of the believed mean delay against slots; bands are two standard deviations of one run."""
    alt = altair()
    rows = [
        {**row, "low": row["mean"] - 2 * row["sd"], "high": row["mean"] + 2 * row["sd"]} for row in values["by_slots"]
    ]
    named = [row for row in rows if row["slots"] == NAMED_AT[row["policy"]]]
    truth = alt.Chart(data_of([{"mean": values["truth"], "slots": SLOTS[-1], "text": f"truth {values['truth']:.1f}"}]))
    scale = alt.Scale(type="log", base=2, domain=[SLOTS[0], SLOTS[-1]], nice=False)
    x = alt.X("slots:Q", title="slots: decisions that can be tracked at once", scale=scale)
    x = x.axis(values=list(SLOTS), format="d", grid=False)
    y = alt.Y("mean:Q", title="believed mean delay, minutes", scale=alt.Scale(domain=[0, 18]))
    colour = alt.Color("policy:N", scale=alt.Scale(domain=list(FRONT), range=list(FRONT.values())), legend=None)
    base = alt.Chart(data_of(rows))
    names = alt.Chart(data_of(named)).mark_text(align="right", dx=-4, dy=-13, fontSize=13, fontWeight="bold")
    layers = [
        truth.mark_rule(color=INK, strokeDash=[5, 4]).encode(y="mean:Q"),
        truth.mark_text(align="right", dy=-11, fontSize=13, color=INK).encode(x=x, y=y, text="text:N"),
        base.mark_area(opacity=0.25).encode(x=x, y="low:Q", y2="high:Q", color=colour),
        base.mark_line(strokeWidth=2.5).encode(x=x, y=y, color=colour),
        base.mark_point(filled=True, size=45, opacity=1).encode(x=x, y=y, color=colour),
        names.encode(x=x, y=y, color=colour, text="policy:N"),
    ]
    title = "The mean delay that each policy believes in, by slots"
    about = f"{values['decisions']:,} flights; a flight's delay is known when it has left, so late flights wait longest"
    return dressed(alt.layer(*layers).properties(width=WIDTH, height=260), title, about)
