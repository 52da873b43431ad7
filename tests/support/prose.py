"""Measure how readable the pages are: `python tests/support/prose.py [--at COMMIT] [--worst N] [pages]`.

For each page: sentences, words a sentence, sentences over 25 words, and Flesch's reading ease (206.835 − 1.015·words a
sentence − 84.6·syllables a word; 60 is plain English, 30 a paper). Code, tables, formulas and headings are left out.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
LONG = 25  # words
CHANGELOG = "CHANGELOG.md"  # read where it is named: a list of short notes is no page
GENERATED = (
    "docs/reference/commands.md",
    "docs/reference/http.md",
    "docs/reference/settings.md",
    "docs/reference/errors.md",
)
# What we do not write, and what we write instead. Patterns are matched in prose alone, without regard to case.
AVOIDED = {
    r"whoever": "name the person or the program",
    r"whomever|whom\b": "name the person or the program",
    r"nobody|somebody": "say what is not done, or by which part",
    r"is (?:asked|told|heard) of\b": "say who reads or writes what",
    r"hears? (?:of|nothing|all|everything|half)": "sees, receives",
    r"unheard|was heard|are heard|is heard|not heard": "seen, not seen",
    r"one waits for": "say when it runs",
    r"what is left is": "say what remains",
    r"no news is news": "no answer counts as one",
    r"by and by": "gradually",
    r"as long as they like|as you like it": "at any time",
    r"besides\b(?! the)": "also, in addition",
    r"thereof|therein|whereby|herein": "of it, in it",
    r"utili[sz]e": "use",
    r"in order to": "to",
    r"leverag": "use",
    r"seamless|powerful|blazing|effortless": "a number",
}


class Page(NamedTuple):
    """A page's measures."""

    name: str
    sentences: tuple[str, ...]
    words: int
    syllables: int

    @property
    def long(self) -> list[str]:
        return [sentence for sentence in self.sentences if len(words_of(sentence)) > LONG]

    @property
    def ease(self) -> float:
        """Flesch's reading ease."""
        return 206.835 - 1.015 * self.words / len(self.sentences) - 84.6 * self.syllables / self.words


def words_of(text: str) -> list[str]:
    return re.findall(r"[A-Za-z][A-Za-z'’-]*", text)


def syllables_of(word: str) -> int:
    """Count groups of vowels, without a silent e at the end; at least one."""
    bare = re.sub(r"[^a-z]", "", word.lower())
    groups = len(re.findall(r"[aeiouy]+", bare))
    silent = bare.endswith("e") and not bare.endswith(("le", "ee")) and groups > 1
    return max(1, groups - silent)


def prose_of(text: str, *, is_script: bool = False) -> str:
    """Return the prose of a page (or of a tutorial's comments), with paragraphs and list items apart."""
    if is_script:
        head = re.match(r'"""(.*?)"""', text, re.S)
        notes = [line[2:] if line.startswith("# ") else "" for line in text.splitlines() if not line.startswith("# %%")]
        text = (head[1] if head else "") + "\n\n" + "\n".join(notes)
        text = re.sub(r"^(.+)\n[-=]{3,}$", "", text, flags=re.M)
        text = re.sub(r"^(?:\.\. | {3,}).*$", "", text, flags=re.M)
        text = re.sub(r":doc:`([^`]*)`", r"\1", text)
    text = re.sub(r"^(```|~~~|:::).*?^\1.*?$", "", text, flags=re.S | re.M)
    text = re.sub(r"`+[^`]+`+", "code", text)
    text = re.sub(r"\$\$.*?\$\$", "", text, flags=re.S)
    text = re.sub(r"<!--.*?-->|</?[a-z][^<>]*>", "", text, flags=re.S | re.I)  # tags, and no inequalities
    lines = []
    for line in text.splitlines():
        if line.startswith(("|", "#", "    ", "\t")):  # tables, headings, formulas
            lines.append("")
        elif re.match(r"\s*(?:[*-]|\d+\.) ", line):
            lines += ["", re.sub(r"^\s*(?:[*-]|\d+\.) ", "", line)]
        else:
            lines.append(line)
    text = "\n".join(lines)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)  # links
    text = re.sub(r"\$[^$\n]+\$", "x", text)
    return re.sub(r"[*_]{1,2}", "", text)


def sentences_of(prose: str) -> list[str]:
    """Return the sentences with at least three words."""
    found = []
    for paragraph in re.split(r"\n\s*\n", prose):
        flat = " ".join(paragraph.split())
        flat = re.sub(r"\b(e\.g|i\.e|et al|cf|vs|s\.d|s\.e|Comm|Eq|no)\.", r"\1", flat)
        found += [
            part
            for part in re.split(r"(?<=[.!?:;])\s+(?=[A-Z“\"(0-9−-]|$)|(?<=[.!?])\s+", flat)
            if len(words_of(part)) > 2
        ]
    return found


def measure(name: str, text: str) -> Page | None:
    sentences = sentences_of(prose_of(text, is_script=name.endswith(".py")))
    words = [word for sentence in sentences for word in words_of(sentence)]
    return Page(name, tuple(sentences), len(words), sum(map(syllables_of, words))) if words else None


def read_pages(commit: str | None = None, with_changelog: bool = False) -> dict[str, str]:
    """Return all prose that readers are given, by path: as it lies here, or as of a commit."""
    first = ["README.md", "CONTRIBUTING.md", *[CHANGELOG] * with_changelog]
    if commit is None:
        places = [*(ROOT / name for name in first), *(ROOT / "docs").rglob("*.md")]
        places += (ROOT / "examples" / "tutorials").glob("*.py")
        names = sorted(path.relative_to(ROOT).as_posix() for path in places)
        return {
            name: (ROOT / name).read_text(encoding="utf-8")
            for name in names
            if name not in GENERATED and not name.startswith("docs/gallery/")
        }
    listed = _git("ls-tree", "-r", "--name-only", commit, *first, "docs", "examples/tutorials")
    names = [name for name in listed.split() if name.endswith((".md", "tutorials.py")) or "/tutorials/" in name]
    return {name: _git("show", f"{commit}:{name}") for name in names}


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def whole(pages: list[Page]) -> Page:
    """Return all pages as one."""
    sentences = tuple(sentence for page in pages for sentence in page.sentences)
    return Page("all", sentences, sum(page.words for page in pages), sum(page.syllables for page in pages))


def avoided_in(text: str, *, is_script: bool = False) -> list[str]:
    """Return the avoided words of a page, each with its sentence and the remedy."""
    sentences = sentences_of(prose_of(text, is_script=is_script))
    return [
        f"{found[0]!r} ({instead}): {sentence}"
        for pattern, instead in AVOIDED.items()
        for sentence in sentences
        if (found := re.search(rf"\b(?:{pattern})", sentence, re.I))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help=f"parts of paths (default: all), or {CHANGELOG}")
    parser.add_argument("--at", help="a commit instead of the files here")
    parser.add_argument(
        "--worst",
        type=int,
        default=0,
        help=f"list so many sentences of each page, the longest, of those over {LONG} words",
    )
    parser.add_argument("--avoided", action="store_true", help="list avoided words")
    given = parser.parse_args()
    texts = {
        name: text
        for name, text in read_pages(given.at, CHANGELOG in given.pages).items()
        if not given.pages or any(p in name for p in given.pages)
    }
    pages = [page for name, text in texts.items() if (page := measure(name, text))]
    for part in given.pages:
        if not any(part in page.name for page in pages):
            parser.error(f"no page with prose has {part!r} in its path; without an argument, all pages are listed")
    sys.stdout.write(f"{'page':44} {'words':>7} {'sentences':>9} {'a sentence':>10} {'over 25':>7} {'ease':>6}\n")
    for page in [*pages, whole(pages)]:
        mean = page.words / len(page.sentences)
        sys.stdout.write(
            f"{page.name:44} {page.words:7} {len(page.sentences):9} {mean:10.1f} {len(page.long):7} {page.ease:6.1f}\n"
        )
        if given.worst and page.name != "all":
            for sentence in sorted(page.long, key=lambda one: -len(words_of(one)))[: given.worst]:
                sys.stdout.write(f"    {len(words_of(sentence))}: {sentence}\n")
        if given.avoided and page.name != "all":
            for told in avoided_in(texts[page.name], is_script=page.name.endswith(".py")):
                sys.stdout.write(f"    ! {told}\n")


if __name__ == "__main__":
    main()
