"""Losses: convex functions of the play, fixed before it."""

from tarry.losses.base import Listed
from tarry.losses.linear import Linear

__all__ = ["Linear", "Listed"]
