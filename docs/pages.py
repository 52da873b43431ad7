"""What the site knows of its pages beside their text: which pages stand under others, and the subjects of each.

Pages stay plain Markdown, which is read in the repository too; the site's build adds both.
"""

from __future__ import annotations

import re
from typing import Any

# Pages that the navigation shows under another one, with their short titles.
UNDER = {
    "live": {
        "howto/sizes": "Sizes of decisions",
        "howto/several-labels": "Several labels",
        "howto/backups": "Migrations and backups",
        "howto/shell": "From the shell",
        "howto/stores": "A store of your own",
    },
    "cases": {"explanation/models": "Eight logs, two models"},
    "adapters": {"spark": "Spark, Kafka, Flink"},
    "service": {"scale": "Shards and scale"},
    "experiments": {
        "howto/engines": "Run on Dask, on a GPU",
        "reports": "Reports",
        "howto/regret": "Measure regret, check a bound",
        "members": "A member of your own",
    },
}
# The search shows a page first for its subjects; the index lists them.
SUBJECTS = {
    "adapters": "River, scikit-learn, PyTorch, Vowpal Wabbit, model",
    "cases": "log, replay",
    "choosing": "scheduler, player, bandit, learner",
    "experiments": "sweep, TOML",
    "explanation/estimates": "estimate, interval",
    "explanation/main-theorem": "theorem, regret",
    "explanation/when-not": "drop newest, drop oldest, loan default, default rate, hash, rare positives, censoring",
    "explanation/why-weights": "weight, bias, unbiased, VarOpt, drop newest, drop oldest",
    "howto/backups": "migration, backup, resize, capacity",
    "howto/engines": "Dask, GPU, threads, sweep",
    "howto/pitfalls": "mistake",
    "howto/several-labels": "several labels, return",
    "howto/shell": "shell, cron",
    "howto/sizes": "size",
    "howto/stores": "custom store, store",
    "live": "join, session, window, conversions, outbox, store, SQLite, PostgreSQL",
    "members": "custom learner, custom scheduler, custom loss",
    "methods": "bandit, expert, arm",
    "paper": "paper, theorem, algorithm, Pareto, Bernoulli, DW-FTRL, DW-FTBL, proxy delay",
    "planning": "capacity, slot, backlog",
    "reports": "report, chart",
    "scale": "shard, throughput",
    "service": "HTTP, server, token",
    "spark": "Spark, Kafka, Flink, stream",
    "start/practitioner": "conversions, label",
    "start/researcher": "game, bandit, simulate",
}
# The gallery's note at the top of each tutorial, with which an excerpt in the search would begin.
NOTE = re.compile(
    r"^\.\. only:: html\n\n    \.\. note::\n        :class: sphx-glr-download-link-note\n(\n| {8}.*\n)*", re.M
)
TITLE = re.compile(r"^# .*$", re.M)


def place_page(app: Any, page: str, source: list[str]) -> None:
    """Add to a page, as Sphinx reads it, its subjects and the pages under it; take the gallery's note from it."""
    if page.startswith("gallery/"):
        source[0] = NOTE.sub("", source[0])
    if page in SUBJECTS:
        entries = ", ".join(f"! {subject}" for subject in SUBJECTS[page].split(", "))
        source[0] = TITLE.sub(lambda title: f"{title[0]}\n\n```{{index}} {entries}\n```\n", source[0], count=1)
    if page in UNDER:
        lines = "\n".join(f"{title} </{name}>" for name, title in UNDER[page].items())
        source[0] += f"\n```{{toctree}}\n:hidden:\n\n{lines}\n```\n"
