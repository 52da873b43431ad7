"""Random games over all members, and what a record must have in common with the same game on another device.

``play(i)`` is the i-th game on the CPU and on a GPU, or under Numba's simulator. Learners and schedulers take turns, so
that a few hundred games meet every one of them; the rest is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

import tarry
from tarry import losses
from tarry.errors import NotGranted
from tarry.game.run import prepare
from tests.support.examples import DELAYS, LEARNERS, SCHEDULERS

GAMES = 200
HORIZON, SEEDS = 60, 3  # some examples have rates for so many rounds
CAPACITIES = (1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 33)  # some are held in registers, in fast memory, or in neither
INFORMATION = ("non-clairvoyant", "semi-clairvoyant", "clairvoyant")
PLAIN = "Proxy, by function"  # a plain one, which no GPU plays
WIDE = 14  # entries of a play: too many to be copied one by one
TRIES = 1000
RELATIVE = 1e-9

# Rows are drawn for the play's dimension.
LINEAR = {
    "Linear": lambda rows, labels: losses.Linear(rows),
    "Linear, ridge": lambda rows, labels: losses.Linear(rows, offsets=labels, ridge=0.3),
    "Linear, drawn": lambda rows, labels: losses.Linear(losses.drifting(rows.shape[1], rng=1)),
    "Quadratic": lambda rows, labels: losses.Quadratic(rows, 0.7),
    "Quadratic, drawn": lambda rows, labels: losses.Quadratic(losses.Drawn.block_targets(rows.shape[1], rng=1)),
    "Distance": lambda rows, labels: losses.Distance(rows, smoothing=0.5),
}
SUPERVISED = {
    "LeastSquares": lambda rows, labels: losses.LeastSquares(rows, labels),
    "Logistic": lambda rows, labels: losses.Logistic(rows, np.sign(labels)),
    "Quantile": lambda rows, labels: losses.Quantile(rows, labels, level=0.9),
    "Huber": lambda rows, labels: losses.Huber(rows, labels, width=0.8, ridge=0.5),
}


class Drawn(NamedTuple):
    """A game and its player, in words and as they are, with what ``simulate`` is told."""

    words: str
    game: Any
    player: Any
    options: dict[str, Any]

    def play(self, device: str, seeds: int = SEEDS) -> Any:
        """Return the record of this game on a device."""
        return tarry.simulate(self.game, self.player, seeds, device=device, **self.options)


def draw_game(i: int) -> Drawn:
    """Return the i-th game: what is drawn until a player and a game go together."""
    rng = np.random.default_rng([5, i])
    for _ in range(TRIES):
        try:
            return _draw(i, rng)
        except (ValueError, TypeError, NotGranted):
            continue  # such a pair is refused, which is for other tests
    raise AssertionError(f"no game {i} in {TRIES} tries")


def _draw(i: int, rng: np.random.Generator) -> Drawn:
    name, law = list(LEARNERS)[i % len(LEARNERS)], str(rng.choice(list(DELAYS)))
    policies = [policy for policy in SCHEDULERS if policy != PLAIN]
    # In turn at first; where it does not go with the learner, any other.
    policy = SCHEDULERS[chosen := policies[i % len(policies)] if rng.random() < 0.5 else str(rng.choice(policies))]
    learner = LEARNERS[name].learner(WIDE if rng.random() < 0.15 else None)
    capacity = None if policy.capacity is None or rng.random() < 0.05 else int(rng.choice(CAPACITIES))
    rows, labels = rng.normal(size=(HORIZON, learner.dimension)), rng.normal(size=HORIZON)
    told = SUPERVISED if learner.feedback == "example" else LINEAR | SUPERVISED
    loss, information = str(rng.choice(list(told))), str(rng.choice(INFORMATION))
    sizes = rng.uniform(0.5, 2.0, HORIZON) if rng.random() < 0.3 else None
    game = tarry.Game(
        learner.domain,
        told[loss](rows, labels),
        DELAYS[law](HORIZON, int(rng.integers(99))),
        capacity=capacity,
        information=information,
        feedback=learner.feedback,
        queries=learner.queries,
        sizes=sizes,
    )
    epochs = policy.epochs or (tarry.Doubling("backlog") if rng.random() < 0.2 else None)
    player = tarry.Player(learner, policy.scheduler, epochs)
    options = {
        "bound": bool(rng.random() < 0.5),
        "checkpoints": int(rng.integers(1, 20)),
        "keep_rounds": bool(rng.random() < 0.25),
    }
    prepare(game, player, **options)  # refuses what does not go together
    said = [name, chosen, loss, f"{law} delays", f"{capacity} slots", information]
    said += ["with sizes"] * (sizes is not None) + ["with restarts"] * (epochs is not None)
    said += [word for word in ("bound", "keep_rounds") if options[word]]
    return Drawn("; ".join(said), game, player, options)


def play(i: int, seeds: int = SEEDS) -> str:
    """Return in which way the i-th game on a GPU differs from the CPU's, or an empty string."""
    drawn = draw_game(i)
    found = differences(drawn.play("cpu", seeds), drawn.play("cuda", seeds))
    return f"game {i} ({drawn.words}): {'; '.join(found)}" if found else ""


def differences(one: Any, other: Any) -> list[str]:
    """Return what differs in two records: decisions by anything, sums by more than rounding."""
    found = [] if np.array_equal(one.fates, other.fates) else [f"fates {one.fates} and {other.fates}"]
    for name in ("regret_at", "loss_at", "bound_at", "last_plays"):
        found += _apart(name, getattr(one, name), getattr(other, name))
    found += _apart("weights", _numbers(one.weights), _numbers(other.weights))
    for seed in one.seeds if one._logs[0] is not None else ():
        first, second = one.events(seed), other.events(seed)
        if not first.drop("weight").equals(second.drop("weight")):
            found.append(f"the events of seed {seed}")
        else:
            found += _apart(f"weights of seed {seed}", first["weight"].to_numpy(), second["weight"].to_numpy())
        found += _apart(f"plays of seed {seed}", one.plays(seed), other.plays(seed))
    return found


def _numbers(parts: Iterable[Any]) -> np.ndarray:
    return np.concatenate([np.ravel(part) for part in parts])


def _apart(name: str, one: np.ndarray, other: np.ndarray) -> list[str]:
    if one.shape == other.shape and np.allclose(one, other, RELATIVE, RELATIVE, equal_nan=True):
        return []
    return [f"{name} {one} and {other}"]
