"""Delays: when feedback arrives."""

from tarry.delays.base import Backlog, backlog_of, delay
from tarry.delays.fixed import Fixed, fixed
from tarry.delays.listed import Listed, array

__all__ = ["Backlog", "Fixed", "Listed", "array", "backlog_of", "delay", "fixed"]
