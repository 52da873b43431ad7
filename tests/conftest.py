"""Set up every test run: markers, Hypothesis profiles, and how much memory the workers took.

``@pytest.mark.cases("backlog")`` runs a test once per case in ``cases/backlog.json``, with the
case's input as the argument ``given`` and its output as ``expected``.

``@pytest.mark.jit`` is for tests that meet the compiler: they run compiled as well as with the JIT off. With
``jit(only=True)`` they run compiled alone; with ``jit(slow=True)`` only ``make test-all`` compiles them. All other
tests run with the JIT off.

``@pytest.mark.slow`` is for tests that only ``make test-all`` runs.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from system import report_skips, skip_without

from tarry.game import blocks
from tarry.kernel import is_compiled

CASES = Path(__file__).parent / "cases"
# Examples are drawn from a fixed seed: a run that fails, fails again. Time limits would fail on a busy machine.
settings.register_profile("fast", max_examples=25, deadline=None, derandomize=True, database=None)
settings.register_profile("full", max_examples=150, deadline=None, derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))
PEAKS = pytest.StashKey[list[int]]()


def worked_cases(group: str) -> list[Any]:
    """Return the worked cases of one group as pytest parameters."""
    listed = json.loads((CASES / f"{group}.json").read_text())["cases"]
    return [pytest.param(case["input"], case["expected"], id=case["name"]) for case in listed]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "cases(group): run once per worked case, as given and expected")
    config.stash[PEAKS] = []
    # What a shell starts in the background ignores interrupts, and so would every command that a test interrupts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def compiled_from_the_first_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile small games too, which ``simulate`` would begin in plain Python."""
    monkeypatch.setattr(blocks, "FEW_ROUNDS", 0)


@pytest.fixture(autouse=True)
def heard_by_everybody() -> None:
    """Let warnings of the library reach whoever listens, whatever a test before has set up for logs."""
    logging.disable(logging.NOTSET)
    names = [name for name in logging.root.manager.loggerDict if name == "tarry" or name.startswith("tarry.")]
    for logger in map(logging.getLogger, names):
        logger.disabled, logger.propagate = False, True
        logger.setLevel(logging.NOTSET)


@pytest.fixture(scope="session")
def postgres() -> Any:
    """One server for each pytest process, started when the first test asks for it."""
    skip_without("postgresql")
    from postgres import Server  # whose client not every test needs

    server = Server()
    yield server
    server.remove()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    # A file that never says jit has no such test. Leaving it out saves what its imports take, in time and memory.
    if config.getoption("markexpr").startswith("jit") and collection_path.suffix == ".py":
        return "jit" not in collection_path.read_text(encoding="utf-8") or None
    return None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for mark in metafunc.definition.iter_markers("cases"):
        metafunc.parametrize(("given", "expected"), worked_cases(*mark.args))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if is_compiled() and "not slow" not in config.getoption("markexpr"):
        return  # run.sh selects by -m jit; a test that the command line names runs
    reason = "slow" if is_compiled() else "only"
    left_out = {item for item in items if any(mark.kwargs.get(reason) for mark in item.iter_markers("jit"))}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):  # which xdist sends to the process that prints the summary
        session.config.workeroutput["peak"] = _peak()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[PEAKS].append(getattr(node, "workeroutput", {}).get("peak", 0))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    report_skips(terminalreporter)
    peaks = config.stash[PEAKS] or [_peak()]
    terminalreporter.write_line(f"peak memory of a worker: {', '.join(f'{peak} MB' for peak in sorted(peaks))}")
    if path := os.environ.get("TARRY_PEAKS"):  # run.sh asks for the largest of all its stages
        with Path(path).open("a") as log:
            log.writelines(f"{peak}\n" for peak in peaks)


def _peak() -> int:
    """Return the most memory this process ever held, in MB."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit
