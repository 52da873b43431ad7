"""Pages avoid the words that we agreed to avoid, and their sentences stay short."""

from __future__ import annotations

import sys

import pytest
from prose import LONG, avoided_in, main, measure, read_pages, sentences_of, syllables_of, whole, words_of

OURS = read_pages()
# Pages that most readers meet first; others are for reference, and hold formulas.
FIRST = [name for name in OURS if name.startswith(("README", "docs/index", "docs/start", "docs/howto", "examples"))]


@pytest.mark.parametrize("name", sorted(OURS))
def test_page_has_no_avoided_word(name):
    assert avoided_in(OURS[name], is_script=name.endswith(".py")) == []


@pytest.mark.parametrize("name", FIRST)
def test_first_pages_have_hardly_a_long_sentence(name):
    page = measure(name, OURS[name])
    assert len(page.long) <= 2, page.long


def test_few_sentences_are_long():
    pages = [page for name, text in OURS.items() if (page := measure(name, text))]
    every = whole(pages)
    assert len(every.long) < 0.12 * len(every.sentences)
    assert every.ease > 70


def test_a_riddle_is_noticed_and_code_is_not_prose():
    assert len(avoided_in("Whoever asks is answered.\n\nNobody hears the rest of it.")) == 2
    assert avoided_in("```\nnobody\n```\n\nThe code `nobody` is code.") == []
    assert avoided_in("| nobody |\n|---|\n| whoever |") == []


def test_sentences_are_counted_as_by_hand():
    text = (
        "# A heading\n\nOne two three. Four five six: seven?\n\n* An item of a list\n\n```\nnot counted at all\n```\n"
    )
    page = measure("page.md", text)
    assert [len(words_of(one)) for one in page.sentences] == [3, 4, 5]
    assert not page.long
    assert measure("page.md", "word " * (LONG + 1) + ".").long
    assert [syllables_of(word) for word in ("cat", "table", "time", "unbiased", "the")] == [1, 2, 1, 3, 1]
    assert sentences_of("See Smith et al. 2020 for it. Then go on.") == ["See Smith et al 2020 for it.", "Then go on."]


def test_tags_are_no_prose_and_inequalities_are():
    text = "Let 0 < a hold here.\n\nSo that b > 1 holds <b>too</b>.\n\n$$\na < b\n$$\n\nAn end of it.\n"
    assert [len(words_of(one)) for one in measure("page.md", text).sentences] == [4, 5, 4]


def test_the_command_reads_the_changelog_where_it_is_named_and_refuses_what_is_no_page(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["prose.py", "CHANGELOG.md"])
    main()
    assert capsys.readouterr().out.count("CHANGELOG.md") == 1
    assert "CHANGELOG.md" not in OURS
    for unknown in ("nowhere.md", "docs/contributing.md"):  # the second only includes another page
        monkeypatch.setattr(sys, "argv", ["prose.py", "README.md", unknown])
        with pytest.raises(SystemExit):
            main()
        assert f"no page with prose has {unknown!r} in its path" in capsys.readouterr().err
