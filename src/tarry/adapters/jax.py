"""JAX: a loss of a game, differentiated and compiled by JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def differentiated(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], tuple[Any, Any]]:
    """Return losses and gradients of a loss ``function(row, x)`` in JAX, for :class:`tarry.losses.Batched`.

    ``row`` and ``x`` are arrays of 64-bit numbers, and the result is one number. JAX compiles the function anew for
    each number of replicas, and of rounds where the best fixed action is sought. At a kink the gradient is JAX's
    choice.
    """
    if not callable(function):
        raise TypeError(f"function must be a function of a row and a play, got {function!r}")
    try:
        import jax
    except ImportError as error:
        raise ImportError("losses in JAX need jax: pip install 'tarry[jax]'") from error
    both = jax.jit(jax.vmap(jax.value_and_grad(function, argnums=1)))

    def evaluate(rows: Any, plays: Any) -> tuple[Any, Any]:
        with jax.enable_x64(True):  # JAX's own numbers have 32 bits, which the search for the best action would notice
            values, slopes = both(rows, plays)
            return jax.device_get(values), jax.device_get(slopes)

    return evaluate
