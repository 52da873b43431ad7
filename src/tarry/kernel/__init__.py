"""Compile: the one room that knows Numba. Others mark plain functions with ``verb``, ``step`` or ``entry``."""

from dataclasses import KW_ONLY

from tarry.kernel.compile import Indices, as_step, entry, is_compiled, register_methods, step, verb, verb_with_default
from tarry.kernel.keyed import Purpose, make_key, make_seed
from tarry.kernel.parameters import Parameters, Unmoved, trait

# Members' parameters, compiled functions, keyed randomness.
__all__ = ["KW_ONLY", "Parameters", "Unmoved", "trait"]
__all__ += ["Indices", "as_step", "entry", "is_compiled", "register_methods", "step", "verb", "verb_with_default"]
__all__ += ["Purpose", "make_key", "make_seed"]
