"""The paper's Table 1 as measured exponents: a sweep, what the table claims, and slopes beside the claims."""

from pathlib import Path

from tarry.experiments.table1.claims import ATTAINED, CELLS, SYMBOLS, UPPER, Claim, claims
from tarry.experiments.table1.fits import FINE, Measured, measure

QUICK = Path(__file__).parent / "quick.toml"
FULL = Path(__file__).parent / "full.toml"

__all__ = [
    "ATTAINED",
    "CELLS",
    "FINE",
    "FULL",
    "QUICK",
    "SYMBOLS",
    "UPPER",
    "Claim",
    "Measured",
    "claims",
    "measure",
]
