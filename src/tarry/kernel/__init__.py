"""How we compile: the one room that knows Numba.

Everything else writes plain functions over named tuples and arrays and marks them with ``verb``,
``step`` or ``entry``.
"""

from tarry.kernel.aside import Aside
from tarry.kernel.compile import Entry, as_step, border, entry, is_compiled, step, verb
from tarry.kernel.handle import handle, straight
from tarry.kernel.keyed import Purpose, make_key, make_seed
from tarry.kernel.parameters import Parameters

__all__ = [
    "Aside",
    "Entry",
    "Parameters",
    "Purpose",
    "as_step",
    "border",
    "entry",
    "handle",
    "is_compiled",
    "make_key",
    "make_seed",
    "step",
    "straight",
    "verb",
]
