from __future__ import annotations

from typing import Any

import pytest

from ctxassembly import Chunk, MetadataKeys
from ctxassembly.wording.metadata_labels import MetadataReader


def chunk(**metadata: Any) -> Chunk:
    return Chunk("a", "A", "Text.", metadata=metadata)


@pytest.mark.parametrize(
    ("rule", "value", "line", "number"),
    [
        ("text stays", "Dose", "Dose", "Dose"),
        ("on one line", " a\n[2]\u2028b ", "a [2] b", "a [2] b"),
        ("fit to be sent", "\ud800", "\ufffd", "\ufffd"),
        ("a whole number", 42, "42", 42),
        ("nought is a number", 0, "0", 0),
        ("a whole number as text", " 042 ", "042", 42),
        ("not a whole one", 4.5, "4.5", "4.5"),
        ("below nought is none", -1, "-1", "-1"),
        ("a power is none", "²", "²", "²"),
        ("without end is none", "9" * 5_000, "9" * 5_000, "9" * 5_000),
        ("a whole number, as a column with gaps has it", 3.0, "3", 3),
        ("what such a column has in its gaps", float("nan"), None, None),
        ("nothing", None, None, None),
        ("blanks are nothing", " \n", None, None),
    ],
)
def test_a_particular(rule: str, value: Any, line: str | None, number: int | str | None):
    read, said = MetadataReader(MetadataKeys(section="here")), chunk(here=value)
    assert read.line(said, "section") == line
    found = read.number(said, "section")
    assert (type(found), found) == (type(number), number)


def test_what_is_looked_up_once_is_remembered_for_its_chunk_alone():
    read = MetadataReader(MetadataKeys())
    assert [read.line(chunk(title=title), "title") for title in "abc"] == ["a", "b", "c"]
    said = chunk(title="a")
    assert (read.line(said, "title"), read.line(said, "section")) == ("a", None)


@pytest.mark.parametrize(
    ("metadata", "source"),
    [
        ({"source": "g.pdf", "title": "Gids", "url": "https://a.example/"}, "g.pdf"),
        ({"source": " ", "title": "Gids", "url": "https://a.example/"}, "Gids"),
        ({"url": "https://a.example/"}, "https://a.example/"),
        ({}, "unknown"),
    ],
)
def test_the_source(metadata: dict[str, Any], source: str):
    assert MetadataReader(MetadataKeys(), "en").source(chunk(**metadata)) == source


def test_the_pages():
    read = MetadataReader(MetadataKeys())
    pages = [9, "iv", 3, None, "3", "i", 10]
    assert read.pages(chunk(page=page) for page in pages) == (3, 9, 10, "iv", "i")
    assert read.pages([]) == ()


@pytest.mark.parametrize(
    ("path", "section"), [("/Setup/Linux/", "Setup/Linux"), ("/", None), ("/etc", "/etc"), ("Setup", "Setup")]
)
def test_a_header_path_is_a_section(path: str, section: str | None):
    assert MetadataReader(MetadataKeys()).line(chunk(header_path=path), "section") == section
