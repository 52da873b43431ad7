# setup: the environment   demo: one game, end to end, in a quarter of the environment   test: the checks before every merge   bench: speed, as ratios
# test-all: every check, also those marked slow, with coverage, and test-oldest
# test-oldest: the tests with the JIT off, and every member compiled, on the oldest dependencies that pyproject.toml allows
# crash: kill -9, 500 times for each store, and 300 times with windows, an outbox and a changing capacity
#   and of the service, its workers and the whole server, under load; connections cut, PostgreSQL stopped and started
# fuzz: 20,000 requests to the service, made up from its description   soak: the service under load for half an hour
# studies: the case studies, one page each under out/ (minutes)
# table1: the paper's Table 1 with its controls, quick: fails unless every line comes out as it should (a minute or two)
# docs: the documentation as a site, out/site/index.html; tutorials are executed, a warning is an error, every page is opened
# figures: README's pictures, and flights, arrivals, clinical, queue and slice of docs/figures.json, measured again;
#   each other part of that file names its own command
# test-spark: the Spark adapter on Spark itself, in local mode, with Debian's Java; the other checks do without
# test-torch: the PyTorch adapter on PyTorch itself; the other checks do without
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest
# Without bytecode, which takes as long to compile as the rest of the set-up: Python compiles what it imports.
INSTALL := -m pip install --quiet --no-compile --disable-pip-version-check
# The environment and Debian's packages are set up side by side.
READY := $(MAKE) --no-print-directory --jobs=2 setup system

.PHONY: setup system demo test test-all test-oldest studies table1 test-spark test-torch crash fuzz soak bench docs figures clean

setup: $(VENV)/.ready

# A quarter of the environment is enough to show something.
$(VENV)/.ready-demo: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) for the demo (first time: half a minute)"
	@$(BIN)/python $(INSTALL) --constraint constraints.txt --editable '.[cli,report]'
	@touch $@

$(VENV)/.ready: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) (first time: a minute or two)"
	@$(BIN)/python $(INSTALL) --constraint constraints.txt --editable '.[test]'
	@touch $@ $(VENV)/.ready-demo

$(VENV)/.ready-bench: $(VENV)/.ready
	@$(BIN)/python $(INSTALL) --constraint constraints.txt --editable '.[bench]'
	@touch $@

$(VENV)/.ready-torch: $(VENV)/.ready
	@$(BIN)/python $(INSTALL) --constraint constraints.txt --editable '.[torch]'
	@touch $@

$(VENV)/.ready-spark: $(VENV)/.ready
	@$(PYTHON) tests/support/system.py openjdk-17-jre-headless
	@$(BIN)/python $(INSTALL) --constraint constraints.txt --editable '.[spark]'
	@touch $@

$(OLDEST)/.ready: pyproject.toml constraints-oldest.txt
	@test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	@$(OLDEST)/bin/python $(INSTALL) --constraint constraints-oldest.txt --editable '.[test]'
	@touch $@

demo: $(VENV)/.ready-demo
	@$(BIN)/tarry demo

system:
	@$(PYTHON) tests/support/system.py

test:
	@$(READY)
	@BIN=$(BIN) sh tests/run.sh

test-all:
	@$(READY)
	@BIN=$(BIN) sh tests/run.sh all
	@$(MAKE) --no-print-directory test-oldest

test-oldest: $(OLDEST)/.ready
	@BIN=$(OLDEST)/bin sh tests/run.sh oldest

studies: setup
	@for name in flights clinical queue; do $(BIN)/python -m studies $$name --out out/$$name || exit 1; done

table1: setup
	@rm -rf out/table1-check
	@$(BIN)/python -m studies table1 --quick --results out/table1-check

crash: setup
	@$(BIN)/python tests/support/crash.py 500
	@$(BIN)/python tests/support/outbox_kills.py 300
	@NUMBA_DISABLE_JIT=1 $(BIN)/python tests/support/service_kills.py 300
	@NUMBA_DISABLE_JIT=1 $(BIN)/python tests/support/service_cuts.py 200 20

fuzz: setup
	@$(BIN)/python tests/support/fuzz_service.py 20000

soak: setup
	@$(BIN)/python tests/support/soak.py 30

test-torch: $(VENV)/.ready-torch
	@$(BIN)/python -c 'import torch' && $(BIN)/python -m pytest tests/adapters/test_torch.py tests/test_blocks.py -k 'torch or adapters'

test-spark: $(VENV)/.ready-spark
	@$(BIN)/python -c 'import pyspark' && NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/adapters/test_spark.py tests/test_blocks.py -k 'spark and not script'

bench: $(VENV)/.ready-bench
	@$(BIN)/python -m benchmarks

$(VENV)/.ready-docs: $(VENV)/.ready
	@$(BIN)/python $(INSTALL) --constraint constraints.txt --editable '.[docs]'
	@touch $@

docs: $(VENV)/.ready-docs
	@rm -rf out/site
	@$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs out/site
	@$(BIN)/python tests/support/site_check.py out/site
	@echo "out/site/index.html"

figures: setup
	@$(BIN)/python -m studies figures

clean:
	rm -rf $(VENV) $(OLDEST) build dist out
