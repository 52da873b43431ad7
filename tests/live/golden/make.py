"""Make the golden file of the present format: ``python tests/live/golden/make.py`` (with src and tests on the path).

A golden file holds a session and a join in the middle of their scripts, and beside it lies what their clients are
answered from there on. Files of released versions are never made again: a format that changes gets a new number.
"""

from __future__ import annotations

import json
from pathlib import Path

from scenario import Client, Scenario, letters, long_script

import tarry
from tarry.live.configuration import FORMAT

FOLDER = Path(__file__).parent
HALF = 40
SCENARIOS = {
    "session": long_script(2 * HALF, 5),
    "join": Scenario(
        tarry.LabelJoin,
        {"capacity": 4, "labels": "sum", "memory": 50},
        [
            *[("decide_many", letters("abcdefgh")), ("gather", ("h", 1)), ("finish", "g"), ("decide", "i")],
            *[(call, id) for id in letters("jklmnopqrstuvw") for call in ("decide", "finish")],
            *[("gather", ("h", 2)), ("finish", "h"), ("decide_many", letters("xyz")), ("finish", "z"), ("expire", "y")],
        ],
    ),
    "windows": Scenario(
        tarry.LabelJoin,
        {"capacity": 4, "window": 10, "missing": 0, "outbox": True, "memory": 50},
        [
            *[("decide_at", (id, t)) for t, id in enumerate(letters("abcdef"))],
            *[("label_at", (id, 6)) for id in letters("aceg")],
            *[("advance", 12), ("decide_typed", ("g", 13)), ("decide_typed", ("h", 14)), ("decide_at", ("i", 15))],
            *[("label_at", ("i", 16)), ("rows", None), ("ack", 1), ("rows", 1), ("label_at", ("g", 17))],
            *[("decide_at", (id, 18 + t)) for t, id in enumerate(letters("jklm"))],
            *[("advance", 24), ("label_at", ("m", 25)), ("label_at", ("k", 50)), ("advance", 60), ("rows", None)],
        ],
    ),
}


def half_of(scenario: Scenario) -> int:
    """The step at which a script is interrupted."""
    return len(scenario.script) // 2


def main() -> None:
    """Write the file and what comes after it."""
    path = FOLDER / f"format-{FORMAT}.db"
    path.unlink(missing_ok=True)
    expected = {}
    for name, scenario in SCENARIOS.items():
        client = Client(scenario)
        with client.open(f"sqlite:///{path}", name) as session:
            client.play(session, half_of(scenario))
        whole = Client(scenario)
        whole.play(whole.open("memory:"))
        assert whole.answers[: half_of(scenario)] == client.answers
        rest = whole.answers[half_of(scenario) :]
        expected[name] = {"script": scenario.script[half_of(scenario) :], "answers": rest}
    path.with_suffix(".json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
