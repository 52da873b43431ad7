"""Which players a game, session or join takes, and what players assume that a game does not have."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from math import inf
from typing import Any

import numpy as np

from tarry.checks import as_bool, as_choice
from tarry.delays.base import delay
from tarry.delays.base import react as react_delays
from tarry.domains import Simplex, project
from tarry.errors import MemberError, NotGranted
from tarry.game.problem import BARE, Game, WeightedGame, check_capacity
from tarry.game.rounds import CLAIRVOYANT, COUNTED, HELD, INFORMATION, NON, UNCOUNTED, Setting
from tarry.kernel.blame import failing
from tarry.learners.base import Learner, absorb, restart, rules_of
from tarry.learners.entropic_ftrl import OnSimplex
from tarry.losses.base import fetch, gradient, rows_react, value
from tarry.losses.base import react as react_rows
from tarry.rates.base import Facts
from tarry.schedulers.base import UNLIMITED, admit, arrive
from tarry.schedulers.naive import Given
from tarry.tracking import Player, as_player

# Learners to name where another kind of feedback is given; over experts and arms others.
TAKERS = {"gradient": "DWFTRL", "value": "DWFTBL (over arms, Exp3)", "example": "Ridge"}
ON_SIMPLEX = {"gradient": "EntropicFTRL", "value": "Exp3"}


def check_sizes(player: Player) -> None:
    """Raise NotGranted for a player that cannot take rounds of several sizes."""
    learner, scheduler, epochs = player
    if not scheduler.takes_sizes:
        raise NotGranted(
            f"{type(scheduler).__name__} counts every round alike and takes no sizes: use VarOpt, or leave sizes out"
        )
    if epochs.needs_preemption:
        raise NotGranted("doubling counts every round alike and takes no sizes: leave out epochs=, or the sizes")
    if learner.needs_acknowledgements and not learner.takes_sizes:
        raise NotGranted(
            f"{learner.follows[0]} counts pending rounds alike, whatever their sizes: use DWFTRL with the rate Anytime "
            "or a rate that does not follow the backlog, or leave sizes out"
        )


def setting_of(
    player: Player, capacity: int | None, information: str, *, certify: int, hears: bool = True, sized: bool = False
) -> Setting:
    """Return the rules of play as numbers."""
    slots = UNLIMITED if capacity is None else int(capacity)
    asks = any(part.needs_acknowledgements for part in player)  # refused before where nothing answers
    # Acknowledgements tell how many rounds are out, but not their sizes: what is held does.
    known = UNCOUNTED if not asks else HELD if sized or INFORMATION[information] == NON else COUNTED
    return Setting(slots, INFORMATION[information], int(certify), int(hears or known == COUNTED), known)


def check_player(game: Game | WeightedGame, player: Any) -> Player:
    """Return the player of a game: a player, a learner or a function of the game that makes one.

    Raise TypeError for what is neither, and ValueError for a player that does not fit the game.
    """
    if not isinstance(game, (Game, WeightedGame)):
        raise TypeError(f"game must be a Game or a WeightedGame, got {type(game).__name__}")
    given = player(game) if callable(player) else player
    if isinstance(game, WeightedGame):
        chosen = Player(_bare(given), Given(np.asarray(game.weights)))
    else:
        chosen = as_player(given)
    rules = {name: getattr(game, name) for name in ("feedback", "capacity", "information", "preemption", "queries")}
    check_grants(chosen, **rules)
    if game.sizes is not None:
        check_sizes(chosen)
    learner = chosen.learner
    if learner.dimension != game.dimension:
        raise ValueError(f"the learner plays in R^{learner.dimension}, the game in R^{game.dimension}")
    try:
        is_same = learner.domain is game.domain or bool(learner.domain == game.domain)
    except ValueError:  # a user's named tuples of arrays do not compare
        is_same = False
    if not is_same:
        raise ValueError(
            f"the learner plays on {learner.domain!r}, the game is on {game.domain!r}: {_instead(learner)}"
        )
    learner.check_horizon(game.horizon)
    check_verbs(chosen, game.losses, game.delays)
    return chosen


def _bare(chosen: Any) -> Any:
    """Return the learner of a weighted game; raise TypeError for a player, and for rules that follow restarts."""
    held = getattr(chosen, "player", chosen)
    if isinstance(held, Player):
        raise TypeError(f"{BARE}, got {held!r}: give its learner alone")
    if isinstance(chosen, Learner):
        for rule in rules_of(chosen):
            if rule.follows_epochs or rule.follows_backlog:
                raise TypeError(f"{BARE}, but {type(rule).__name__} follows restarts: use a rule that follows none")
    return chosen


def check_verbs(player: Player, losses: Any = None, delays: Any = None) -> None:
    """Raise TypeError for a user's member that lacks a verb, MemberError for delays below 0."""
    learner, rows = player.learner, getattr(losses, "rows", None)
    asked: list[tuple[Any, tuple[Any, ...]]] = [(learner, (absorb, restart)), (player.scheduler, (admit, arrive))]
    asked += [(learner.domain, (project,)), (losses, (value, gradient))]
    asked += [(rows, (react_rows if rows_react(losses) else fetch,))]
    asked += [(delays, (react_delays if getattr(delays, "reacts", False) else delay,))]
    for member, verbs in asked:
        if member is not None and not type(member).__module__.startswith("tarry."):
            for verb in verbs:
                verb.find(type(member))
            if member is delays:
                _check_values(delays)


def _check_values(delays: Any) -> None:
    """Raise MemberError for a delay below 0, of which nobody could say when it arrives, or that is not told."""
    try:
        found = delays.values
    except Exception as error:
        raise failing(error) or error from error
    if np.any(found < 0):
        t, name = int(np.argmax(found < 0)), type(delays).__name__
        raise MemberError(f"{name}.delay returns {found[t]} in round {t + 1}: the feedback of a round is not early")


def _instead(learner: Any) -> str:
    """Return the way out where learner and game do not share a domain."""
    while learner.base is not None:
        learner = learner.base
    if not isinstance(learner, OnSimplex):
        return "build the learner on game.domain"
    return (
        f"{type(learner).__name__} is for experts or arms, so play it on tarry.domains.Simplex({learner.dimension}), "
        "or use DWFTRL or DOGD (values: DWFTBL) on game.domain"
    )


def check_grants(
    player: Player,
    *,
    feedback: str | None,
    capacity: int | None,
    information: str,
    preemption: bool,
    queries: int = 1,
) -> None:
    """Raise NotGranted for a player that needs what the game, session or join does not grant."""
    as_choice(information, "information", INFORMATION)
    check_capacity(capacity)
    as_bool(preemption, "preemption")
    for refusal in _refusals(player, feedback, capacity, information, preemption, queries):
        raise NotGranted(refusal)
    player.scheduler.check_capacity(capacity)


def _lacks_backlog(part: Any, scheduler: Any) -> bool:
    """Return whether a part counts pending rounds, and the scheduler does not estimate their number for it."""
    return part.needs_acknowledgements and not (scheduler.conserves_weight and part.takes_held_weight)


def _refusals(
    player: Player, feedback: str | None, capacity: int | None, information: str, preemption: bool, queries: int
) -> Iterator[str]:
    """Yield what the player needs and is not granted: the need, what is granted, the way out."""
    learner, scheduler, epochs = player
    if feedback is not None and learner.feedback != feedback:
        yield (
            f"{type(learner).__name__} learns from {learner.feedback} feedback, this game gives "
            f"{feedback}: use {_taker(feedback, learner)}, or feedback={learner.feedback!r}"
        )
    needed = learner.queries
    if needed > queries:
        yield (
            f"{type(learner).__name__} asks for {needed} values a round, this game or session grants {queries}: "
            f"use {'TwoPoint' if queries > 1 else 'OnePoint or DWFTBL'}, or queries={needed}"
        )
    name, instead = type(scheduler).__name__, "VarOpt" if preemption else "Morris"
    disclosed, here = INFORMATION[information], f"this game, session or join is {information}"
    if epochs.needs_preemption and not preemption:
        yield (
            "doubling empties the tracking set when it restarts, which is preemption, and this game or session forbids "
            "it: give a bound on the backlog instead, or preemption=True"
        )

    if disclosed == NON and _lacks_backlog(epochs, scheduler):
        yield (
            f"doubling over {epochs.over!r} watches the backlog and needs acknowledgements, but {here}: "
            "give a bound on the backlog, use VarOpt with Doubling('total'), or information='semi-clairvoyant'"
        )
    if scheduler.needs_preemption and not preemption:
        yield (
            f"{name} preempts tracked rounds, which this game, session or join forbids: use Morris or Bernoulli, "
            "or preemption=True"
        )
    if scheduler.needs_delays and disclosed != CLAIRVOYANT:
        yield f"{name} needs each delay when its round begins, but {here}: use {instead}, or information='clairvoyant'"
    if scheduler.needs_acknowledgements and disclosed == NON:
        yield (
            f"{name} counts pending rounds and needs acknowledgements, but {here}: "
            f"use {instead}, or information='semi-clairvoyant'"
        )
    if disclosed == NON and _lacks_backlog(learner, scheduler):
        follower, remedy = learner.follows
        if learner.takes_held_weight:
            remedy = f"{remedy}, use VarOpt, whose held weight tells the backlog without them"
        yield (
            f"{follower} follows the backlog and needs acknowledgements, but {here}: "
            f"{remedy}, or information='semi-clairvoyant'"
        )
    if scheduler.needs_unlimited_capacity and capacity is not None:
        yield f"{name} tracks every round and needs capacity=None, got capacity={capacity}: use {instead}"
    room = inf if capacity is None else capacity
    for rule in rules_of(learner):
        if rule.tuned_capacity not in (None, room):
            yield (
                f"{type(rule).__name__} is tuned to a capacity of {rule.tuned_capacity:g}, this game or session has "
                f"{room:g}: give it that capacity"
            )


def _taker(feedback: str, learner: Learner) -> str:
    """Return the name of a learner that takes this feedback, where the one given wants another."""
    if isinstance(learner.domain, Simplex) and feedback in ON_SIMPLEX:
        return ON_SIMPLEX[feedback]
    if feedback == "value" and learner.is_movable:
        return f"OnePoint({type(learner).__name__}(…), smoothing) or DWFTBL"
    return TAKERS.get(feedback, "another learner")


def assumption_warnings(learner: Learner, facts: Facts) -> tuple[str, ...]:
    """Return the sentences of a learner, of its rates, of what it wraps, and of the scheduler, each once.

    A member, yours too, may have a method ``doubts(facts)`` that yields them: what is assumed, what the game has, the
    way out. Sentences change nothing.
    """
    asked = [(facts.scheduler, facts)]
    while learner.base is not None:
        # A wrapper's rate is its base's, which meets other facts and is asked there.
        asked.append((learner, facts))
        learner, facts = learner.base, facts.for_base(learner)
    asked += [(member, facts) for member in (learner, *rules_of(learner))]
    found = (member.doubts(met) for member, met in asked if hasattr(member, "doubts"))
    return tuple(dict.fromkeys(chain.from_iterable(found)))
