"""Every method of docs/methods.md with a stated regret: its tuning, its bound, its order. Another is one more entry.

:data:`METHODS` are learners alone, every round tracked; :data:`PLAYERS` have a scheduler of their own. Update rules are
in the learners' docstrings, bounds and orders in ``stated`` and ``bandits``, hard games in :mod:`tests.oracles.hard`.
"""

from tests.oracles.methods.actions import ACTIONS
from tests.oracles.methods.gradients import GRADIENTS
from tests.oracles.methods.players import PLAYERS
from tests.oracles.methods.values import VALUES

METHODS = GRADIENTS | ACTIONS | VALUES

__all__ = ["ACTIONS", "GRADIENTS", "METHODS", "PLAYERS", "VALUES"]
