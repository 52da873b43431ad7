#!/bin/sh
# All checks, cheapest first, with a time for each and the memory of the largest worker at the end.
# `sh tests/run.sh` runs before every merge. `sh tests/run.sh all` adds tests marked slow, draws more examples and
# measures coverage, which takes half as long again where the JIT is off. `sh tests/run.sh oldest` leaves out what
# does not depend on the versions of dependencies, and of the compiled tests all but every member once.
# BIN is the environment's bin folder.
set -eu
BIN=${BIN:-.venv/bin}
case ${1:-} in
    "") chosen="not slow" compiled="jit and not slow" where=tests cover="" HYPOTHESIS_PROFILE=fast ;;
    all) chosen="" compiled="jit" where=tests cover="--cov" HYPOTHESIS_PROFILE=full ;;
    oldest) chosen="not slow" compiled="jit" where=tests/test_compiled.py cover="" HYPOTHESIS_PROFILE=fast ;;
    *) echo "usage: sh tests/run.sh [all|oldest]" >&2; exit 2 ;;
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

if [ "${1:-}" != oldest ]; then
    stage "format" "$BIN/ruff" format --check --quiet .
    stage "lint" "$BIN/ruff" check --quiet .
    stage "imports" "$BIN/lint-imports" --no-cache
    stage "types" "$BIN/mypy"
fi
# A file goes to one worker, for what its tests share takes longer than they do.
stage "tests, JIT off" env NUMBA_DISABLE_JIT=1 "$BIN/python" -m pytest -n 2 --dist loadfile $cover -m "$chosen" tests src studies
# What the first games of a process do is asked of a process of its own.
first=tests/game/test_python_first.py
stage "tests, compiled" "$BIN/python" -m pytest -n 2 -m "$compiled" --ignore "$first" "$where"
stage "tests, first games" "$BIN/python" -m pytest -m "$compiled" "$first"
printf '== all checks: %s s, at most %s MB a worker\n' \
    "$(($(date +%s) - started))" "$(sort -n "$TARRY_PEAKS" | tail -n 1)"
