"""Games: the problem, the one order of events, simulation and what it measures."""

from tarry.game.problem import Game, WeightedGame
from tarry.game.record import Record
from tarry.game.replay import Replay, replay
from tarry.game.simulate import Recorded, simulate

__all__ = ["Game", "Record", "Recorded", "Replay", "WeightedGame", "replay", "simulate"]
