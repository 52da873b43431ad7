"""Steps are compiled once, inside the entry that calls them; what compiles slowly is said."""

import gc
import io
import logging

import llvmlite.ir as ir
import numpy as np
import pytest
from numba import njit

from tarry.kernel import lowering, pipeline, step
from tarry.kernel.compile import Entry


@step
def halve(x):
    return 0.5 * x


@step
def halve_all(values):
    total = 0.0
    for i in range(values.size):
        values[i] = halve(values[i])
        total += values[i]
    return total


@step
def speak(x):
    if x > 1.0:
        print("large", x)  # noqa: T201
    return x


def _run(function, *arguments):
    return Entry(function).dispatcher_for()(*arguments)


class Called(pipeline.StepLibrary):
    def __init__(self, *called):
        self._linking_libraries = list(called)


def test_callers_are_linked_before_what_they_call():
    """Whatever the order in which calls were found: LLVM leaves out what nobody has asked for yet."""
    shared = Called()
    between = Called(shared)
    for calls in ([shared, between], [between, shared], [Called(between), shared, between]):
        found = pipeline._called_by(Called(*calls))
        assert found.index(between) < found.index(shared)
        assert len(found) == len(set(found)) == len(calls)


@pytest.mark.jit(only=True)
def test_an_entry_holds_one_function_beside_its_wrapper(monkeypatch):
    monkeypatch.setattr("tarry.kernel.compile.make_folder", lambda _: None)
    made = Entry(lambda values: halve_all(values) + halve(3.0))
    values = np.arange(4.0)
    assert made.dispatcher_for()(values) == 4.5
    assert values.tolist() == [0.0, 0.5, 1.0, 1.5]
    (compiled,) = made.dispatchers[0].overloads.values()
    names = [function.name for function in compiled.library.get_defined_functions()]
    assert sum("cpython" in name for name in names) == 1
    assert len(names) == 2


@pytest.mark.jit(only=True)
def test_a_step_is_optimised_in_the_entry_alone(monkeypatch):
    monkeypatch.setattr("tarry.kernel.compile.make_folder", lambda _: None)
    optimised, optimise = [], pipeline.JITCodeLibrary._optimize_final_module

    def note(library):
        optimised.append(library.name)
        optimise(library)

    monkeypatch.setattr(pipeline.JITCodeLibrary, "_optimize_final_module", note)

    @step
    def fresh(x):
        return x + 1.0

    def play(x):
        return fresh(fresh(x))

    assert _run(play, 1.0) == 3.0
    assert [name for name in optimised if "fresh" in name] == []
    assert [name for name in optimised if "play" in name] != []


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("options", [{}, {"error_model": "numpy"}], ids=str)
def test_functions_that_are_not_ours_call_steps_too(options):
    assert _run(lambda x: halve(x) + 0.0, 3.0) == 1.5
    assert njit(**options)(lambda values: halve_all(values) + halve(2.0))(np.ones(3)) == 2.5


@pytest.mark.jit(only=True)
def test_steps_may_print_while_they_are_debugged(capfd):
    assert _run(lambda x: 1.0 * speak(x), 2.0) == 2.0
    assert "large 2.0" in capfd.readouterr().out


@pytest.mark.jit(only=True)
def test_closures_in_steps_compile():
    @step
    def with_closure(x):
        def inner(y):
            return y * x

        return inner(2.0) + inner(3.0)

    assert _run(lambda x: 1.0 * with_closure(x), 2.0) == 10.0


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("patience", [0.0, 60.0])
def test_compiling_is_told_where_it_takes_long(patience, monkeypatch, caplog):
    monkeypatch.setattr(pipeline, "PATIENCE", patience)
    monkeypatch.setattr("tarry.kernel.compile.make_folder", lambda _: None)

    def play_slowly(x):
        return halve(x) + halve(2 * x)

    with caplog.at_level(logging.INFO, "tarry.compiling"):
        _run(play_slowly, 1.0)
    assert ["compiling play_slowly" in text for text in caplog.messages] == [True] * (patience == 0.0)


@pytest.mark.parametrize(("is_terminal", "is_configured"), [(True, False), (True, True), (False, False)])
def test_compiling_is_told_on_a_terminal_where_no_log_would_show_it(is_terminal, is_configured, monkeypatch):
    written = io.StringIO()
    written.isatty = lambda: is_terminal
    monkeypatch.setattr(pipeline.sys, "stderr", written)
    monkeypatch.setattr(pipeline.logger, "propagate", False)  # pytest has handlers of its own
    monkeypatch.setattr(pipeline.logger, "handlers", [logging.NullHandler()] * is_configured)
    pipeline._tell("compiling it")
    assert written.getvalue() == ("tarry: compiling it\n" if is_terminal and not is_configured else "")


@pytest.mark.jit(only=True)
def test_collection_goes_on_after_an_entry_that_does_not_compile():
    with pytest.raises(Exception, match="no_such_name"):
        _run(lambda x: no_such_name(x), 1.0)  # noqa: F821
    assert gc.isenabled()


def _builder():
    number = ir.DoubleType()
    pair = ir.LiteralStructType([number, number])
    nested = ir.LiteralStructType([pair, number])
    function = ir.Function(ir.Module(), ir.FunctionType(number, [pair, number, nested]), "f")
    return lowering._Builder(function.append_basic_block()), *function.args


def test_parts_of_a_tuple_just_put_together_are_known():
    builder, pair, number, nested = _builder()
    whole = builder.insert_value(builder.insert_value(nested, pair, 0), number, 1)
    assert builder.extract_value(whole, 0) is pair
    assert builder.extract_value(whole, [1]) is number
    assert str(builder.extract_value(whole, [0, 1]).aggregate) == str(pair)
    assert builder.extract_value(builder.insert_value(nested, number, 1), 0).aggregate is nested


def test_a_part_that_was_changed_inside_is_taken_out_as_it_is():
    builder, pair, number, nested = _builder()
    changed = builder.insert_value(builder.insert_value(nested, pair, 0), number, [0, 1])
    assert builder.extract_value(changed, 0).aggregate is changed
    assert builder.extract_value(changed, [0, 1]) is number


@step
def change_sometimes(values, limit):
    kept = values.size
    before = values[0]
    total = 0.0
    for i in range(kept):
        if values[i] > limit:
            large = values[i]
            limit = large + before
        elif values[i] < 0.0:
            break
        total += limit
    return total, kept, limit


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("seed", range(5))
def test_variables_without_a_place_hold_what_python_says(seed):
    values = np.random.default_rng(seed).normal(1.0, 1.0, size=12)
    assert _run(lambda values, limit: change_sometimes(values, limit + 0.0), values, 0.5) == change_sometimes(
        values, 0.5
    )


@step
def add_up(values):
    return values[0] + halve(values[1])


@step
def add_twice(values):
    return add_up(values) + add_up(values)


@pytest.mark.jit(only=True)
def test_a_step_that_only_dropped_code_called_before_is_there_for_others():
    def play(values):
        total = add_twice(values)
        limit = 3
        if limit > values.ndim + 9:  # never: LLVM drops the call, and with it all that it calls
            total += halve_all(values) + add_up(values)
        return total

    assert _run(play, np.arange(2.0)) == 1.0


@pytest.mark.jit(only=True)
def test_a_step_is_compiled_once_whoever_calls_it(monkeypatch):
    monkeypatch.setattr("tarry.kernel.compile.make_folder", lambda _: None)
    compiled, compile_it = [], pipeline.StepCompiler.compile_extra

    def note(compiler, function):
        compiled.append(function.__name__)
        return compile_it(compiler, function)

    monkeypatch.setattr(pipeline.StepCompiler, "compile_extra", note)

    @step
    def below(x):
        return min(x, 2)

    @step
    def above(x):
        return below(x) + min(x, 3)

    assert _run(lambda x: above(x) + below(x) + min(x, 4), 5) == 11
    assert sorted(name for name in compiled if name in ("below", "above")) == ["above", "below"]


@step
def weigh(values, table, column):
    total = 0.0
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            total += table[i, j] * values[j] * column[i]
    return total + values.size + table.size + table.strides[0] + values.itemsize


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_arrays_of_any_layout_reach_steps_whole(order):
    table = np.arange(24.0).reshape(4, 6)
    laid = {"C": table[:2].copy(), "F": np.asfortranarray(table[:2]), "A": table[::2, :]}[order]
    column = table[0, ::2][:2]  # strided
    assert _run(lambda *them: weigh(*them), table[1], laid, column) == weigh(table[1], laid, column)
    readonly = table[1].copy()
    readonly.flags.writeable = False
    assert _run(lambda *them: weigh(*them), readonly, laid, column) == weigh(readonly, laid, column)
