# setup: the environment   demo: one game, end to end   test: the checks one waits for   bench: speed, as ratios
# test-all: every check, also those marked slow
# crash: kill -9, 500 times for each store
# studies: the case studies, one page each under out/ (minutes)
# table1: the paper's Table 1, quick, played afresh: every exponent has to be as claimed (minutes)
# test-torch: the PyTorch adapter on PyTorch itself, which the other checks do without
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup setup-bench demo test test-all studies table1 test-torch crash bench clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) (first time: a minute or two)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test]'
	@touch $@

$(VENV)/.ready-bench: $(VENV)/.ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bench]'
	@touch $@

$(VENV)/.ready-torch: $(VENV)/.ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[torch]'
	@touch $@

demo: setup
	@$(BIN)/tarry demo

test: setup
	@BIN=$(BIN) sh tests/run.sh

test-all: setup
	@BIN=$(BIN) sh tests/run.sh all

studies: setup
	@for name in flights clinical queue; do $(BIN)/python -m studies $$name --out out/$$name || exit 1; done

table1: setup
	@rm -rf out/table1-check
	@$(BIN)/python -m studies table1 --quick --results out/table1-check

crash: setup
	@$(BIN)/python tests/support/crash.py 500

test-torch: $(VENV)/.ready-torch
	@$(BIN)/python -c 'import torch' && $(BIN)/python -m pytest tests/adapters/test_torch.py

bench: $(VENV)/.ready-bench
	@$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist out
