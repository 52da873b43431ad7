"""What a limit costs the player of Theorem 1: regret by the number of slots, with noise in the losses and without."""

from __future__ import annotations

from typing import Annotated

import typer

from studies.compare import instance, make_player, regret_cell, scale_of
from studies.measure import quiet
from studies.numbers import Write, lines_of, short, write_numbers
from tarry import simulate, theory
from tarry.cli.console import progress_lines, refusing, screen
from tarry.outcomes import number
from tarry.reports.table import Table

GAMES = {"adversarial blocks": "blocks, no noise", "linear with drift": "drift under noise"}
SLOTS = (1, 4, 16, None)
DELAYS = "fixed"  # of 200 rounds
PLAYER = "VarOpt, Anytime"
SPREAD_SEEDS = 100


def slots_table(seeds: int, horizon: int) -> Table:
    """Return the mean regret by game and slots; each seed draws its own game."""
    rows = []
    for losses, name in GAMES.items():
        cells = [regret_cell(losses, DELAYS, slots, PLAYER, seeds, horizon) for slots in SLOTS]
        rows.append((name, *(number(cell["regret"], cell["half"]) for cell in cells)))
    heads = ("game", *("no limit" if slots is None else f"C = {slots}" for slots in SLOTS))
    note = f"{horizon:,} rounds, {seeds} seeds; ± half the 95 % interval of the mean."
    return Table("Regret by slots", heads, rows, note, text=("game",))


def bound_of(horizon: int) -> float:
    """Return the bound of Theorem 1 (b), which is the same for both games and all numbers of slots."""
    game = instance("adversarial blocks", DELAYS, horizon=horizon, capacity=1)(0)
    scale, late = scale_of(game), game.delays.total_delay
    return theory.varopt_bound(
        diameter=scale["diameter"], gradient_bound=scale["gradient_bound"], horizon=horizon, total_delay=late
    )


def spread_values(seeds: int, horizon: int) -> dict[str, float]:
    """Return how regret spreads in one game with drift, over the draws of one slot; no limit draws nothing."""
    regrets = {}
    for slots in (1, None):
        game = instance("linear with drift", DELAYS, horizon=horizon, capacity=slots)(0)
        regrets[slots] = simulate(game, make_player(PLAYER, game), seeds=seeds).regret
    one, free = regrets[1], regrets[None]
    most = {"mean": one.mean(), "deviation": one.std(ddof=1), "most": one.max()}
    return {name: short(float(value)) for name, value in {**most, "free": free.mean()}.items()}


def slots_command(
    seeds: Annotated[int, typer.Option(min=2, help="Games of each kind.")] = 24,
    horizon: Annotated[int, typer.Option(min=10, help="Rounds of a game.")] = 20_000,
    write: Write = False,
) -> None:
    """What do fewer slots cost the player of Theorem 1, with noise in the losses and without?"""
    with refusing(), quiet(), progress_lines("playing"):
        table, bound = slots_table(seeds, horizon), bound_of(horizon)
        spread = spread_values(SPREAD_SEEDS, horizon)
    screen().print(table.rich())
    typer.echo(f"Theorem 1 (b): {bound:,.0f}")
    typer.echo(
        f"One game with drift, {SPREAD_SEEDS} draws of one slot: mean {spread['mean']:,.0f}, standard deviation "
        f"{spread['deviation']:,.0f}, most {spread['most']:,.0f}; no limit {spread['free']:,.0f} in every run"
    )
    if write:
        command = f"python -m studies slots --seeds {seeds} --horizon {horizon} --write"
        write_numbers("slots", command, {"table": lines_of(table), "bound": short(bound), "spread": spread})
