"""The table of rounds a second in several threads."""

from __future__ import annotations

import pytest

from studies.numbers import read_numbers

threads = pytest.importorskip("benchmarks.threads")
c_loop = pytest.importorskip("benchmarks.c_loop")


@pytest.mark.skipif(c_loop.compiler() is None, reason="there is no C compiler")
def test_the_table_has_the_c_loop_beside_ours(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("studies.numbers.NUMBERS", tmp_path / "figures.json")
    monkeypatch.setattr(threads, "core_count", lambda: 2)
    monkeypatch.setattr(threads, "TURNS", 1)
    threads.table(50, 4, write=True)
    kept = read_numbers()["threads of 4 seeds"]
    assert kept["command"] == "python -m benchmarks.threads 50 4 --write"
    assert list(kept["values"]) == ["bernoulli", "bernoulli in C", "varopt", "varopt in C"]
    assert all(values.keys() == {"1 threads", "2 threads"} for values in kept["values"].values())
    assert all(values["1 threads"]["times"] == 1.0 for values in kept["values"].values())
    assert len(capsys.readouterr().out.splitlines()) == 1 + 4 * 2
