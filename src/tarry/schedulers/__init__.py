"""Schedulers: who is tracked, and what an arrival weighs."""

from tarry.schedulers.varopt import VarOpt

__all__ = ["VarOpt"]
