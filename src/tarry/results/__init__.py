"""Results: the words and columns in which runs are written down."""

from tarry.results.certificate import Certificate
from tarry.results.fates import FATES, Answer, Fate
from tarry.results.views import html_table
from tarry.results.weights import Weights

__all__ = ["FATES", "Answer", "Certificate", "Fate", "Weights", "html_table"]
