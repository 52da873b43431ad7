"""Requests made up from the OpenAPI description: no 5xx, no answer that it does not document.

``python tests/support/fuzz_service.py 20000`` makes about that many, and prints what Schemathesis found.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from serving import Served

# What makes sense in its form may still make none to the library, such as finish where labels do not gather.
LEFT_OUT = "positive_data_acceptance"
_APART = "/v1/(events|plan|explore)"  # a stream, and what takes seconds: tests of their own
PER_EXAMPLE = 115  # requests for each example asked for


def fuzz(examples: int, *options: str) -> tuple[int, str]:
    """Make requests; return how many, and the report. Raise AssertionError if anything was found."""
    with tempfile.TemporaryDirectory() as folder:
        served = Served(Path(folder), durability="process")
        try:
            for path, body in {
                "joins/clicks": {"capacity": 4},
                "sessions/clicks2": {"dimension": 2, "rate": 0.5},
            }.items():
                assert served.call("POST", f"/v1/{path}", body)[0] == 201
            command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{served.url}/v1/openapi.json"]
            command += [
                "--header",
                f"Authorization: Bearer {served.token}",
                "--max-examples",
                str(examples),
                "--no-color",
            ]
            command += ["--phases", "examples,coverage,fuzzing", "--exclude-checks", LEFT_OUT, "--seed", "1"]
            command += ["--exclude-path-regex", _APART, "--request-timeout", "60", "--continue-on-failure", *options]
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
            assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-1000:]
            assert served.process.poll() is None
            assert '"level": "error"' not in served.log(), served.log()[-3000:]
        finally:
            served.stop()
    return int(re.search(r"([\d,]+) generated", done.stdout)[1].replace(",", "")), done.stdout


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    made, report = fuzz(max(1, wanted // PER_EXAMPLE))
    sys.stdout.write(f"{report[report.rfind('Test cases') :]}\n{made} requests, nothing found\n")
