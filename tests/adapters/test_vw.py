"""Lines in Vowpal Wabbit's formats, read back by its grammar (and by itself, where it is installed)."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from latecomers import CAPACITY, Average, assert_weights_matter, events
from marking import slow_but

import tarry
from tarry.adapters.vw import as_json, as_text, lines
from tarry.live import Row


def weighted(features, label, weight):
    """A row whose two weights are equal, as they are after the first."""
    return Row(features, label, weight, relative=weight)


def read_text(line):
    """Label, importance, tag and features of a line: ``[label] [importance] ['tag]|namespace name[:value] …``."""
    head, *spaces = line.split("|")
    words = head.split()
    tag = words.pop()[1:] if words[-1].startswith("'") else ""
    label, importance = words
    features = {}
    for space in spaces:
        name, _, rest = space.partition(" ")
        for word in rest.split():
            feature, _, value = word.partition(":")
            features[name, feature] = float(value) if value else 1.0
    return float(label), float(importance), tag, features


def test_text():
    row = weighted(
        {"age": 41, "new": True, "old": False, "none": 0.0, "user": {"city": "Bern", "visits": 2.5}}, -1.0, 3.25
    )
    assert as_text(row) == "-1 3.25 | age:41 new |user city=Bern visits:2.5"
    assert as_text(row, tag="c7") == "-1 3.25 'c7 | age:41 new |user city=Bern visits:2.5"
    assert as_text(weighted({}, 0, 1.0)) == "0 1 |"


def test_json():
    row = weighted({"age": 41, "none": None, "user": {"city": "Bern", "new": True}}, 0.5, 3.25)
    assert json.loads(as_json(row, tag="c7")) == {
        "_label": {"Label": 0.5, "Weight": 3.25},
        "_tag": "c7",
        "age": 41,
        "user": {"city": "Bern", "new": True},
    }
    assert as_json(row).index('"Label"') < as_json(row).index('"Weight"'), "vw knows a label by its first property"


names = st.text(st.characters(exclude_characters=" :|\n\r\t'", exclude_categories=("Z", "C")), min_size=1)
numbers = st.floats(-1e9, 1e9).filter(bool) | st.integers(1, 10**6)


@given(st.dictionaries(names, numbers, min_size=1), numbers, st.floats(1.0, 1e6), names)
def test_nothing_is_lost_on_the_way(features, label, weight, tag):
    row = weighted(features, label, weight)
    assert read_text(as_text(row, tag)) == (label, weight, tag, {("", name): value for name, value in features.items()})
    if not any(name.startswith("_") for name in features):
        read = json.loads(as_json(row))
        assert read.pop("_label") == {"Label": label, "Weight": weight}
        assert read == features


@pytest.mark.parametrize("form", slow_but([as_text, as_json], {as_text}))
def test_recovers_the_truth_only_with_weights(form):
    def learn(change):
        join, average, ids = tarry.LabelJoin(CAPACITY, rng=1), Average(), {}
        rows = []
        for i, y in events():
            if y is None:
                ids[i] = join.decide({"a": 1.0}).id
            elif (row := join.label(ids[i], y)) is not None:
                rows.append(row)
        for line in lines(rows, form):
            if form is as_json:
                label = json.loads(line)["_label"]
                average.tell(label["Label"], change(label["Weight"]))
            else:
                label, weight, _, _ = read_text(line)
                average.tell(label, change(weight))
        return average.mean

    assert_weights_matter(learn)


def test_rows_of_weight_zero_have_no_line():
    rows = [weighted({"a": 1}, 1, 2.0), weighted({"a": 2}, 1, 0.0)]
    assert list(lines(rows)) == ["1 2 | a:1"]
    with pytest.raises(ValueError, match="a row without weight has no line"):
        as_text(rows[1])


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (
            weighted({"a b": 1}, 1, 1.0),
            "a feature in Vowpal Wabbit's text has no spaces, line breaks, colons or bars, got 'a b'",
        ),
        (weighted({"a": "x:y"}, 1, 1.0), "a value in"),
        (weighted({"a|": {"b": 1}}, 1, 1.0), "a namespace in"),
        (weighted({"a": math.nan}, 1, 1.0), "feature 'a' must be a finite number, got nan"),
        (weighted({"a": [1]}, 1, 1.0), "feature 'a' must be a finite number"),
        (weighted({"a": 1}, "yes", 1.0), "the label must be a finite number, got 'yes'"),
        (weighted({"a": 1}, 1, -1.0), "a row without weight"),
        (weighted([1.0], 1, 1.0), "features must be a mapping"),
        (weighted({"": 1}, 1, 1.0), "a feature in Vowpal Wabbit's text has a name, got ''"),
        (weighted({"a": 1}, 1, "2"), "the weight must be a finite number, got '2'"),
        (None, r"a line is made of a row, as join.label\(…\) gives where a decision is tracked, got None"),
        (({"a": 1}, 1, 1.0), "a line is made of a row"),
    ],
)
def test_sentences(row, words):
    with pytest.raises(ValueError, match=words):
        as_text(row)


def test_json_names_with_an_underscore_are_refused():
    with pytest.raises(ValueError, match="'_a': rename it"):
        as_json(weighted({"_a": 1}, 1, 1.0))
    with pytest.raises(ValueError, match="'_s': rename it"):
        as_json(weighted({"_s": {"a": 1}}, 1, 1.0))


def test_what_a_join_answers_can_be_written_as_it_is():
    join = tarry.LabelJoin(1, rng=1)
    ids = [join.decide({"a": i + 1}).id for i in range(3)]
    written = list(lines(join.label(id, 1) for id in ids))
    assert len(written) == 1
    assert written[0].startswith("1 1 | a:")
    with pytest.raises(ValueError, match="form must be as_text or as_json, got 'json'"):
        lines([], "json")
    with pytest.raises(ValueError, match="a line is made of a row"):
        list(lines([("a", 1, 2.0)]))


def test_the_importance_is_relative_or_unbiased():
    row = Row({"a": 1}, 1, 3.0, relative=0.75)
    assert as_text(row) == "1 0.75 | a:1"
    assert list(lines([row], weights="unbiased")) == [as_text(row, weights="unbiased")] == ["1 3 | a:1"]
    assert json.loads(as_json(row, weights="unbiased"))["_label"]["Weight"] == 3.0
    assert list(lines([row], lambda row: str(row.label))) == ["1"], "a form of one's own takes a row alone"
    for call in (lines, as_text):
        with pytest.raises(ValueError, match=r"weights must be one of 'relative', 'unbiased', got 'raw'"):
            call([] if call is lines else row, weights="raw")


def test_tags_may_be_numbers():
    row = weighted({"a": 1}, 1, 2.0)
    assert as_text(row, tag=0) == "1 2 '0 | a:1"
    assert json.loads(as_json(row, tag=7))["_tag"] == "7"


def test_numpy_numbers():
    row = weighted({"a": np.float64(0.5), "b": np.int64(3)}, np.float64(1.0), np.float64(2.5))
    assert as_text(row) == "1 2.5 | a:0.5 b:3"
    assert json.loads(as_json(row)) == {"_label": {"Label": 1, "Weight": 2.5}, "a": 0.5, "b": 3}


def test_vowpal_wabbit_reads_them():
    vw = pytest.importorskip("vowpalwabbit")
    row = weighted({"age": 41.5, "user": {"city": "Bern"}}, 0.5, 3.25)
    for form, option in ((as_text, ""), (as_json, " --json")):
        workspace = vw.Workspace(f"--quiet{option}")
        examples = workspace.parse(form(row, tag="c7"))
        for example in examples if isinstance(examples, list) else [examples]:
            label = example.get_label(vw.LabelType.SIMPLE)
            assert (label.label, label.weight, example.get_tag()) == (0.5, 3.25, "c7")
            assert example.num_namespaces() == 3  # ours and the constant's
        workspace.finish_example(examples)
        workspace.finish()
