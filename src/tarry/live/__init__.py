"""Live use: decisions now, feedback whenever, by the same steps as simulation."""

from tarry.live.batches import Receipt, Receipts, Rounds
from tarry.live.label_join import LabelJoin, Outcome, Ticket
from tarry.live.outbox import Row
from tarry.live.session import Round, Session
from tarry.live.status import Estimate, Status, expected_size
from tarry.live.stores import upgrade_store

__all__ = ["Estimate", "LabelJoin", "Outcome", "Receipt", "Receipts", "Round", "Rounds", "Row", "Session", "Status"]
__all__ += ["Ticket", "expected_size", "upgrade_store"]
