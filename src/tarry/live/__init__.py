"""Live use: decisions now, feedback whenever, by the same steps as simulation."""

from tarry.live.batches import Receipt, Receipts, Rounds
from tarry.live.label_join import LabelJoin, Ticket
from tarry.live.outbox import Row
from tarry.live.rules import Outcome
from tarry.live.session import Round, Session
from tarry.live.status import Estimate, Status

__all__ = ["Estimate", "LabelJoin", "Outcome", "Receipt", "Receipts", "Round", "Rounds", "Row", "Session", "Status"]
__all__ += ["Ticket"]
