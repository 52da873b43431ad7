"""The table of rounds a second in several threads."""

from __future__ import annotations

import pytest

from studies.numbers import read_numbers

threads = pytest.importorskip("benchmarks.threads")


def test_the_table_has_each_scheduler_by_threads(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("studies.numbers.NUMBERS", tmp_path / "figures.json")
    monkeypatch.setattr(threads, "core_count", lambda: 2)
    monkeypatch.setattr(threads, "TURNS", 1)
    monkeypatch.setattr("sys.argv", ["threads", "50", "4", "--write"])
    threads.main()
    kept = read_numbers()["threads of 4 seeds"]
    assert kept["command"] == "python -m benchmarks.threads 50 4 --write"
    assert list(kept["values"]) == ["bernoulli", "varopt"]
    assert all(values.keys() == {"1 threads", "2 threads"} for values in kept["values"].values())
    assert all(values["1 threads"]["times"] == 1.0 for values in kept["values"].values())
    assert len(capsys.readouterr().out.splitlines()) == 1 + 2 * 2


def test_a_seeds_own_cost_is_the_median_of_what_turns_say(monkeypatch):
    """The whole and its rounds may be fastest in other turns: their difference then is nobody's."""
    whole, bare = [3.0, 2.0, 10.0], [1.0, 1.5, 2.0]
    monkeypatch.setattr(threads, "interleave", lambda *_, **__: (whole, bare))
    (row,) = (row for row in threads.ROWS if row.name.startswith("seed beyond its rounds"))
    assert row.measure(True).ratio == pytest.approx(1e6 / threads.MANY * 2.0)
