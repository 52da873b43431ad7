"""How long a model's steps are: what each way of telling weights comes to, and drop newest with steps as long.

VarOpt's rows are told to a model that takes steps with their weights as they are, relative or tempered, in one call or
split; and without any weight, also to a model that refits. The logs, slots and seeds are those of ``studies models``.
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
from tarry.cases.compare import FREE, OURS, RIVAL, begun_later, slots_of
from tarry.cases.measure import Heard, follow, losses, progress
from tarry.cases.models import make_model
from tarry.checks import as_choice
from tarry.cli.console import progress_lines, refusing, screen
from tarry.live.weighing import RELATIVE, SPLIT, TEMPERED, UNBIASED, Weighing
from tarry.planning.policies import find_policy
from tarry.reports.table import Table
from tarry.reports.table import markdown as as_markdown
from tarry.times import AT_END_OF_WINDOW

STEPPER, REFITTED = "river", "logistic"  # the models: one that takes steps, and one that refits
LONGER, PLAIN = "drop newest, longer steps", "no weights"
GRID = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # times the weights as they are told: steps
OURS_TUNED, RIVAL_TUNED = "VarOpt, best step", "drop newest, best step"
AGAIN, AGAIN_PLAIN = "refitted", "refitted, no weights"
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


def with_longer_steps(heard: Heard, decisions: int) -> Heard:
    """Return rows as they are told if each stands for equally many decisions, tempered and in parts."""
    count = heard.rows.size
    weight = float(np.sqrt(decisions / count)) if count else 1.0
    calls = Weighing().calls(weight)
    return heard._replace(each=np.full(count, weight / calls), calls=np.full(count, calls))


def with_step(heard: Heard, times: float) -> Heard:
    """Return rows as they are told to a model that takes so many times the step, in parts."""
    weights = times * heard.each * heard.calls
    calls = np.array([Weighing().calls(weight) for weight in weights.tolist()], dtype=np.int64)
    return heard._replace(each=weights / calls, calls=calls)


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
    """Teach the models on a log in every way, for each seed."""
    log = LOGS[as_choice(name, "log", tuple(LOGS))]()
    slots, lost = slots_of(log, release, share), dict[str, list[float]]()
    tuned: dict[str, list[list[float]]] = {OURS_TUNED: [], RIVAL_TUNED: []}
    for seed, one in enumerate(begun_later(log, seeds)):
        ours, rival, free = (follow(one, find_policy(policy), slots, release, seed) for policy in (OURS, RIVAL, FREE))
        told = {FREE: free, RIVAL: rival, LONGER: with_longer_steps(rival, one.size), PLAIN: without_weights(ours)}
        told |= {way: told_as(ours, weights, split) for way, (weights, split) in WAYS.items()}
        for way, heard in told.items():
            lost.setdefault(way, []).append(_loss(one, heard, STEPPER))
        for way, heard in ((AGAIN, ours), (AGAIN_PLAIN, told[PLAIN])):
            lost.setdefault(way, []).append(_loss(one, heard, REFITTED))
        if share == SHARES[-1]:
            for way, heard in ((OURS_TUNED, told[TOLD[-1]]), (RIVAL_TUNED, rival)):
                tuned[way].append([_loss(one, with_step(heard, times), STEPPER) for times in GRID])
    best = {way: np.array(found)[:, np.argmin(np.mean(found, axis=0))] for way, found in tuned.items() if found}
    return Trial(name, release, share, {way: np.array(found) for way, found in lost.items()} | best)


def _loss(log: CaseLog, heard: Heard, model: str) -> float:
    return float(losses(log, progress(log, heard, make_model(model, log.is_binary))).mean())


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
    caption = "Loss of two policies, and VarOpt's over that of drop newest by its weights, in per cent."
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


def steps_table(trials: Iterable[Trial]) -> Table:
    """Return what is left of VarOpt's lead where drop newest takes steps as long, and at the best step of each."""
    default = TOLD[-1]
    rows = [
        (
            one.log,
            one.release,
            shown(one.pair(default)),
            shown(one.pair(default, LONGER)),
            shown(one.pair(OURS_TUNED, RIVAL_TUNED)),
        )
        for one in trials
        if one.share == SHARES[-1]
    ]
    return Table(
        "Is it the step or the sample?",
        ("log", "release", RIVAL, LONGER, "each with its best step"),
        rows,
        f"VarOpt's loss with {STEPPER} over that of drop newest, in per cent; slots for {SHARES[-1]:.0%} of the mean "
        "backlog. Longer steps: each of n rows of T decisions is told with weight √(T/n). Best step: of the same grid, "
        f"{GRID[0]:g} to {GRID[-1]:g} times the default, in hindsight.",
        text=("log", "release"),
        name="steps",
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
    seeds: Annotated[int, typer.Option(min=2, help="Runs of VarOpt.")] = 20,
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
    tables = [weights_table(trials), ways_table(trials), steps_table(trials)]
    out.mkdir(parents=True, exist_ok=True)
    file = out / "steps.md"
    file.write_text(as_markdown(tables), encoding="utf-8")
    if keep:
        clinical = next(one for one in trials if one[:3] == ("clinical", AT_END_OF_WINDOW, SHARES[-1]))
        values: Values = {table.name: lines_of(table) for table in tables}
        values |= {
            "comparisons": len(trials),
            "without weights": without_weights_values(trials),
            "relative on clinical": shown(clinical.pair(TOLD[1])),
        }
        write_numbers("steps", f"python -m studies steps --seeds {seeds} --write", values)
    screen().print(f"tables: {file}", soft_wrap=True)
