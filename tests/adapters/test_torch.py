"""The PyTorch adapter's contract, on PyTorch where it is installed and on a small stand-in everywhere."""

import importlib.util
import sys
from types import SimpleNamespace

import autograd_stand_in
import numpy as np
import pytest
from latecomers import CAPACITY, assert_weights_matter, events
from marking import slow_but

from tarry.adapters.torch import LateLabels

HAS_TORCH = importlib.util.find_spec("torch") is not None


def _stand_in():
    bias = autograd_stand_in.Tensor([0.0])
    return SimpleNamespace(
        bias=bias,
        module=lambda x: x * bias,
        squared=lambda out, y: (out - y) * (out - y),
        sgd=lambda lr: autograd_stand_in.SGD([bias], lr),
        collate=autograd_stand_in.collate,
        row=lambda value: np.array([value]),
        value=lambda: bias.data.item(),
    )


def _torch():
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    bias = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    return SimpleNamespace(
        bias=bias,
        module=lambda x: x * bias,
        squared=torch.nn.MSELoss(reduction="none"),
        sgd=lambda lr: torch.optim.SGD([bias], lr=lr),
        collate=None,
        row=lambda value: torch.tensor([value], dtype=torch.float64),
        value=lambda: bias.item(),
    )


@pytest.fixture(params=["stand-in", "torch"])
def kit(request):
    return {"stand-in": _stand_in, "torch": _torch}[request.param]


def make(k, capacity=8, lr=0.1, **options):
    return LateLabels(k.module, k.sgd(lr), k.squared, capacity, collate=k.collate, **options)


def test_one_row_is_one_weighted_step(kit):
    k = kit()
    late = make(k, capacity=1, seed=3, weights="unbiased", split=None)
    tickets = [late.decide(k.row(1.0)) for _ in range(4)]
    losses = [late.label(ticket.id, k.row(2.0)) for ticket in tickets]
    assert losses.count(None) == 3
    assert sum(loss for loss in losses if loss) == pytest.approx(4 * 4.0)
    # d/db of w (b − 2)² at b = 0 is −4 w, and the one row that is left weighs 4.
    assert k.value() == pytest.approx(0.1 * 4.0 * 4.0)


@pytest.mark.parametrize("batch_size", [1, 3, 7])
def test_a_batch_is_the_weighted_mean_over_its_rows(kit, batch_size):
    k = kit()
    late = make(k, capacity=20, batch_size=batch_size, lr=0.01, seed=1)
    rows = [(1.0 + i, 2.0 - i) for i in range(batch_size)]
    ids = [late.decide(k.row(x)).id for x, _ in rows]
    for id, (_, y) in zip(ids, rows, strict=True):
        done = late.label(id, k.row(y))
    assert done == pytest.approx(np.mean([y * y for _, y in rows]))
    assert k.value() == pytest.approx(0.01 * np.mean([2 * x * y for x, y in rows]))


def test_what_is_left_in_a_batch_waits_for_step(kit):
    k = kit()
    late = make(k, batch_size=10)
    late.label(late.decide(k.row(1.0)).id, k.row(1.0))
    assert k.value() == 0.0
    assert late.step() == pytest.approx(1.0)
    assert k.value() > 0.0
    assert late.step() is None


def test_untracked_labels_change_nothing(kit):
    k = kit()
    late = make(k)
    assert late.label(5, k.row(1.0)) is None
    assert late.step() is None
    assert k.value() == 0.0


@pytest.mark.parametrize("batch_size", slow_but([1, 5], {5}))
def test_recovers_the_truth_only_with_weights(kit, batch_size):
    def learn(change):
        k = kit()
        late = make(k, CAPACITY, 0.005 * batch_size, batch_size=batch_size, seed=1)
        heard, ids, found = late._waiting.label, {}, []
        late._waiting.label = lambda id, y, at: (lambda x, w: (x, change(w) if w else w))(*heard(id))
        for i, y in events():
            if y is None:
                ids[i] = late.decide(k.row(1.0)).id
            else:
                late.label(ids[i], k.row(float(y)))
                found.append(k.value())
        return float(np.mean(found[len(found) // 2 :]))

    assert_weights_matter(learn)


def test_a_loss_that_is_summed_is_refused(kit):
    k = kit()
    k.squared = SimpleNamespace(reduction="mean")
    with pytest.raises(ValueError, match="has reduction='mean', but weights need one loss a row"):
        make(k)
    k.squared = lambda out, y: ((out - y) * (out - y)).mean()
    late = make(k)
    with pytest.raises(ValueError, match="gives shape \\(\\) for 1 rows"):
        late.label(late.decide(k.row(1.0)).id, k.row(1.0))


def test_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "torch.utils.data", None)
    k = _stand_in()
    k.collate = None
    with pytest.raises(ImportError, match="pip install 'tarry\\[torch\\]'"):
        make(k)


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed: make test-torch")
@pytest.mark.parametrize("optimiser", ["SGD", "Adam", "Adagrad"])
def test_any_optimiser_and_module(optimiser):
    import torch

    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    chosen = getattr(torch.optim, optimiser)(module.parameters(), lr=0.05)
    late = LateLabels(module, chosen, torch.nn.CrossEntropyLoss(reduction="none"), 16, batch_size=8, seed=1)
    first, last = [], []
    for i in range(1500):
        x = torch.randn(3)
        ticket = late.decide(x)
        loss = late.label(ticket.id, int(x.sum() > 0))
        if loss is not None:
            (first if i < 100 else last if i > 1300 else []).append(loss)
    assert np.mean(last) < 0.6 * np.mean(first)


def test_rows_of_a_step_that_fails_may_be_labelled_again(kit):
    k = kit()
    late = make(k, batch_size=2)
    first, second = (late.decide(k.row(1.0)).id for _ in range(2))
    assert late.label(first, "no number") is None
    with pytest.raises(Exception) as told:  # whatever the module says
        late.label(second, k.row(2.0))
    assert f"{[first, second]}: label them again" in told.value.__notes__[0]
    assert k.value() == 0.0
    assert late.label(first, k.row(2.0)) is None
    assert late.label(second, k.row(2.0)) == pytest.approx(4.0)
    assert late.label(second, k.row(2.0)) is None
    assert late.step() is None


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_loss_that_is_not_finite_makes_no_step(kit, bad):
    k = kit()
    late = make(k, batch_size=2)
    first, second = (late.decide(k.row(1.0)).id for _ in range(2))
    late.label(first, k.row(2.0))
    with pytest.raises(ValueError, match=rf"the loss is {bad}, so no step was made; .* not finite for \[{second}\]"):
        late.label(second, k.row(bad))
    assert k.value() == 0.0
    assert late.label(first, k.row(2.0)) is None
    assert late.label(second, k.row(2.0)) == pytest.approx(4.0)
    assert k.value() == pytest.approx(0.1 * 4.0)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"module": None}, "module must be callable, such as .*, got None"),
        ({"squared": "mse"}, "loss must be callable, such as .*, got 'mse'"),
        ({"sgd": lambda lr: None}, "optimiser must be one of PyTorch's"),
    ],
)
def test_parts_that_cannot_be(part, words):
    k = _stand_in()
    vars(k).update(part)
    with pytest.raises(ValueError, match=words):
        make(k)


def test_a_ticket_is_no_id():
    k = _stand_in()
    late = make(k)
    with pytest.raises(ValueError, match="an id must be hashable"):
        late.label([1], k.row(1.0))
    with pytest.raises(ValueError, match=r"give ticket\.id, here 1"):
        late.label(late.decide(k.row(1.0)), k.row(1.0))
    assert late.label(1, k.row(1.0)) == pytest.approx(1.0)
