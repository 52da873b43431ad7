#!/bin/sh
# All checks, cheapest first, with a time for each. BIN is the environment's bin folder.
set -eu
BIN=${BIN:-.venv/bin}
started=$(date +%s)

stage() {
    name=$1
    shift
    begun=$(date +%s)
    printf '== %s\n' "$name"
    "$@"
    printf '== %s: %s s\n' "$name" "$(($(date +%s) - begun))"
}

stage "format" "$BIN/ruff" format --check --quiet .
stage "lint" "$BIN/ruff" check --quiet .
stage "imports" "$BIN/lint-imports" --no-cache
stage "types" "$BIN/mypy"
stage "postgresql" "$BIN/python" tests/postgres.py
stage "chromium" "$BIN/python" tests/chromium.py
stage "tests, JIT off" env NUMBA_DISABLE_JIT=1 "$BIN/python" -m pytest -n 2 tests src
# What a command says, what formulas are worth, plans, players, cases, sweeps, pages, adapters and the examples in
# docstrings do not depend on the compiler: they stand on what the other rooms show of it. Of tests marked wide the same
# holds; the contract, the promises (one of each family; all: make slopes) and live play run compiled.
stage "tests, compiled" "$BIN/python" -m pytest -n 2 tests --ignore tests/test_examples.py --ignore tests/cli \
    --ignore tests/theory --ignore tests/planning --ignore tests/adapters --ignore tests/experiments \
    --ignore tests/reports --ignore tests/results --ignore tests/players --ignore tests/studies
stage "plans, cases and sweeps, compiled" "$BIN/python" -m pytest -n 2 -m compiled tests/planning tests/cli \
    tests/experiments tests/studies tests/players
# Environments have a log of their own, so a compiled loop of their own.
stage "examples and environments" "$BIN/python" -m pytest -n 2 tests/test_examples.py tests/adapters/test_gym.py
printf '== all checks: %s s\n' "$(($(date +%s) - started))"
