"""What is said of a run follows from its figures."""

from __future__ import annotations

import pytest

from studies.cases import as_slots, flights_case, queue_case
from studies.measure import Scores, Spread
from studies.streams import desk
from studies.tables import figures_table, findings

STREAM = desk(first=150)


def one(policy, progressive, last, believed, *, weighted=True, capacity=4, runs=4):
    spreads = (Spread(value, 0.5 if weighted else 0.0, runs if weighted else 1) for value in (progressive, last))
    return Scores(policy, weighted, capacity, *spreads, *[Spread(believed, 0.1, runs)] * 2, 0.5, 0.0, 288)


def told(varopt, newest):
    """The text for VarOpt's and drop newest's (progressive, last), between others that are worse."""
    truth = STREAM.mean
    return findings(
        STREAM,
        [
            one("unlimited", 0.0, 0.0, truth, capacity=None),
            one("VarOpt", *varopt, truth + 0.1),
            one("Priority", 90.0, 90.0, truth - 0.5),
            one("drop newest", *newest, truth - 1.0, weighted=False),
            one("drop oldest", 99.0, 99.0, truth - 5.0, weighted=False),
        ],
    )


def test_the_winner_is_named_with_its_figures():
    text = told((10.0, 2.0), (30.0, 31.0))
    assert "In this run, 150 decisions and 4 slots, VarOpt (8.1) comes nearest" in text
    assert f"; drop oldest ({STREAM.mean - 5:.1f}) stays farthest off." in text
    assert "VarOpt errs least on the way: 10.0 ± 0.8 %², drop newest 30.0." in text
    assert "VarOpt errs least with its last model: 2.0 ± 0.8 %², drop newest 31.0." in text
    assert text.endswith("the best weighted policy errs less than every unweighted one.")
    assert "variance" not in text


def test_an_unweighted_winner_is_said_to_win_and_why():
    text = told((30.0, 12.0), (10.0, 2.0))
    assert "drop newest errs least on the way: 10.0 %², VarOpt 30.0 ± 0.8." in text
    assert "Both on the way and in the end an unweighted policy errs less" in text
    assert "the variance of few weighted labels can cost a model more than the bias that they avoid" in text


def test_a_way_and_an_end_that_differ():
    text = told((30.0, 2.0), (10.0, 12.0))
    assert "On the way an unweighted policy errs less than every weighted one, in the end the best weighted" in text


def test_what_may_be_chance_is_said_to_be():
    text = told((10.2, 2.2), (10.0, 2.0))
    assert "VarOpt 10.2 ± 0.8, a difference that may be chance." in text
    assert "these runs do not tell the best weighted policy from the best unweighted one." in text


def believed(*beliefs):
    """The text for policies with these beliefs: name, distance from the truth, deviation and whether it is weighted."""
    truth = round(STREAM.mean, 1)
    return findings(
        STREAM,
        [
            one(name, 10.0, 10.0, 0.0, weighted=weighted)._replace(believed=Spread(truth + off, deviation, 24))
            for name, off, deviation, weighted in beliefs
        ],
    )


def test_all_that_chance_does_not_tell_apart_come_nearest():
    truth = round(STREAM.mean, 1)
    text = believed(("A", 0.4, 2.8, True), ("B", -0.3, 3.9, True), ("C", 9.0, 0.1, False), ("D", -5.0, 0.1, False))
    assert (
        f"B ({truth - 0.3:.1f}) and A ({truth + 0.4:.1f}) come nearest to the true mean of {truth} %, with diff" in text
    )
    assert f"may be chance; C ({truth + 9:.1f}) stays farthest off." in text
    assert f"taken to be {(truth - 5) / truth:.2f} to {(truth + 9) / truth:.2f} times what it is." in text


def test_what_is_shown_alike_is_said_alike():
    text = believed(("A", 0.04, 0.0, True), ("B", -0.01, 0.0, True))
    assert "B" in text.split(" come nearest")[0]
    assert "A" in text.split("slots, ")[1].split(" come nearest")[0]
    assert "farthest" not in text
    assert "times what it is" not in text
    assert "no difference as far as shown." in text


def test_nothing_is_said_of_nothing():
    assert findings(STREAM, [one("unlimited", 0.0, 0.0, 1.0, capacity=None)]) == ""


@pytest.mark.slow
def test_stories_say_of_what_they_are_known():
    cases = (flights_case(first=200), flights_case("arrival", first=200), queue_case(first=200))
    departures, arrivals, queue = (case.story for case in cases)
    assert departures != arrivals
    assert "leaves on time tells its label at once" not in arrivals
    for story in (departures, arrivals):
        assert "Known of the whole year" in story
        assert "a first-order learner whose step is tuned in hindsight can do better with drop newest" in story
        assert "on a short stream a few labels of large weight can cost more than the bias" in story
    assert "Known of all 50,000 tickets" in queue


@pytest.mark.slow
def test_slots_are_a_case_s_own_or_at_least_two():
    assert (as_slots(None, 8), as_slots(3, 8), flights_case("arrival", first=200).capacity) == (8, 3, 64)
    for wrong in (0, 1, -3):
        with pytest.raises(ValueError, match=f"slots must be a whole number of at least 2, got {wrong}"):
            flights_case(first=200, capacity=wrong)


def test_a_table_fits_eighty_columns():
    from rich.console import Console

    rows = [one("Bernoulli (calibrated)", 1234.0, 640.0, 11.5), one("drop newest", 44.0, 2.9, 10.5, weighted=False)]
    console = Console(width=80)
    with console.capture() as captured:
        console.print(figures_table(STREAM, rows).rich())
    printed = captured.get()
    assert "…" not in printed
    assert "1,234 ± 1" in printed
    assert "drop newest *" in figures_table(STREAM, rows).html()
