#!/bin/sh
# All checks, cheapest first, with a time for each and the memory of the largest worker at the end.
# `sh tests/run.sh` is what one waits for; `sh tests/run.sh all` adds tests marked slow, and draws more examples.
# BIN is the environment's bin folder.
set -eu
BIN=${BIN:-.venv/bin}
case ${1:-} in
    "") chosen="not slow" compiled="jit and not slow" HYPOTHESIS_PROFILE=fast ;;
    all) chosen="" compiled="jit" HYPOTHESIS_PROFILE=full ;;
    *) echo "usage: sh tests/run.sh [all]" >&2; exit 2 ;;
esac
TARRY_PEAKS=$(mktemp)
export HYPOTHESIS_PROFILE TARRY_PEAKS
trap 'rm -f "$TARRY_PEAKS"' EXIT
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
stage "system packages" "$BIN/python" tests/support/system.py
stage "tests, JIT off" env NUMBA_DISABLE_JIT=1 "$BIN/python" -m pytest -n 2 -m "$chosen" tests src studies
stage "tests, compiled" "$BIN/python" -m pytest -n 2 -m "$compiled" tests
printf '== all checks: %s s, at most %s MB a worker\n' \
    "$(($(date +%s) - started))" "$(sort -n "$TARRY_PEAKS" | tail -n 1)"
