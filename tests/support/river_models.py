"""River models and data that the adapter's tests share."""

from __future__ import annotations

from river import base, datasets, linear_model, optim, preprocessing, tree

PHISHING, TRUMP = list(datasets.Phishing()), list(datasets.TrumpApproval())


class Spy(base.Classifier):
    """A classifier that remembers what it is taught."""

    def __init__(self, change=lambda w: w):
        self.change = change
        self.rows = []

    @property
    def _multiclass(self):
        return True

    def learn_one(self, x, y, w=1.0):
        self.rows.append((dict(x), y, w))

    def predict_proba_one(self, x, **kwargs):
        return {True: 0.6, False: 0.4}


class Mean(base.Regressor):
    """A weighted mean; ``change`` is what a careless adapter would do to the weights."""

    def __init__(self, change=lambda w: w):
        self.change = change
        self.weight = self.total = 0.0

    def learn_one(self, x, y, w=1.0):
        self.weight += self.change(w)
        self.total += self.change(w) * y

    def predict_one(self, x):
        return self.total / self.weight if self.weight else 0.0


def classifier():
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def regressor():
    return preprocessing.StandardScaler() | linear_model.LinearRegression(optimizer=optim.SGD(0.01))


def trees():
    return tree.HoeffdingTreeClassifier(grace_period=50)
