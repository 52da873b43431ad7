"""What each way of telling weights comes to where every way has its own best step.

VarOpt's rows are told to a model that takes steps with their weights as they are, relative or tempered, in one call or
split; and without any weight, also to a model that refits. The logs, slots and grids are those of ``studies models``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from studies.logs import LOGS
from studies.models import MUCH, SHARES, Counts, Pair, shown
from studies.numbers import Values, Write, lines_of, write_numbers
from tarry.cases import CaseLog, Spread
from tarry.cases.compare import (
    FREE,
    OURS,
    RIVAL,
    TRIALS,
    begun_later,
    best_setting,
    mean_losses,
    predictions,
    slots_of,
)
from tarry.cases.measure import Heard, follow
from tarry.checks import as_choice
from tarry.cli.console import progress_lines, refusing, screen
from tarry.live.weighing import RELATIVE, SPLIT, TEMPERED, UNBIASED, Weighing
from tarry.planning.policies import find_policy
from tarry.reports.table import Table
from tarry.reports.table import markdown as as_markdown
from tarry.times import AT_END_OF_WINDOW

STEPPER, REFITTED = "river", "logistic"  # the models: one that takes steps, and one that refits
PLAIN, AGAIN, AGAIN_PLAIN = "no weights", "refitted", "refitted, no weights"
TOLD = (f'`"{UNBIASED}"`, one call', f'`"{RELATIVE}"`, one call', f'`"{TEMPERED}"`, split')
WAYS: dict[str, tuple[str, float | None]] = {
    TOLD[0]: (UNBIASED, None),
    f'`"{UNBIASED}"`, split': (UNBIASED, SPLIT),
    TOLD[1]: (RELATIVE, None),
    f'`"{RELATIVE}"`, split': (RELATIVE, SPLIT),
    TOLD[2]: (TEMPERED, SPLIT),
}
SLIGHT = 0.01  # a change of the loss that is no news


def told_as(heard: Heard, weights: str, split: float | None) -> Heard:
    """Return rows as a model is told them with these weights; a row that came out has its tempered ones."""
    so_far = np.cumsum(heard.weights) / np.arange(1, heard.weights.size + 1)  # the mean that relative weights divide by
    whole = {UNBIASED: heard.weights, RELATIVE: heard.weights / so_far, TEMPERED: heard.each * heard.calls}[weights]
    weighing = Weighing(weights, split)
    calls = np.array([weighing.calls(weight) for weight in whole.tolist()], dtype=np.int64)
    return heard._replace(each=whole / calls, calls=calls)


def without_weights(heard: Heard) -> Heard:
    """Return rows as a model is told them without weights, by steps or to refit."""
    return heard._replace(weights=np.ones_like(heard.weights), each=np.ones_like(heard.each), calls=heard.calls**0)


class Trial(NamedTuple):
    """A log under one release with one share of slots: mean losses by seed, by what a model is told."""

    log: str
    release: str
    share: float
    losses: dict[str, NDArray[np.float64]]

    def pair(self, ours: str, theirs: str = RIVAL) -> Pair:
        """Return how far the loss of one is above that of the other."""
        relative = self.losses[ours] / self.losses[theirs] - 1.0
        return Pair(self.log, self.share, self.release, STEPPER, Spread.of(relative))


def play(name: str, release: str, share: float, seeds: int) -> Trial:
    """Teach the models on a log in every way, each with its own best step or penalty, in so many runs."""
    log = LOGS[as_choice(name, "log", tuple(LOGS))]()
    slots = slots_of(log, release, share)
    ways: dict[str, list[tuple[CaseLog, Heard]]] = {}
    for seed, begun in enumerate(begun_later(log, seeds + TRIALS)):
        ours, rival, free = (follow(begun, find_policy(p), slots, release, seed) for p in (OURS, RIVAL, FREE))
        heard = {FREE: free, RIVAL: rival}
        if (release, share) == (AT_END_OF_WINDOW, SHARES[-1]):
            heard |= {PLAIN: without_weights(ours), AGAIN: ours, AGAIN_PLAIN: without_weights(ours)}
        heard |= {way: told_as(ours, weights, split) for way, (weights, split) in WAYS.items()}
        for way, rows in heard.items():
            ways.setdefault(way, []).append((begun, rows))
    losses = {}
    for way, runs in ways.items():
        model = REFITTED if way in (AGAIN, AGAIN_PLAIN) else STEPPER
        setting = best_setting(model, runs[-TRIALS:])
        losses[way] = mean_losses(runs[:-TRIALS], predictions(model, setting, runs[:-TRIALS]))
    return Trial(name, release, share, losses)


def weights_table(trials: Iterable[Trial]) -> Table:
    """Return what each kind of weight comes to against drop newest, with rows held to the end of their window."""
    rows = [
        (
            one.log,
            f"{one.share:.0%}",
            *(f"{one.losses[policy].mean():.3f}" for policy in (FREE, RIVAL)),
            *(shown(one.pair(way)) for way in TOLD),
        )
        for one in trials
        if one.release == AT_END_OF_WINDOW
    ]
    caption = "Loss of two policies, and VarOpt's over drop newest's by its weights in per cent, each at its best step."
    return Table("Weights", ("log", "slots", "no limit", RIVAL, *TOLD), rows, caption, text=("log",), name="weights")


def ways_table(trials: Iterable[Trial]) -> Table:
    """Return in how many trials each way of telling weights is ahead of drop newest, and behind."""
    listed, rows = list(trials), []
    for way in WAYS:
        _, ahead, behind, much, worst = Counts.of([one.pair(way) for one in listed])
        rows.append((way, str(much), str(behind), str(ahead), f"{worst:+.1%}"))
    heads = ("weights", f"behind by over {MUCH:.0%}", "behind", "ahead", "worst")
    return Table(
        "Ways to tell weights", heads, rows, f"Of {len(listed)} comparisons, clearly.", text=heads[:1], name="ways"
    )


def without_weights_values(trials: Iterable[Trial]) -> Values:
    """Return by how much the loss changes where models are told no weights, which would be relative ones."""
    listed = [one for one in trials if one.release == AT_END_OF_WINDOW and one.share == SHARES[-1]]
    pairs = [pair for one in listed for pair in (one.pair(PLAIN, TOLD[1]), one.pair(AGAIN_PLAIN, AGAIN))]
    changes = [abs(pair.behind.mean) for pair in pairs]
    return {"trials": len(changes), "slight": sum(by < SLIGHT for by in changes), "most": max(changes, default=0.0)}


def steps_command(
    out: Annotated[Path, typer.Option(help="Folder for the tables.")] = Path("out") / "steps",
    log: Annotated[list[str] | None, typer.Option(help=f"Only these (repeat): {', '.join(LOGS)}.")] = None,
    seeds: Annotated[int, typer.Option(min=2, help="Runs.")] = 8,
    keep: Write = False,
) -> None:
    """Which weights should a model be told? Eight logs, by release, slots and ways to tell weights."""
    from studies.measure import quiet

    if keep and log:
        raise typer.BadParameter("--write keeps all logs: leave out --log")
    trials = []
    with refusing(), quiet(), progress_lines("playing") as tell:
        for name in log or LOGS:
            for release in LOGS[as_choice(name, "log", tuple(LOGS))]().releases:
                for share in SHARES:
                    tell(f"{name}, {release}, {share:.0%}")
                    trials.append(play(name, release, share, seeds))
    tables = [weights_table(trials), ways_table(trials)]
    out.mkdir(parents=True, exist_ok=True)
    file = out / "steps.md"
    file.write_text(as_markdown(tables), encoding="utf-8")
    if keep:
        values: Values = {table.name: lines_of(table) for table in tables}
        values |= {"comparisons": len(trials), "without weights": without_weights_values(trials)}
        write_numbers("steps", f"python -m studies steps --seeds {seeds} --write", values)
    screen().print(f"tables: {file}", soft_wrap=True)
