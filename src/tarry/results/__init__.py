"""Results: the words and columns in which runs are written down."""

from tarry.results.fates import FATES, Answer, Fate

__all__ = ["FATES", "Answer", "Fate"]
