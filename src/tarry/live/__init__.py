"""Live use: decisions now, feedback whenever, by the same steps as simulation."""

from tarry.live.label_join import LabelJoin, Row, Ticket
from tarry.live.session import Round, Session
from tarry.live.status import Status
from tarry.live.tracker import Receipt

__all__ = ["LabelJoin", "Receipt", "Round", "Row", "Session", "Status", "Ticket"]
