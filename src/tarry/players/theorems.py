"""The players of theorems: convex and strongly convex losses, as printed or with tightened constants; finite actions.

They read the game's horizon, delays and constants; :func:`tarry.players.recommended` asks for what can be known.
"""

from __future__ import annotations

import logging
from math import log
from typing import Any

import numpy as np

from tarry import schedulers, theory
from tarry.checks import as_bool, as_choice, as_int
from tarry.domains import Simplex
from tarry.errors import ArgumentError, NotGranted
from tarry.game import Game
from tarry.game.problem import check_tracks
from tarry.learners import DWFTBL, DWFTRL, EntropicFTRL, Exp3, TsallisFTRL
from tarry.learners.base import warn_if_outside_unit_interval
from tarry.players.recommended import SATURATION, Recommendation, spread_on
from tarry.rates import BanditRadius, BanditRate, DoublingRate, Power, inverse_time
from tarry.rates.base import Facts
from tarry.theory.arguments import Array, BanditTuning, rounds
from tarry.theory.weights import Costs
from tarry.tracking import Doubling, Player

logger = logging.getLogger("tarry")

TUNINGS = ("paper", "optimised")
REGULARISERS = ("entropy", "hybrid")
GUESSED = {"backlog": "the largest backlog", "pair": "horizon and total delay"}
# What stands in where a game without preemption does not disclose delays.
STAND_INS = {
    "Bernoulli": "Bernoulli plays, whose weights grow with the largest backlog: use information='clairvoyant'",
    "Morris": "Morris plays, this project's own: use information='clairvoyant', or max_backlog= for Bernoulli",
}
NO_BOUND = (
    "no bound is claimed for the restarts over horizon and total delay that the paper cites (docs/theory.md, 7.7): "
    'use epochs=Doubling("total"), for which one is proved'
)


def convex(
    game: Game, *, tuning: str = "paper", max_backlog: int | None = None, doubled: bool = False
) -> Recommendation:
    """Return the paper's player for convex losses and gradients: DW-FTRL with η = (D/G)/√(d_tot + T), and Pareto.

    Where delays are disclosed the paper's coin takes Pareto's place. Without preemption it needs them disclosed; else
    Bernoulli stands in where ``max_backlog`` is given, and Morris where not. What stands in is in ``reason`` and
    ``warnings``, and so is a capacity below ln T + 1. ``tuning="optimised"`` makes the scheduler as bold as one refused
    round in all allows, in the mean, and takes the rate that minimises its own bound. ``doubled=True`` restarts over
    guesses of (T, d_tot), for which no bound is claimed, and reads no delays.
    """
    _check(game, "gradient", tuning, doubled, max_backlog)
    if max_backlog is not None and (game.preemption or game.information == "clairvoyant"):
        raise ArgumentError(
            "max_backlog",
            "is for Bernoulli, which stands in where rounds may not be dropped and delays are not disclosed",
            max_backlog,
            "leave it out",
        )
    bounds = {"diameter": game.domain.diameter, "gradient_bound": _number(game.gradient_bound, "gradient_bound")}
    capacity, epochs = _capacity(game), None
    if tuning == "optimised":
        scheduler, total = _bold_scheduler(game, max_backlog, capacity), game.delays.summary().total_delay
        # Two rounds are drawn apart by each of these schedulers, so a pair that waits together costs at most 1.
        cost = 0.5 * _second_moments(game, scheduler, capacity) + total
        rate: Any = theory.optimised_rate(**bounds, cost=cost)
    else:
        scheduler = _convex_scheduler(game, max_backlog, capacity)
        if doubled:
            rate, epochs = DoublingRate(**bounds), Doubling("pair")
        else:
            rate = theory.convex_rate(**bounds, horizon=game.horizon, total_delay=game.delays.summary().total_delay)
    return _theorem(game, Player(DWFTRL(game.domain, rate=rate), scheduler, epochs), tuning, max_backlog)


def _theorem(game: Game, player: Player, tuning: str, max_backlog: int | None) -> Recommendation:
    """Return a player with what the paper proves of it, or what was taken in place of the paper's."""
    name, over, doubts = type(player.scheduler).__name__, player.epochs.over, list[str]()
    if max_backlog is not None and max_backlog < game.delays.summary().max_backlog:
        doubts.append(
            f"the paper's coin needs a bound on the backlog, and max_backlog={max_backlog} is below this game's, "
            f"{game.delays.summary().max_backlog}: raise max_backlog"
        )
    if tuning != "paper":
        proof = "no regret bound holds" if doubts else "proved"
        chosen = f"the paper's learner, {name} calibrated by this project"
        return Recommendation(player, f"{chosen}; {proof}", not doubts, tuple(doubts))
    capacity, least = _capacity(game), log(game.horizon) + 1.0
    is_convex = game.feedback == "gradient" and not isinstance(player.learner.rate, Power)
    stands_in = is_convex and name in STAND_INS
    if stands_in:
        doubts.append(f"the paper proves its rate for convex losses behind Pareto or Coin, but {STAND_INS[name]}")
    # With fewer rounds pending than slots no set is ever full.
    if capacity < least and (over or game.delays.summary().max_backlog >= capacity):
        doubts.append(
            f"the paper's theorem needs C ≥ ln T + 1 = {least:.3g}, and the game has capacity={capacity}: a share of "
            "all rounds may be refused; raise the capacity, or use players.recommended(game)"
        )
    chosen = f"{name} in place of the paper's" if stands_in else "as printed in the paper"
    guessed = f", restarted over guesses of {GUESSED[over]}" if over else ""
    proof = "no regret bound of the paper's holds" if doubts else "proved"
    if over == "pair":
        doubts.append(NO_BOUND)
        guessed, proof = f"{guessed}, as the paper cites", "no bound claimed here (docs/theory.md, 7.7)"
    return Recommendation(player, f"{chosen}{guessed}; {proof}", not doubts, tuple(doubts))


def _convex_scheduler(game: Game, max_backlog: int | None, capacity: int) -> Any:
    if game.information == "clairvoyant":
        return schedulers.Coin()
    if game.preemption:
        return schedulers.Pareto()
    if max_backlog is not None:
        return schedulers.Bernoulli(max_backlog=max_backlog)
    # (1+ε)^C is then about e^(εC) = T + d_tot, so that about one round is refused in all.
    return schedulers.Morris(log(game.horizon + game.delays.summary().total_delay) / capacity)


def _bold_scheduler(game: Game, max_backlog: int | None, capacity: int) -> Any:
    """Return the same kind, calibrated: the expected number of refused rounds is at most 1."""
    rare = _rare(game)
    if game.information == "clairvoyant":
        # At every age its chance is at most Pareto's, so what keeps Pareto's set from filling keeps its too.
        return schedulers.Coin(theory.calibrated_safety(capacity=capacity, target=rare))
    if game.preemption:
        return schedulers.Pareto.calibrated(capacity, saturation=rare)
    if max_backlog is not None:
        return schedulers.Bernoulli.calibrated(max_backlog, capacity, saturation=rare)
    return schedulers.Morris.for_backlog(game.delays.summary().max_backlog, capacity, saturation=rare)


def _rare(game: Game) -> float:
    """Return a chance of a full set that refuses one round in all, at most."""
    return min(SATURATION, 1.0 / game.horizon)


def _second_moments(game: Game, scheduler: Any, capacity: int) -> float:
    """Return Σ E[w_t²], or a bound on it, of a scheduler of convex players."""
    if isinstance(scheduler, schedulers.Bernoulli):
        return game.horizon / float(scheduler.probability)
    if isinstance(scheduler, schedulers.Morris):
        return float(game.horizon + scheduler.epsilon * game.delays.summary().total_delay)
    t = rounds(game.horizon)
    inverse = scheduler.safety / capacity * np.cumsum(1.0 / t) * (game.delays.values + 1.0)
    return float(np.sum(np.maximum(1.0, inverse)))


def strongly_convex(
    game: Game, *, tuning: str = "paper", max_backlog: int | None = None, doubled: bool = False
) -> Recommendation:
    """Return the paper's player for strongly convex losses and gradients: DW-FTRL with η_t = 1/(λt), and Bernoulli.

    It reads σ_max from the game; ``max_backlog`` takes a bound in its place. ``doubled=True`` restarts over guesses of
    σ_max, and reads no delays.
    """
    _check(game, "gradient", tuning, doubled, max_backlog)
    learner = DWFTRL(game.domain, rate=inverse_time(_curvature(game)))
    return _theorem(game, _behind_coin(game, learner, tuning, max_backlog, doubled), tuning, max_backlog)


def bandit_convex(
    game: Game, *, tuning: str = "paper", max_backlog: int | None = None, doubled: bool = False
) -> Recommendation:
    """Return the paper's player for convex losses and values: DW-FTBL with the printed rates and radii, and Bernoulli.

    Only the scheduler is tightened by ``tuning="optimised"``. ``max_backlog`` takes the place of the game's σ_max;
    ``doubled=True`` restarts over guesses of it, and reads no delays.
    """
    _check(game, "value", tuning, doubled, max_backlog)
    domain = game.domain
    if doubled:
        steepest, spread = _scales(game)
        rate: Any = BanditRate.for_backlog(domain.diameter, steepest, spread, _capacity(game))
        smoothing: Any = BanditRadius.for_backlog(domain.inner_radius, spread, _capacity(game))
    else:
        smoothing, rate = _bandit_tuning(game, max_backlog)
    learner = DWFTBL(domain, rate=rate, smoothing=smoothing)
    return _theorem(game, _behind_coin(game, learner, tuning, max_backlog, doubled), tuning, max_backlog)


def bandit_strongly_convex(
    game: Game, *, tuning: str = "paper", max_backlog: int | None = None, doubled: bool = False
) -> Recommendation:
    """Return the paper's player for strongly convex losses and values: DW-FTBL with η_t = 1/(λt), and Bernoulli.

    Its radii are the theorem's. ``max_backlog`` takes the place of the game's σ_max; ``doubled=True`` restarts over
    guesses of it, and reads no delays.
    """
    _check(game, "value", tuning, doubled, max_backlog)
    curvature = _curvature(game)
    # The rule in place of the tuning's own rates, so that the certificate knows that they are 1/(λt).
    rate = inverse_time(curvature)
    if doubled:
        radius, spread = game.domain.inner_radius, _scales(game)[1]
        smoothing: Any = BanditRadius.for_backlog(radius, spread, _capacity(game), curved=True)
    else:
        smoothing = _bandit_tuning(game, max_backlog, curvature).smoothing
    learner = DWFTBL(game.domain, rate=rate, smoothing=smoothing)
    return _theorem(game, _behind_coin(game, learner, tuning, max_backlog, doubled), tuning, max_backlog)


def _behind_coin(game: Game, learner: Any, tuning: str, max_backlog: int | None, doubled: bool) -> Player:
    if doubled:
        return Player(learner, schedulers.DoublingBernoulli(), Doubling("backlog"))
    peak = _peak(game, max_backlog)
    if tuning == "paper":
        return Player(learner, schedulers.Bernoulli(max_backlog=peak))
    return Player(learner, schedulers.Bernoulli.calibrated(peak, _capacity(game), saturation=_rare(game)))


def _peak(game: Game, max_backlog: int | None) -> int:
    """Return the bound on the backlog that a player is told: the game's σ_max, unless another is given."""
    return int(game.delays.summary().max_backlog) if max_backlog is None else max_backlog


def _scales(game: Game) -> tuple[float, float]:
    """Return G and νk of a game."""
    largest = _number(game.losses.value_bound(game.domain), "value_bound")
    return spread_on(game.domain, _number(game.gradient_bound, "gradient_bound"), largest)


def _bandit_tuning(game: Game, max_backlog: int | None, strong_convexity: float = 0.0) -> BanditTuning[Array]:
    """Return the paper's rates and radii for every round."""
    domain, peak, (steepest, spread) = game.domain, _peak(game, max_backlog), _scales(game)
    sizes = {"diameter": domain.diameter, "inner_radius": domain.inner_radius, "spread": spread}
    slopes = {"gradient_bound": steepest, "strong_convexity": strong_convexity}
    t = rounds(game.horizon)
    return theory.bernoulli_bandit_tuning(t, max_backlog=peak, capacity=_capacity(game), **sizes, **slopes)


def _check(game: Game, feedback: str, tuning: str, doubled: bool, max_backlog: int | None) -> None:
    check_tracks(game)
    as_choice(tuning, "tuning", TUNINGS)
    if max_backlog is not None:
        as_int(max_backlog, "max_backlog")
    if as_bool(doubled, "doubled"):
        if tuning != "paper":
            raise ArgumentError(
                "tuning", "calibrates to delays, of which doubled=True reads none", tuning, "leave one of them out"
            )
        if max_backlog is not None:
            raise ArgumentError("max_backlog", "is a bound, where doubled=True guesses", max_backlog, "leave one out")
        if not game.preemption:
            raise NotGranted(
                "doubling empties the tracking set when it restarts, which is preemption, and this game forbids it: "
                "leave doubled out, or give the game preemption=True"
            )
        if game.information == "non-clairvoyant":
            raise NotGranted(
                "doubling watches the backlog and needs acknowledgements, and this game is non-clairvoyant: leave "
                "doubled out, or give the game information='semi-clairvoyant'"
            )
    if game.feedback != feedback:
        raise NotGranted(f"this theorem is about {feedback} feedback, the game gives {game.feedback}")


def _capacity(game: Game) -> int:
    if game.capacity is None:
        raise ValueError("the theorems speak of a capacity, the game has none: give capacity=…")
    return game.capacity


def _curvature(game: Game) -> float:
    if not game.losses.strong_convexity > 0:
        raise ValueError("the losses are not strongly convex: add ridge=…, or use the convex player")
    return float(game.losses.strong_convexity)


def _number(value: float, name: str) -> float:
    """Return a constant of the losses; raise ValueError where the losses do not know it."""
    if not 0 < value < float("inf"):
        raise ValueError(f"the theorem needs the losses' {name}, which is {value}: give it to the losses")
    return float(value)


def finite_actions(game: Game, *, regulariser: str = "entropy") -> Player:
    """Return a player for experts (gradients) or arms (values) on the simplex, losses in [0, 1], C rounds tracked.

    Scheduler: VarOpt; where nothing may be preempted the two-point coin if delays are disclosed, else batches, which
    take two slots if anything is late. Experts play exponential weights with rate and
    bound of ``theory.experts_tuning``, of the order √((T + d_tot) ln K). Arms play Exp3 by ``theory.arms_tuning``;
    ``regulariser="hybrid"`` takes the source's own, Tsallis' and entropy (TsallisFTRL with the mean of E[w_t²] as its
    level), which saves the logarithm on K and is not proved here for weights; it needs acknowledgements. All plus the
    rounds that are refused, which batches have none of.

    Ryabchenko, Attias and Roy, Capacity-Constrained Online Learning with Delays (COLT 2025); the constants are this
    project's (docs/theory.md).

    >>> import tarry
    >>> losses, delays = tarry.losses.Linear([[0.0, 1.0]] * 100), tarry.delays.fixed(horizon=100, delay=9)
    >>> finite_actions(tarry.Game(tarry.domains.Simplex(2), losses, delays, capacity=4)).scheduler
    VarOpt()
    """
    check_tracks(game)
    as_choice(regulariser, "regulariser", REGULARISERS)
    if not isinstance(game.domain, Simplex) or game.domain.scale != 1:
        raise ValueError(f"finitely many actions are the corners of Simplex(K), the game is on {game.domain!r}")
    scheduler = _actions_scheduler(game)
    costs, actions = _costs(game, scheduler), game.dimension
    if game.feedback == "gradient":
        if regulariser == "hybrid":
            raise ValueError('regulariser="hybrid" is for arms (values); experts play exponential weights')
        # Learners of arms say it themselves.
        for doubt in warn_if_outside_unit_interval("finite_actions", Facts(game, scheduler)):
            logger.warning(doubt)
        return Player(EntropicFTRL(actions, theory.experts_tuning(actions=actions, cost=costs.cost).rate), scheduler)
    if regulariser == "hybrid":
        return Player(TsallisFTRL(actions, level=costs.second_moments / game.horizon), scheduler)
    total = game.delays.summary().total_delay
    tuned = theory.arms_tuning(actions=actions, second_moments=costs.second_moments, total_delay=total)
    return Player(Exp3(actions, tuned.rate), scheduler)


def _actions_scheduler(game: Game) -> Any:
    if game.preemption:
        return schedulers.VarOpt()
    if game.information == "clairvoyant":
        return schedulers.Coin()
    late = game.delays.summary().max_delay
    if game.capacity == 1 and late > 0:  # a batch's round may still wait when the next batch draws its own
        raise ValueError(
            f"one slot that keeps its round for up to {late} more cannot take one of every batch: give the game a "
            'capacity of at least 2, preemption=True or information="clairvoyant"'
        )
    return schedulers.Batching(late)


def _costs(game: Game, scheduler: Any) -> Costs:
    values, capacity = np.asarray(game.delays.values), _capacity(game)  # cut to the horizon
    if isinstance(scheduler, schedulers.VarOpt):
        return theory.varopt_costs(values, capacity)
    sizes = {"horizon": game.horizon, "total_delay": int(values.sum()), "capacity": capacity}
    if isinstance(scheduler, schedulers.Coin):
        return theory.pareto_costs(**sizes)
    is_fixed = bool(np.array_equal(values, np.minimum(values[0], np.arange(values.size)[::-1])))
    return theory.batching_costs(**sizes, max_delay=scheduler.max_delay, is_fixed=is_fixed)
