"""Real kills: a client is killed at any moment, again and again; its run equals one that nothing happened to.

``python tests/crash.py 500`` does so 500 times for each store.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from postgres import Server
from processes import Child
from scenario import Client, check_answers, check_state, everything, long_script

STEPS = 150
LIFE = 0.06  # seconds a client lives on average


def kill_often(store: str, kills: int, scratch: Path, seed: int = 0) -> dict[str, int]:
    """Kill clients of this store that often; how many runs, calls and lost answers there were."""
    rng, left, run = np.random.default_rng(seed), kills, 0
    counts = {"kills": kills, "runs": 0, "calls": 0, "answers lost": 0}
    while left:
        scenario, name = long_script(STEPS, seed + run), f"run {run}"
        answers = scratch / f"{name}.jsonl"
        answers.touch()
        while left and answers.read_text().count("\n") < STEPS:
            child = Child(lambda a=answers, s=scenario, n=name: live(s, store, n, a), scratch)
            time.sleep(min(rng.exponential(LIFE), 10 * LIFE))
            left -= child.kill()
        client = live(scenario, store, name, answers)
        compare(client, store, name)
        counts["runs"] += 1
        counts["calls"] += STEPS
        counts["answers lost"] += sum("lost" in json.dumps(answer) for answer in client.answers)
        run += 1
    return counts


def live(scenario: Any, store: str, name: str, answers: Path) -> Client:
    """Go on where the answers end, noting each in a line as soon as it is there."""
    client = Client(scenario, heard(answers), again=True)
    with client.open(store, name) as session, answers.open("a", buffering=1) as file:
        while len(client.answers) < STEPS:
            client.play(session, len(client.answers) + 1)
            file.write(json.dumps(client.answers[-1]) + "\n")
    return client


def heard(answers: Path) -> list[Any]:
    """The answers that were noted whole; a client killed while it wrote has not heard the last one."""
    whole = answers.read_bytes()
    whole = whole[: whole.rfind(b"\n") + 1]
    os.truncate(answers, len(whole))
    return [json.loads(line) for line in whole.splitlines()]


def compare(client: Client, store: str, name: str) -> None:
    """Answers, ledger and every stored bit against an uninterrupted run in memory."""
    reference = Client(client.scenario)
    session = reference.open("memory:")
    reference.play(session)
    expected = everything(session)
    check_answers(reference, client)
    with client.scenario.kind.open(store, name=name) as reopened:
        check_state(expected, None, everything(reopened))


def main(kills: int) -> None:
    """Both stores, with the time taken."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        _crash("sqlite", f"sqlite:///{folder}/crash.db", kills, scratch)
    server = Server()
    try:
        with tempfile.TemporaryDirectory() as folder:
            _crash("postgresql", server.url("crash"), kills, Path(folder))
    finally:
        server.remove()


def _crash(kind: str, store: str, kills: int, scratch: Path) -> None:
    begun = time.monotonic()
    counts = kill_often(store, kills, scratch)
    told = ", ".join(f"{count} {what}" for what, count in counts.items())
    sys.stdout.write(f"{kind}: {told}, all equal; {time.monotonic() - begun:.0f} s\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
