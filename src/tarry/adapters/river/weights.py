"""Which of River's models learn from weighted labels."""

from __future__ import annotations

import inspect
from typing import Any

from river import compose
from river.active.base import ActiveLearningClassifier

# Of River's models that take any keyword, these hand the weight on, and keep no counts of labels without it.
FORWARDING = (
    *("ADWINBaggingClassifier", "BaggingClassifier", "BaggingRegressor", "LeveragingBaggingClassifier"),
    *("DriftRetrainingClassifier", "OneVsOneClassifier", "OneVsRestClassifier", "OutputCodeClassifier", "PredClipper"),
)


def check_weighted(model: Any) -> None:
    """Refuse, by name, a model that would lose the weights of labels or that learns from no labels."""
    if isinstance(model, type):
        raise ValueError(f"{model.__name__} is a class: give a model, {model.__name__}(…)")
    if isinstance(model, ActiveLearningClassifier):
        raise ValueError(f"{type(model).__name__} chooses its labels itself: wrap the classifier inside it")
    if not getattr(model, "_supervised", False):
        raise ValueError(f"{model} learns from no labels, so there is nothing to await")
    if isinstance(model, compose.Pipeline):
        *before, final = model.steps.values()
        for step in before:
            for part in step.transformers.values() if isinstance(step, compose.TransformerUnion) else [step]:
                if part._supervised and not _takes_weight(part):
                    raise _weightless(part)
        check_weighted(final)
    elif not _takes_weight(model):
        if type(model).__name__ not in FORWARDING:
            raise _weightless(model)
        check_weighted(model._wrapped_model)


def _takes_weight(model: Any) -> bool:
    return "w" in inspect.signature(type(model).learn_one).parameters


def _weightless(model: Any) -> ValueError:
    return ValueError(
        f"{type(model).__name__}.learn_one takes no weight w, or takes any keyword and does not use it: labels that "
        "stand for several would count once. Use a model that does, such as linear_model.LogisticRegression"
    )
