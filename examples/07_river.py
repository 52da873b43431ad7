"""River's phishing stream with late labels: a report of phishing comes soon, the all-clear only when a window ends.

Same model, same data, same delays; only who is waited for differs. Thirty-two slots chosen at random and weighed do as
well as no limit at all, within what the draw of the slots does. Dropping the oldest, or giving up after a while, leaves
mostly reports to learn from, because these come first: everything is taken for phishing.
"""

from river import datasets, linear_model, metrics, preprocessing

import tarry
from tarry.adapters.river import iter_progressive_val_score

SLOTS, REPORT, WINDOW = 32, 20, 300


def wait(x: dict[str, float], y: bool) -> int:
    """How many pages later the label is known."""
    return REPORT if y else WINDOW


policies = tarry.schedulers
for title, limits in {
    "no limit": {"capacity": None},
    "VarOpt, seed 1": {"capacity": SLOTS, "seed": 1},
    "VarOpt, seed 2": {"capacity": SLOTS, "seed": 2},
    "VarOpt, seed 3": {"capacity": SLOTS, "seed": 3},
    "DropNewest": {"capacity": SLOTS, "scheduler": policies.DropNewest()},
    "DropOldest": {"capacity": SLOTS, "scheduler": policies.DropOldest()},
    "Timeout after 100": {"capacity": SLOTS, "scheduler": policies.Timeout(100)},
}.items():
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    score = metrics.LogLoss() + metrics.ROCAUC()
    pages = datasets.Phishing()
    for report in iter_progressive_val_score(pages, model, score, delay=wait, step=1250, **limits):
        used = report.get("Samples used", report["Step"])
        loss, area = (report[name].get() for name in ("LogLoss", "ROCAUC"))
        print(f"{title:18} log loss {loss:.3f}   ROC AUC {area:6.1%}   {used:4} labels learnt from")
