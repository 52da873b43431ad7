"""Labels: another one for another thing, and the same for the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tarry.experiments.columns import told_apart

LABELS = st.sampled_from(["a", "b", "a #2", "a #3", "a #2 #2"])


@given(st.lists(st.tuples(LABELS, st.integers(0, 3)), max_size=12))
def test_labels_and_things_go_together(pairs):
    told = told_apart([label for label, _ in pairs], [thing for _, thing in pairs])
    assert len(set(told)) == len(set(pairs)) == len(set(zip(told, pairs, strict=True)))
    assert all(name.startswith(label) for name, (label, _) in zip(told, pairs, strict=True))
    if len({label for label, _ in pairs}) == len(set(pairs)):
        assert told == [label for label, _ in pairs]
    assert told_apart(told, [thing for _, thing in pairs]) == told


def test_what_has_no_label_has_none():
    assert told_apart([None, "a", None], [1, 1, 2]) == [None, "a", None]
