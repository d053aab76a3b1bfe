"""Many texts read at once, beside what the functions over strings find in each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxassembly.text import query_terms
from ctxassembly.text.query_terms import BYTE_FOR_MARK, QueryTerms, TextIndex, concat_numbers, index_texts
from ctxassembly.text.words import prefixes
from stopwatch import grows_less

ROOT = Path(__file__).parents[3]
FILES = sorted(
    file
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "shared/ctxassembly/wording/**/*.py",
        "tests/engine/**/*.py",
        "notebooks/**/*.md",
    )
    for file in ROOT.glob(pattern)
)
"""Prose, tables, lists and code, and in the tests of languages every script that is read."""
CUT = 1_400
"""Characters of a chunk, cut anywhere."""


def chunks(file: Path) -> list[str]:
    text = file.read_text("utf-8")
    return [text[at : at + CUT] for at in range(0, len(text), CUT)]


def sentences(one: TextIndex) -> list[tuple[int, bool]]:
    """Where each but the first begins, and whether a section does."""
    return [(code >> 1, code & 1 > 0) for code in concat_numbers([one.sentences], np.uint32).tolist()]


def words(text: str, one: TextIndex) -> list[tuple[str, int]]:
    """The stems of `text` that are found in its reading, and where."""
    sought = QueryTerms(" ".join(prefixes(text)))
    at = concat_numbers([one.word_starts], np.uint32).tolist()
    word, number = (each.tolist() for each in sought.find_occurrences(concat_numbers([one.keys], np.uint64)))
    return [(sought.terms[stem], at[place]) for stem, place in zip(word, number, strict=True)]


def differs(text: str, one: TextIndex) -> bool:
    by_itself = one_by_one(text)
    return (sentences(one), words(text, one)) != (sentences(by_itself), words(text, by_itself))


def one_by_one(text: str) -> TextIndex:
    return query_terms._index_string(text)


def test_the_files_are_there():
    texts = [text for file in FILES for text in chunks(file)]
    assert len(texts) > 500
    assert sum(not text.isascii() for text in texts) > 100


@pytest.mark.parametrize("folder", sorted({file.parent for file in FILES}), ids=lambda folder: folder.name)
def test_together_they_are_read_as_one_by_one(folder: Path):
    texts = [text for file in FILES if file.parent == folder for text in chunks(file)]
    differ = [
        text
        for text, together in zip(texts, index_texts(texts), strict=True)
        if differs(text, together) and not set("¼½¾") & set(text)  # "6½" is 6, not 61 and 2
    ]
    assert differ == []


FULL = "so many words that the line is full, and\n"
PARTS = ["One. ", "a", "Mr. ", "1. ", "\n", "\n\n\n", "# ", "| x. y |", FULL]
PARTS += ["und so ist es “gut”. ", "Straße", "µ", "\u2003", "…", "\0", "\x85", "日本語。", "ﬁ", "e\u0301", "?!) ", "  "]


@given(st.lists(st.lists(st.sampled_from(PARTS), max_size=12).map("".join), max_size=4))
@example([f"{FULL}\u2003a  "])  # any blanks may indent the next line
@example([f"{FULL}{'a' * 20} b"])
def test_what_stands_beside_a_text_says_nothing_of_it(texts: list[str]):
    for text, together in zip(texts, index_texts(texts), strict=True):
        assert not differs(text, together)
        assert together.is_ended == one_by_one(text).is_ended


def test_each_word_is_found_by_its_stem():
    for text in ("Fußball 12,5 Ärzte_x", "Ａ ﬁnal ΣΊΣΥΦΟΣ İstanbul", "三天内 a", "ßß 5 µm, ß", "a  a"):
        assert [stem for stem, _ in words(text, index_texts([text])[0])] == prefixes(text)


def test_a_section_begins_at_a_heading_or_after_two_blank_lines():
    (found,) = index_texts(["One.\n# Two\nThree.\n\nFour.\n\n\nFive.\n#six\n####### seven\n"])
    assert [is_head for _, is_head in sentences(found)] == [True, False, False, True, False, False]


def test_marks_are_none_of_latin_and_part_of_no_word():
    assert all(ord(mark) > 0xFF and not prefixes(mark) for mark in BYTE_FOR_MARK)


def test_nothing_is_read_of_nothing():
    assert index_texts([]) == []
    assert sentences(index_texts([""])[0]) == []
    assert words("a", index_texts([""])[0]) == []


def test_it_takes_about_two_bytes_a_character():
    texts = [text for text in chunks(ROOT / "CONTRIBUTING.md") if len(text) == CUT]
    assert all(1.25 <= one.nbytes / CUT <= 2.5 for one in index_texts(texts))


@pytest.mark.parametrize("part", [". ", "a. ", "\n", ")", ") ", "1. ", f"{'x' * 39},\nA ", "| a. ", "# ", " ", "“. "])
def test_hostile_texts_take_linear_time(part: str):
    assert grows_less(lambda size: lambda: index_texts([part * (size // len(part))]), 20_000, 160_000, 24)
