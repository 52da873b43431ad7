"""PyTorch: a module whose labels come late; the weight multiplies the loss of its row."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import isfinite
from typing import Any

from tarry.adapters.waiting import LateModel, Seed, Sizer, Waiting, Window
from tarry.checks import as_int
from tarry.live import Ticket
from tarry.live.weighing import DEFAULT, SPLIT, Weighing
from tarry.schedulers.base import Scheduler

_SUCH_AS = {"module": "torch.nn.Linear(3, 1)", "loss": "torch.nn.MSELoss(reduction='none')"}


class LateLabels(LateModel):
    """Train ``module`` on labels that come late, at most ``capacity`` of them awaited.

    ``decide(x)`` registers one decision; ``label(id, y)`` puts its row, if it is tracked, into a batch, and a batch
    of ``batch_size`` = n rows makes a step of ``optimiser`` on

        (1/n) Σ_i w_i · loss(module(x), y)_i,

    where w is the weight over √(Σw²/Σw) so far (``weights="tempered"``), so that the optimiser's step suits as many
    decisions; with ``"relative"`` over the mean weight. With ``"unbiased"`` it is the weight as it is, and the gradient
    is unbiased for the loss over all decisions; dividing by the batch's own Σ w would be neither. ``loss`` gives one
    number a row (``reduction="none"``). Rows are put together by ``collate``, PyTorch's own by default. Any optimiser
    will do, but one that rescales gradients (Adam) takes steps that are not linear in the weights. A batch whose loss
    is NaN or infinite makes no step: its decisions may be labelled again. A row of weight two and more counts as
    several rows of about ``split`` each; what is above ``max_weight`` is cut, which biases. ``size``, a function of x
    that gives a number, says what a decision counts for: ``lambda x: float(x[0])``.

    ``window`` is how long a decision waits, such as ``"30d"``: :meth:`advance` learns from those whose windows have
    ended, with ``missing`` (a tensor, as labels are) as the label where none came. Labels are held until then, unless
    ``release="arrival"``. ``at`` is the moment of a decision or label.
    """

    def __init__(
        self,
        module: Callable[[Any], Any],
        optimiser: Any,
        loss: Callable[[Any, Any], Any],
        capacity: int | None,
        *,
        batch_size: int = 1,
        scheduler: Scheduler | str | None = None,
        seed: Seed = None,
        collate: Callable[[list[Any]], Any] | None = None,
        size: Sizer = None,
        weights: str = DEFAULT,
        split: float | None = SPLIT,
        max_weight: float | None = None,
        window: Any = None,
        missing: Any = None,
        release: str | None = None,
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
        weighing, span = Weighing(weights, split, max_weight), Window.of(window, missing, release)
        self._waiting = Waiting(capacity, scheduler, seed, size, such_as="float(x[0])", weighing=weighing, window=span)
        self._batch: list[tuple[Hashable, Any, Any, float]] = []

    def decide(self, x: Any, id: Hashable = None, *, at: Any = None) -> Ticket:
        """Register a decision on x, which must not change until its label comes."""
        return self._waiting.decide(x, id, at=at)

    def label(self, id: Hashable, y: Any, *, at: Any = None) -> float | None:
        """The label of a decision: the weighted loss of the last step it completed, None if it completed none."""
        x, weight = self._waiting.label(id, y, at=at)
        # Not tracked, held, or worth nothing: a batch is counted in rows that are learnt from.
        return None if weight == 0.0 else self._add(id, x, weight, y)

    def advance(self, now: Any = None) -> int:
        """Take in the decisions whose windows have ended by a moment, now if it is not said; return how many."""
        taken = 0
        for row in self._waiting.ended(now):
            self._add(*row)
            taken += 1
        return taken

    def _add(self, id: Hashable, x: Any, weight: float, y: Any) -> float | None:
        """Put a row into the batch, several times if its weight is great, and make the steps that are full."""
        calls, loss = self._waiting.weighing.calls(weight, step_of, self.optimiser), None
        self._batch += [(id, x, y, weight / calls)] * calls
        while len(self._batch) >= self.batch_size:
            loss = self.step()
        return loss

    def step(self) -> float | None:
        """Learn from the rows gathered so far, if there are any; return their weighted loss before the step."""
        if not self._batch:
            return None
        n = self.batch_size
        batch, self._batch = self._batch[:n], self._batch[n:]  # gone before: what fails is labelled anew
        try:
            return self._learn(batch)
        except BaseException as error:
            failed = {id for id, *_ in batch}
            batch += [row for row in self._batch if row[0] in failed]  # their other parts, which would fail too
            self._batch = [row for row in self._batch if row[0] not in failed]
            self._waiting.give_back(((id, x, weight, y) for id, x, y, weight in batch), error)
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


def step_of(optimiser: Any) -> Any:
    """Return the longest step of an optimiser's groups; None where they have none."""
    return max((group.get("lr") for group in getattr(optimiser, "param_groups", ()) if group.get("lr")), default=None)


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
