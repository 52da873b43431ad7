"""Requests made up from the OpenAPI description: no 5xx, no answer that it does not document, no refusal with effects.

``python tests/support/fuzz_service.py 20000`` makes about that many, and prints what Schemathesis found; a second
number is the seed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from serving import Served

# What makes sense in its form may still make none to the library, such as finish where labels do not gather.
LEFT_OUT = "positive_data_acceptance"
_PLANNING = "/v1/plan$"
# One after the other: what deletes comes late, and planning takes minutes unless it is compiled.
PASSES = (
    ["--exclude-path-regex", _PLANNING, "--exclude-method", "DELETE"],
    ["--include-method", "DELETE"],
    *([] if os.environ.get("NUMBA_DISABLE_JIT") == "1" else [["--include-path-regex", _PLANNING]]),
)
FIRST, PER_EXAMPLE = 1700, 30  # requests for every limit in the description, and then for each example asked for

BALL = {"type": "Ball", "dimension": 2}
# Most requests are about one of these, so that they come beyond "there is no such join".
KEPT = {
    "joins/plain": {"capacity": 8, "seed": 1},
    "joins/gathered": {"capacity": 8, "labels": "sum", "window": 100, "missing": 0, "outbox": True, "seed": 1},
    "joins/listed": {"capacity": None, "labels": "all", "window": "1d", "seed": 1},
    "sessions/gradients": {"domain": BALL, "player": {"learner": {"type": "DWFTRL", "rate": 0.5}}, "seed": 1},
    "sessions/values": {
        "domain": {"type": "Ball", "dimension": 1},
        "player": {"learner": {"type": "DWFTBL", "rate": 0.5, "smoothing": 0.1}},
        "seed": 1,
    },
}
_IDS = [{"id": id} for id in ("a", "b", "c", "u1-17", "r1")]  # the last ones are those of the examples
CONFIGURATION = """
[dictionaries.joins]
values = ["plain", "gathered", "listed"]
[dictionaries.sessions]
values = ["gradients", "values"]
[dictionaries.ids]
values = ["a", "b", "c", "u1-17", "r1"]
[dictionaries.texts]
values = ["a", "b", "c", "30d", "2026-01-01"]
[dictionaries.integers]
values = [0, 1, 2, 3, -1, 9223372036854775807, 9223372036854775808, 1{zeros}]
[dictionaries.numbers]
values = [0.0, -0.5, 1.5, 1e308, 5e-324]
# 413 is of batches with too many rows.
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 409, 413, 422, 429, "5xx"]
[generation.dictionaries]
string = { dictionary = "texts", probability = 0.3 }
integer = { dictionary = "integers", probability = 0.3 }
number = { dictionary = "numbers", probability = 0.3 }
[[operations]]
include-path-regex = "^/v1/joins/"
parameters."name" = { dictionary = "joins", probability = 0.9 }
parameters."body.id" = { dictionary = "ids", probability = 0.5 }
[[operations]]
include-path-regex = "^/v1/sessions/"
parameters."name" = { dictionary = "sessions", probability = 0.9 }
parameters."body.id" = { dictionary = "ids", probability = 0.5 }
""".replace("{zeros}", "0" * 400)  # an integer that is no float


def fuzz(examples: int, seed: int = 1, phases: str = "examples,coverage,fuzzing") -> int:
    """Make requests; return how many. Raise AssertionError if anything was found."""
    made = 0
    with tempfile.TemporaryDirectory() as folder:
        served = Served(Path(folder), durability="process")
        Path(folder, "schemathesis.toml").write_text(CONFIGURATION)
        try:
            for path, body in KEPT.items():
                verb, rows = ("decide", "decisions") if path.startswith("joins") else ("ask", "rounds")
                assert served.call("POST", f"/v1/{path}", body)[0] == 201
                assert served.call("POST", f"/v1/{path}/{verb}", {rows: _IDS})[0] == 200
            for chosen in PASSES:
                words = [*command(served, examples, seed), "--phases", phases, *chosen]
                done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=_environment(served))
                assert done.returncode == 0, _short(done.stdout) + done.stderr[-1000:]
                assert served.process.poll() is None
                assert '"level": "error"' not in served.log(), served.log()[-3000:]
                made += int(re.search(r"([\d,]+) generated", done.stdout)[1].replace(",", ""))
        finally:
            served.stop()
    return made


def _short(report: str) -> str:
    """A report whose bodies of many thousand letters are cut."""
    return "\n".join(line[:300] for line in report.splitlines() if line.strip())[-20_000:]


def _environment(served: Served) -> dict[str, str]:
    """The environment in which Schemathesis finds the check of this folder, and that check the server."""
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    known = {"SCHEMATHESIS_HOOKS": "fuzz_checks", "FUZZED_URL": served.url, "FUZZED_TOKEN": served.token}
    return os.environ | known | {"PYTHONPATH": paths}


def command(served: Served, examples: int, seed: int) -> list[str]:
    """The command that makes requests to a server."""
    options = {
        "header": f"Authorization: Bearer {served.token}",
        "max-examples": str(examples),
        "exclude-checks": LEFT_OUT,
        "seed": str(seed),
        "request-timeout": "60",
    }
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    program = str(Path(sys.executable).with_name("schemathesis"))
    return [program, "run", f"{served.url}/openapi.json", *words, "--no-color", "--continue-on-failure"]


if __name__ == "__main__":
    wanted, seed = [*map(int, sys.argv[1:]), *(20_000, 1)[len(sys.argv) - 1 :]]
    sys.stdout.write(f"{fuzz(max(1, (wanted - FIRST) // PER_EXAMPLE), seed):,} requests, nothing found\n")
