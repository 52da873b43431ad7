"""Delays: when feedback arrives."""

from tarry.delays.base import Backlog, Delays, backlog_of, delay
from tarry.delays.bursts import Bursts, bursts
from tarry.delays.fixed import Fixed, fixed
from tarry.delays.generated import Generated, uncut
from tarry.delays.geometric import Geometric, geometric
from tarry.delays.listed import Listed, array
from tarry.delays.lognormal import Lognormal, lognormal
from tarry.delays.pareto import Pareto, pareto
from tarry.delays.queue import queue
from tarry.delays.trace import Trace, trace
from tarry.delays.uniform import Uniform, uniform

__all__ = [
    "Backlog",
    "Bursts",
    "Delays",
    "Fixed",
    "Generated",
    "Geometric",
    "Listed",
    "Lognormal",
    "Pareto",
    "Trace",
    "Uniform",
    "array",
    "backlog_of",
    "bursts",
    "delay",
    "fixed",
    "geometric",
    "lognormal",
    "pareto",
    "queue",
    "trace",
    "uncut",
    "uniform",
]
