"""What models make of the rows that each policy hands out: real logs, two models, two releases, two capacities."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer

from studies.logs import LOGS
from studies.numbers import Values, Write, lines_of, write_numbers
from tarry.cases import MODELS, CaseLog, Comparison, Spread, compare
from tarry.cases.compare import CLEAR, FREE, OURS, RIVAL
from tarry.checks import as_choice
from tarry.cli.console import progress_lines, refusing, screen
from tarry.delays import fixed
from tarry.game import replay
from tarry.outcomes import DASH, Fate
from tarry.reports.page import Page
from tarry.reports.page import save_page as write_page
from tarry.reports.table import Table
from tarry.reports.table import markdown as as_markdown
from tarry.schedulers import DropNewest, VarOpt

SHARES = (0.05, 0.15)  # of the mean backlog
USUAL = ("river", "logistic")  # one that takes steps, and one that refits
POLICIES = (OURS, RIVAL, FREE)
WINDOWS = (3, 12, 48)
GENERATED = 3  # logs for each length, which differ in nothing else
BACKLOG = 100  # decisions in a window of those
STEADY, LONG = 20_000, 1_000  # decisions, and how many of them a window lasts
SLOTS = (2, 5, 15, 50, 150)
STEPPERS = ("river", "sgd")  # the models that take steps
MUCH = 0.03  # of the loss: nobody should be behind by more


class Pair(NamedTuple):
    """VarOpt against drop newest, all else equal: how far the loss is above, as a share of it, over seeds."""

    log: str
    share: float
    release: str
    model: str
    behind: Spread

    @property
    def is_clear(self) -> bool:
        return abs(self.behind.mean) > CLEAR * self.behind.error


def play(
    names: Iterable[str], models: Iterable[str], seeds: int, tell: Callable[[str], None]
) -> Iterator[tuple[str, float, Comparison]]:
    """Yield a comparison for each log and share, with no limit for the largest share alone."""
    logs = {name: LOGS[as_choice(name, "log", tuple(LOGS))]() for name in names}
    asked = [(name, share) for name in logs for share in SHARES]
    compared = partial(_compared, models=tuple(models), seeds=seeds)
    # A process of its own each: Polars does not outlive a fork.
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        done = pool.map(compared, (logs[name] for name, _ in asked), (share for _, share in asked))
        for (name, share), comparison in zip(asked, done, strict=True):
            tell(f"{name}, {share:.0%}")
            yield name, share, comparison


def _compared(log: CaseLog, share: float, models: tuple[str, ...], seeds: int) -> Comparison:
    from studies.measure import quiet

    with quiet():
        policies = POLICIES if share == SHARES[-1] else (OURS, RIVAL)
        return compare(log, models=models, capacity=share, seeds=seeds, policies=policies)


def pairs_of(name: str, share: float, made: Comparison) -> list[Pair]:
    """Return VarOpt against drop newest for each release and model."""
    found = []
    for ours in made.scores:
        rival = made.find(ours.model, RIVAL, ours.release)
        if ours.policy == OURS and rival is not None:
            relative = np.asarray(ours.losses) / np.asarray(rival.losses) - 1.0
            found.append(Pair(name, share, ours.release, ours.model, Spread.of(relative)))
    return found


def exchangeable(windows: float, rng: int = 0) -> CaseLog:
    """Return a generated log in which nothing but the rows' number matters: steady decisions, no drift, one window."""
    draws = np.random.default_rng(rng)
    count = round(windows * BACKLOG)
    features = draws.normal(size=(count, 4))
    labels = (draws.random(count) < 1 / (1 + np.exp(1 - features @ np.array([1.0, -1.0, 0.5, 0.0])))).astype(np.float64)
    moments = np.arange(count, dtype=np.float64)
    waits = np.where(labels > 0, draws.random(count), 1.0) * BACKLOG
    return CaseLog(moments, moments + waits, labels, features, window=float(BACKLOG))


def by_length(models: Iterable[str], tell: Callable[[str], None]) -> list[tuple[int, Pair, float, float]]:
    """Return VarOpt against drop newest, and their rows, on generated logs that differ in their length alone."""
    found = []
    for windows in WINDOWS:
        cells: dict[str, list[tuple[float, float, float]]] = {}
        for rng in range(GENERATED):
            tell(f"{windows} windows, log {rng + 1}")
            log, options = exchangeable(windows, rng), {"capacity": 0.15, "seeds": 2, "releases": ("window",)}
            made = compare(log, models=tuple(models), policies=(OURS, RIVAL), **options)  # type: ignore[arg-type]
            for pair in pairs_of("generated", 0.15, made):
                rows = [score.rows for p in (OURS, RIVAL) if (score := made.find(pair.model, p, "window"))]
                cells.setdefault(pair.model, []).append((pair.behind.mean, rows[0], rows[1]))
        for model, figures in cells.items():
            behind, ours, theirs = np.array(figures).T
            pair = Pair("generated", 0.15, "window", model, Spread.of(behind))
            found.append((windows, pair, float(ours.mean()), float(theirs.mean())))
    return found


def pairs_table(pairs: list[Pair], models: list[str]) -> Table:
    """Return how far VarOpt is behind drop newest: a row for each log, release and share, a column for each model."""
    cells = {(p.log, p.release, p.share, p.model): p for p in pairs}
    keys = list(dict.fromkeys(key[:3] for key in cells))
    rows = [
        (log, release, f"{share:.0%}", *(shown(cells[log, release, share, m]) for m in models))
        for log, release, share in keys
    ]
    caption = (
        "Progressive loss of VarOpt over that of drop newest, in per cent, with standard errors over seeds; below 0 "
        "VarOpt is ahead. * more than two standard errors behind."
    )
    return Table(
        "VarOpt against drop newest",
        ("log", "release", "slots", *models),
        rows,
        caption,
        text=("log", "release"),
        name="pairs",
    )


def shown(pair: Pair) -> str:
    """Return by how much VarOpt is behind in per cent, with its standard error, and a mark where that is clear."""
    mark = "*" if pair.is_clear and pair.behind.mean > 0 else ""
    return f"{100 * pair.behind.mean:+.1f} ({100 * pair.behind.error:.1f}){mark}"


def losses_table(made: list[tuple[str, float, Comparison]], models: list[str]) -> Table:
    """Return the loss of each policy: a row for each log, release, share and model."""
    rows = []
    for name, share, one in made:
        for release in one.log.releases:
            for model in models:
                scores = [one.find(model, policy, release) for policy in POLICIES]
                cells = (
                    f"{s.loss.mean:.3f} ({s.loss.error:.3f}), {s.rows:,.0f} rows, × {s.setting:g}" if s else DASH
                    for s in scores
                )
                rows.append((name, release, f"{share:.0%}", model, *cells))
    return Table(
        "Progressive loss by policy",
        ("log", "release", "slots", "model", *POLICIES),
        rows,
        "Nats for each settled decision, predicted with the rows out before it; standard errors over seeds. "
        "×: the step, penalty or learning rate over the model's default.",
        text=("log", "release", "model"),
        name="losses",
    )


def lengths_table(found: list[tuple[int, Pair, float, float]], models: list[str]) -> Table:
    """Return how the lead of drop newest fades with the length of a log."""
    rows = []
    for windows in dict.fromkeys(one[0] for one in found):
        cells = {pair.model: (pair, ours, rival) for w, pair, ours, rival in found if w == windows}
        _, ours, rival = cells[models[0]]
        rows.append((str(windows), f"{ours:,.0f}", f"{rival:,.0f}", *(shown(cells[m][0]) for m in models)))
    return Table(
        "The same by the length of a log, where nothing else matters",
        ("windows", "rows, VarOpt", "rows, drop newest", *models),
        rows,
        f"Generated: steady decisions, {BACKLOG} in a window, no drift, release='window', 15 slots. As above.",
        name="lengths",
    )


@cache
def slots_table() -> Table:
    """Return how many rows slots give, of those that they could: C in a window, where every decision waits for one."""
    waits, rows = fixed(horizon=STEADY, delay=LONG), []
    for capacity in SLOTS:
        told = []
        for scheduler in (VarOpt(), DropNewest()):
            made = replay(scheduler, waits, capacity=capacity, seeds=range(4))
            told.append(f"{made.fates[:, Fate.USED].mean() * LONG / (capacity * STEADY):.0%}")
        rows.append((str(capacity), *told))
    return Table(
        "Rows heard, of those that so many slots could hear",
        ("slots", OURS, RIVAL),
        rows,
        f"{STEADY:,} steady decisions, each waiting for {LONG:,} others. VarOpt gives slots up to keep weights equal.",
        name="slots",
    )


class Counts(NamedTuple):
    """In how many comparisons VarOpt is ahead of drop newest or behind, by two standard errors, and behind by much."""

    comparisons: int
    ahead: int
    behind: int
    much: int
    worst: float

    @classmethod
    def of(cls, pairs: list[Pair]) -> Counts:
        """Count pairs."""
        clear = [pair.behind.mean for pair in pairs if pair.is_clear]
        behind, much = sum(by > 0 for by in clear), sum(by > MUCH for by in clear)
        return cls(len(pairs), len(clear) - behind, behind, much, max(pair.behind.mean for pair in pairs))


def counts_table(pairs: list[Pair]) -> Table:
    """Return where VarOpt is clearly ahead, behind, and behind by much, for each model and release."""
    rows = []
    for model, release in dict.fromkeys((pair.model, pair.release) for pair in pairs):
        *counts, worst = Counts.of([pair for pair in pairs if (pair.model, pair.release) == (model, release)])
        rows.append((model, release, *map(str, counts), f"{worst:+.1%}"))
    return Table(
        "In how many comparisons",
        ("model", "release", "comparisons", "ahead", "behind", f"behind by over {MUCH:.0%}", "worst"),
        rows,
        "VarOpt against drop newest, by more than two standard errors over seeds.",
        text=("model", "release"),
        name="counts",
    )


def summary(pairs: list[Pair]) -> str:
    """Say where VarOpt is clearly behind, ahead, and behind by much, for each release."""
    told = []
    for release in dict.fromkeys(pair.release for pair in pairs):
        found = Counts.of([pair for pair in pairs if pair.release == release])
        told.append(
            f"With release={release!r}, of {found.comparisons} comparisons VarOpt is ahead of drop newest by more than "
            f"two standard errors in {found.ahead}, behind in {found.behind}, and behind by more than {MUCH:.0%} in "
            f"{found.much}."
        )
    return " ".join(told)


def write(
    out: Path,
    made: list[tuple[str, float, Comparison]],
    lengths: list[tuple[int, Pair, float, float]],
    models: list[str],
) -> tuple[Path, Values]:
    """Write all numbers, the tables as Markdown and the page; return the page, and what the pages show.

    These are docs/explanation/models.md, and docs/cases.md for the counts.
    """
    told = [{"log": name, "share": share, **one.to_dict()} for name, share, one in made]
    (out / "models.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    pairs = [pair for name, share, one in made for pair in pairs_of(name, share, one)]
    tables = [
        counts_table(pairs),
        pairs_table(pairs, models),
        lengths_table(lengths, models),
        slots_table(),
        losses_table(made, models),
    ]
    (out / "models.md").write_text(f"{summary(pairs)}\n\n{as_markdown(tables)}", encoding="utf-8")
    facts = [f"{name}: {one.facts}" for name, share, one in made if share == SHARES[0]]
    page = write_page(Page("Do weights serve models?", [summary(pairs)], notes=facts, parts=tables), out / "index.html")
    shown = losses_table([one for one in made if one[1] == SHARES[-1]], models)
    values: Values = {table.name: lines_of(table) for table in (*tables, shown)}
    for kind, ours in (("of steps", True), ("of refits", False)):
        if found := [pair for pair in pairs if (pair.model in STEPPERS) is ours]:
            values[kind] = Counts.of(found)._asdict()
    for release in dict.fromkeys(pair.release for pair in pairs):
        values[f"of {release}"] = Counts.of([pair for pair in pairs if pair.release == release])._asdict()
    return page, {**values, "summary": summary(pairs)}


def models_command(
    out: Annotated[Path, typer.Option(help="Folder for the page, the tables and all numbers.")] = Path("out")
    / "models",
    log: Annotated[list[str] | None, typer.Option(help=f"Only these (repeat): {', '.join(LOGS)}.")] = None,
    model: Annotated[list[str] | None, typer.Option(help=f"Only these (repeat): {', '.join(MODELS)}.")] = None,
    seeds: Annotated[int, typer.Option(min=2, help="Runs of each policy.")] = 8,
    keep: Write = False,
) -> None:
    """Do weights serve models? Two models on eight logs, by policy, release and slots."""
    from studies.measure import quiet

    names, models = list(log or LOGS), list(model or USUAL)
    if keep and (log or model):
        raise typer.BadParameter("--write keeps all logs and models: leave out --log and --model")
    with refusing(), quiet(), progress_lines("playing") as tell:
        out.mkdir(parents=True, exist_ok=True)
        lengths = by_length(models, tell)
        made: list[tuple[str, float, Comparison]] = []
        for one in play(names, models, seeds, tell):
            made.append(one)
            page, values = write(out, made, lengths, models)  # as it grows: all of it takes many minutes
    if keep:
        write_numbers("models", f"python -m studies models --seeds {seeds} --write", values)
    screen().print(f"page: {page}", soft_wrap=True)
