"""
River, scikit-learn and PyTorch
===============================

This tutorial is for readers who train a model of another library from late labels. An adapter tracks at most
``capacity`` decisions for the model. Each label that is used reaches the model with its weight.
"""

# %%
# River: progressive validation with late labels
# ----------------------------------------------
# ``progressive_val_score`` takes River's arguments and a capacity. Here every label comes 100 rows late.
import altair as alt
import numpy as np
from river import datasets, linear_model, metrics, preprocessing
from sklearn.linear_model import SGDClassifier

from tarry.adapters import river, sklearn
from tarry.charts import dressed


def score(capacity, seed):
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    metric = metrics.ROCAUC()
    river.progressive_val_score(datasets.Phishing(), model, metric, delay=100, capacity=capacity, seed=seed)
    return metric.get()


print(f"no limit: ROC AUC {score(None, 0):.3f}")

# %%
# How many slots does this model need? Three runs for each capacity:
found = [{"slots": slots, "auc": score(slots, seed)} for slots in (2, 8, 32) for seed in range(3)]
x = alt.X("slots:Q", scale=alt.Scale(type="log", base=2), axis=alt.Axis(values=[2, 8, 32]))
y = alt.Y("auc:Q", title="ROC AUC", scale=alt.Scale(domain=[0.8, 1.0]))
dots = alt.Chart(alt.Data(values=found)).mark_point(size=60, color="#0072B2").encode(x=x, y=y)
chart = dressed(dots.properties(width=480, height=200), "Phishing pages, labels 100 rows late")

# %%
# scikit-learn
# ------------
# The adapter takes any model with ``partial_fit(X, y, sample_weight=…)``. ``decide`` registers rows; ``label`` learns
# from the rows that are still tracked.
draw = np.random.default_rng(0)
X = draw.normal(size=(400, 3))
y = (X[:, 0] + 0.5 * draw.normal(size=400) > 0).astype(int)
steps = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.01, random_state=0)
model = sklearn.LateLabels(steps, capacity=64, classes=[0, 1], random_state=7)
tickets = model.decide(X)
learnt = model.label([ticket.id for ticket in tickets], y)
print(f"{learnt} of {len(X)} rows learnt from; accuracy {model.score(X, y):.2f}")

# %%
# PyTorch
# -------
# PyTorch is not installed where this site is built, so the code below is shown and not run. ``make test-torch``
# runs the adapter's tests on PyTorch itself. The adapter multiplies the loss of each row by its weight, and divides
# a batch of n rows by n.
#
# .. code-block:: python
#
#    import torch
#    from tarry.adapters.torch import LateLabels
#
#    module = torch.nn.Linear(3, 1)
#    optimiser = torch.optim.SGD(module.parameters(), lr=0.01)
#    late = LateLabels(module, optimiser, torch.nn.MSELoss(reduction="none"), capacity=64, batch_size=8, seed=7)
#    ids = [late.decide(torch.randn(3)).id for _ in range(100)]
#    for id in ids:
#        late.label(id, torch.ones(1))  # a step after every eighth row
#    late.step()  # what is left in the batch

# %%
# :doc:`/adapters` says which weight a model receives and how to estimate a rate beside it. It also has windows
# and Vowpal Wabbit.
