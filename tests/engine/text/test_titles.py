"""Titles of documents: where they are read, and in which texts they are mentioned."""

from __future__ import annotations

from typing import Any

import pytest

from ctxassembly import Chunk, MetadataKeys
from ctxassembly.text.titles import Title, comparable_title, document_title, find_titles, read_title

KEYS = MetadataKeys()


@pytest.mark.parametrize(
    ("text", "metadata", "title"),
    [
        ("Hot.", {"title": "Mercury Probe", "source": "other.pdf"}, " mercury probe "),
        ("# Orbit\n\nHot.", {"title": "Mercury"}, " mercury "),  # metadata before headings
        ("\n## Mercury\n\nHot.", {}, " mercury "),
        ("Mercury\n=======\nHot.", {}, " mercury "),
        ("Mercury is hot.\nIt is small.", {}, ""),  # no heading
        ("Hot.", {"source": r"C:\planets\Mercury_probe-2.final.pdf"}, " mercury probe 2 final "),
        ("Hot.", {"source": "https://example.org/wiki/Mercury_(planet)"}, " mercury "),
        ("Hot.", {"title": 20_240_101}, ""),
    ],
)
def test_a_title_is_read_from_metadata_then_heading_then_file_name(
    text: str, metadata: dict[str, Any], title: str
) -> None:
    assert document_title(Chunk("a", "a", text, 0, metadata=metadata), KEYS) == title


def test_a_heading_is_a_title_only_at_the_beginning_of_a_document() -> None:
    assert document_title(Chunk("a", "a", "# Mercury\n\nHot.", 3), KEYS) == ""


@pytest.mark.parametrize(
    ("title", "text", "is_mentioned"),
    [
        ("Mercury (planet)", "It orbits MERCURY, as others do.", True),
        ("Straße nach Süden", "Die STRASSE NACH SÜDEN ist lang.", True),
        ("水星探测器计划", "这是水星探测器计划的一部分。", True),
        ("Mercury", "Mercurys are fish.", False),  # whole words only
        ("Mercury Probe", "The Mercury has a probe.", False),
        ("Mars", "It went to Mars.", False),  # too short
        ("2024-01-01 12", "on 2024-01-01 12 o'clock", False),  # a number
    ],
)
def test_a_title_is_mentioned_by_its_words_in_a_row(title: str, text: str, *, is_mentioned: bool) -> None:
    assert bool(find_titles(text, [Title(comparable_title(title))])) == is_mentioned


@pytest.mark.parametrize(
    ("name", "text", "is_mentioned"),
    [
        ("integers.txt", "Two integers are added.", False),
        ("Integers.txt", "Two integers are added.", False),
        ("integers.txt", "See Integers, below.", True),
        ("mercury.txt", "MERCURY is a planet.", True),
        ("sha256digest.pdf", "by sha256digest alone", True),
        ("plain_integers.txt", "Two plain integers are added.", True),
        ("정수와분수들.txt", "두 정수와분수들 사이", True),  # a script without capitals
    ],
)
def test_a_file_name_of_one_word_is_not_mentioned_in_lower_case(name: str, text: str, *, is_mentioned: bool) -> None:
    by_name = read_title(Chunk("a", "a", "Hot.", metadata={"source": name}), KEYS)
    assert bool(find_titles(text, [by_name])) == is_mentioned
    titled = read_title(Chunk("a", "a", "Hot.", metadata={"title": name.partition(".")[0].replace("_", " ")}), KEYS)
    assert find_titles(text, [titled])
