"""PyTorch: a module whose labels come late; the weight multiplies the loss of its row. And losses for games."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import isfinite
from typing import Any

from tarry.adapters.waiting import LateModel, Seed, Sizer, Waiting
from tarry.adapters.weighing import RELATIVE
from tarry.checks import as_int
from tarry.live import Ticket
from tarry.schedulers.base import Scheduler

Batch = Callable[[Any, Any], tuple[Any, Any]]

_SUCH_AS = {"module": "torch.nn.Linear(3, 1)", "loss": "torch.nn.MSELoss(reduction='none')"}


class LateLabels(LateModel):
    """Train ``module`` on labels that come late, at most ``capacity`` of them awaited.

    ``decide(x)`` registers one decision; ``label(id, y)`` puts its row, if it is tracked, into a batch, and a batch
    of ``batch_size`` = n rows makes a step of ``optimiser`` on

        (1/n) Σ_i w_i · loss(module(x), y)_i,

    where w is the weight over the mean weight so far, so that a step is as long as without weights. With
    ``weights="unbiased"`` it is the weight as it is, and the gradient is unbiased for the loss over all decisions;
    dividing by the batch's own Σ w would be neither. ``loss`` gives one number a row (``reduction="none"``). Rows are
    put together by ``collate``, PyTorch's own by default. Any optimiser will do, but one that rescales gradients (Adam)
    takes steps that are not linear in the weights. A batch whose loss is NaN or infinite makes no step: its decisions
    may be labelled again. ``size``, a function of x that gives a number, says what a decision counts for:
    ``lambda x: float(x[0])``.
    """

    def __init__(
        self,
        module: Callable[[Any], Any],
        optimiser: Any,
        loss: Callable[[Any, Any], Any],
        capacity: int | None,
        *,
        batch_size: int = 1,
        scheduler: Scheduler | None = None,
        seed: Seed = None,
        collate: Callable[[list[Any]], Any] | None = None,
        size: Sizer = None,
        weights: str = RELATIVE,
    ) -> None:
        reduction = getattr(loss, "reduction", "none")
        if reduction != "none":
            raise _summed(loss, f"has reduction={reduction!r}")
        for name, part in (("module", module), ("loss", loss)):
            if not callable(part) or isinstance(part, type):
                raise ValueError(f"{name} must be callable, such as {_SUCH_AS[name]}, got {part!r}")
        if isinstance(optimiser, type) or not all(hasattr(optimiser, act) for act in ("step", "zero_grad")):
            raise ValueError(f"optimiser must be one of PyTorch's, with step() and zero_grad(), got {optimiser!r}")
        self.module, self.optimiser, self.loss = module, optimiser, loss
        self.batch_size = as_int(batch_size, "batch_size", 1)
        self._collate = _default_collate() if collate is None else collate
        self._waiting = Waiting(capacity, scheduler, seed, size, such_as="float(x[0])", weights=weights)
        self._batch: list[tuple[Hashable, Any, Any, float]] = []

    def decide(self, x: Any, id: Hashable = None) -> Ticket:
        """Register a decision on x, which must not change until its label comes."""
        return self._waiting.decide(x, id)

    def label(self, id: Hashable, y: Any) -> float | None:
        """The label of a decision: the weighted loss of the step it completed, None if it completed none."""
        x, weight = self._waiting.label(id)
        if weight == 0.0:  # not tracked, or worth nothing: a batch is counted in rows that are learnt from
            return None
        self._batch.append((id, x, y, weight))
        return self.step() if len(self._batch) >= self.batch_size else None

    def step(self) -> float | None:
        """Learn from the rows gathered so far, if there are any; return their weighted loss before the step."""
        if not self._batch:
            return None
        batch, self._batch = self._batch, []  # gone before the step, for what fails is labelled anew
        try:
            return self._learn(batch)
        except BaseException as error:
            self._waiting.give_back(((id, x, weight) for id, x, _, weight in batch), error)
            raise

    def _learn(self, batch: list[tuple[Hashable, Any, Any, float]]) -> float:
        inputs, targets = self._collate([(x, y) for _, x, y, _ in batch])
        losses = self.loss(self.module(inputs), targets)
        if not tuple(losses.shape)[:1] == (len(batch),):
            raise _summed(self.loss, f"gives shape {tuple(losses.shape)} for {len(batch)} rows")
        # Losses of several outputs: the mean of a row's.
        by_row = losses.reshape(len(batch), -1).mean(1)
        total = (by_row * losses.new_tensor([weight for *_, weight in batch])).sum() / len(batch)
        value = float(total.item())
        if not isfinite(value):  # before the step, which would spoil the parameters for good
            whose = [id for (id, *_), loss in zip(batch, by_row.tolist(), strict=True) if not isfinite(loss)]
            raise ValueError(f"the loss is {value}, so no step was made; labels or outputs are not finite for {whose}")
        self.optimiser.zero_grad()
        total.backward()
        self.optimiser.step()
        return value


def differentiated(function: Callable[[Any, Any], Any]) -> Batch:
    """Return losses and gradients of a loss ``function(row, x)`` in PyTorch, for :class:`tarry.losses.Batched`.

    ``row`` and ``x`` are tensors of 64-bit numbers on the CPU, and the result is a tensor of one number. It is called
    once for all replicas, by ``torch.func.vmap``, so it must not branch on what tensors hold. At a kink the gradient is
    PyTorch's choice.
    """
    if not callable(function):
        raise TypeError(f"function must be a function of a row and a play, got {function!r}")
    try:
        from torch import autograd, from_numpy
        from torch.func import vmap
    except ImportError as error:
        raise ImportError("losses in PyTorch need torch: pip install 'tarry[torch]'") from error
    of_all = vmap(function)

    def evaluate(rows: Any, plays: Any) -> tuple[Any, Any]:
        data, points = from_numpy(rows), from_numpy(plays).requires_grad_()
        # One alone without vmap, which takes as long again.
        values = of_all(data, points) if len(points) > 1 else function(data[0], points[0]).reshape(1)
        # A loss depends on its own play alone, so the gradient of the sum has the gradient of each.
        (slopes,) = autograd.grad(values.sum(), points)
        return values.detach().numpy(), slopes.numpy()

    return evaluate


def _summed(loss: object, what: str) -> ValueError:
    name = getattr(loss, "__name__", type(loss).__name__)
    return ValueError(
        f"{name} {what}, but weights need one loss a row: give reduction='none', for example MSELoss(reduction='none')"
    )


def _default_collate() -> Callable[[list[Any]], Any]:
    try:
        from torch.utils.data import default_collate
    except ImportError as error:
        raise ImportError("the PyTorch adapter needs torch: pip install 'tarry[torch]', or give collate=…") from error
    return default_collate  # type: ignore[no-any-return]
