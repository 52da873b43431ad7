"""The rules that keep the steps portable: generic target, no allocation, no Python objects, one compilation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from marking import slow_but
from numba.core.registry import cpu_target

import tarry
from tarry.errors import MemberError
from tarry.game.world import run_rounds
from tarry.kernel import compile as compiling
from tarry.kernel import entry, verb
from tarry.kernel.cache import Fingerprint
from tarry.kernel.compile import OPTIONS, Entry, _sources_of
from tarry.learners import base as learning
from tarry.losses import base as lossy
from tarry.schedulers import base as scheduling

RNG = np.random.default_rng(0)


def _game(feedback="gradient"):
    domain = tarry.domains.Ball(3)
    return tarry.Game(
        domain,
        tarry.losses.Linear(RNG.normal(size=(50, 3))),
        tarry.delays.fixed(horizon=50, delay=4),
        capacity=3,
        feedback=feedback,
    )


VERBS = [
    scheduling.admit, scheduling.arrive, scheduling.expired, scheduling.draw,
    learning.predict, learning.absorb, learning.advance, learning.direction,
    lossy.fetch, lossy.value, lossy.gradient, tarry.domains.project, tarry.delays.base.delay,
]  # fmt: skip


@pytest.mark.parametrize("name", VERBS, ids=lambda v: v.__name__)
@pytest.mark.jit(only=True)
def test_verbs_are_registered_for_every_target(name):
    compiling.numba_side()  # Numba hears of them with the first program that compiles
    context = cpu_target.typing_context
    context.refresh()
    templates = context.resolve_value_type(name).templates
    assert {template.metadata["target"] for template in templates} == {"generic", "cpu"}


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("learner", slow_but(["DWFTRL", "DWFTBL"], ["DWFTBL"]))
def test_compiled_rounds_allocate_nothing_and_touch_no_python(learner, monkeypatch):
    fresh = Entry(run_rounds.function)  # code loaded from the disk cache cannot be inspected
    monkeypatch.setattr("tarry.kernel.compile.make_folder", lambda _: None)
    monkeypatch.setattr("tarry.game.run.run_rounds", fresh)
    game = _game("gradient" if learner == "DWFTRL" else "value")
    chosen = (
        tarry.learners.DWFTRL(game.domain, rate=0.1)
        if learner == "DWFTRL"
        else tarry.learners.DWFTBL(game.domain, rate=0.1, smoothing=0.5)
    )
    tarry.simulate(game, tarry.Player(chosen))
    assert OPTIONS["_nrt"] is False
    texts = [text for d in fresh.dispatchers for text in d.inspect_llvm().values()]
    assert texts
    for text in texts:
        body = re.split(r"\ndefine [^\n]*@[^\n]*cpython", text)[0]  # the boxing wrapper follows
        assert "NRT_" not in body
        assert not re.search(r"call[^\n]*@Py[A-Z]", body)


@pytest.mark.jit(only=True)
def test_an_allocating_step_does_not_compile():
    @entry
    def careless(n):
        return np.zeros(n).sum()

    with pytest.raises(MemberError, match="careless allocates memory, which verbs cannot"):
        careless.dispatcher_for()(3)


@pytest.mark.jit(only=True)
def test_a_second_call_does_not_compile():
    game = _game()
    player = tarry.Player(tarry.learners.DWFTRL(game.domain, rate=0.1))
    tarry.simulate(game, player)
    before = [len(d.signatures) for d in run_rounds.dispatchers]
    other = tarry.Game(game.domain, game.losses, tarry.delays.fixed(horizon=50, delay=9), capacity=2)
    tarry.simulate(other, tarry.Player(tarry.learners.DWFTRL(game.domain, rate=0.2)), seeds=3)
    assert [len(d.signatures) for d in run_rounds.dispatchers] == before


def test_a_missing_verb_is_a_sentence():
    @verb
    def greet(thing):
        """Say hello."""

    with pytest.raises(TypeError, match=r"int has no greet\(\): register one with @greet.on\(int\)"):
        greet(3)


def test_the_file_of_a_method_that_is_a_verb_keys_the_cache():
    made = {}
    exec(compile("def project(self, x, scratch): pass", "elsewhere.py", "exec"), made)

    class Borrowing(tarry.domains.Domain):
        project = made["project"]

    assert made["project"] in _sources_of[Borrowing]
    assert Fingerprint.of(__file__, (Borrowing(),), _sources_of) is None  # nobody knows what elsewhere.py says
    assert tarry.domains.project.members.pop(Borrowing) is made["project"]
    del _sources_of[Borrowing]


def test_implementations_have_the_verbs_arguments():
    @verb
    def weigh(thing, cup, t):
        """Weigh a thing."""

    with pytest.raises(
        TypeError, match=r"weigh\(thing, cup, t\) has 3 arguments, the function given .*_two\(thing, cup\) in"
    ):

        @weigh.on(int)
        def _two(thing, cup): ...

    with pytest.raises(TypeError, match=r"_four\(thing, cup, t, more\) .*has 4: give it those of weigh"):

        @weigh.otherwise
        def _four(thing, cup, t, more): ...

    assert (weigh.members, weigh.default) == ({}, None)

    @weigh.on(int, float)
    def _any(thing, *rest): ...

    @weigh.otherwise
    def _more(thing, cup, t, more=1.0): ...

    assert set(weigh.members) == {int, float}


INTERRUPTED = """
import signal, sys
import tarry
class Interrupting:  # an interrupt comes when a module is looked for
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
waits = tarry.delays.bursts(horizon=6, length=2, slow=3, fast=0)
try:
    waits.uncut(6)
except KeyboardInterrupt:
    print(waits.uncut(6))
"""


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("module", ["numba.core.typing.builtins", "tarry.kernel.pipeline"])
def test_an_interrupt_while_numba_is_loaded_breaks_nothing(module):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", INTERRUPTED, module]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[3 3 0 0 3 3]"


@pytest.mark.jit(only=True)
def test_numba_is_loaded_while_python_ends():
    late = "import atexit, tarry; atexit.register(lambda: print(tarry.delays.bursts(horizon=2, slow=1).uncut(2)))"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", late], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[1 1]"


@pytest.mark.jit(only=True)
def test_threads_that_ask_together_share_a_dispatcher(monkeypatch):
    side, made, gate = compiling.numba_side(), [], threading.Barrier(2, timeout=5)

    def make(*_given):
        made.append(object())
        time.sleep(0.1)  # the other thread has asked by now
        return made[-1]

    monkeypatch.setattr(side, "make_dispatcher", make)
    compiled = compiling.Compiled(lambda: None, {}, None)

    def ask(_):
        gate.wait()
        return compiled.dispatcher

    with ThreadPoolExecutor(2) as pool:
        assert len(set(pool.map(ask, range(2)))) == len(made) == 1
