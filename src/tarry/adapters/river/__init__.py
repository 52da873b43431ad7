"""River: its progressive validation with a bounded number of pending labels, and a wrapper for live use.

Both learn from the labels that are tracked, each with ``learn_one(x, y, w=weight)``; a label that is not never reaches
the model.
"""

try:
    import river as _river  # noqa: F401
except ImportError as error:
    raise ImportError("the River adapter needs river: pip install 'tarry[river]'") from error

from tarry.adapters.river.late_labels import LateClassifier, LateLabels, LateRegressor
from tarry.adapters.river.validation import iter_progressive_val_score, progressive_val_score

__all__ = ["LateClassifier", "LateLabels", "LateRegressor", "iter_progressive_val_score", "progressive_val_score"]
