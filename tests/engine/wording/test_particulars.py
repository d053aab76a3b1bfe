"""What a citation says of its place, as it reads the metadata."""

from __future__ import annotations

from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, Citation, Hit, MetadataKeys, assemble


def cited(keys: MetadataKeys | None = None, **metadata: Any) -> Citation:
    config = AssemblyConfig(keys=keys or MetadataKeys())
    (citation,) = assemble([Hit(Chunk("a", "A", "Text.", metadata=metadata))], config).citations
    return citation


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
    found = cited(MetadataKeys(section="here", row_number="here"), here=value)
    assert found.section == line
    assert (type(found.row), found.row) == (type(number), number)


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
    assert cited(**metadata).source == source


def test_the_pages():
    pages = [9, "iv", 3, None, "3", "i", 10]
    hits = [Hit(Chunk(str(n), "A", f"Text {n}.", n, metadata={"page": page})) for n, page in enumerate(pages)]
    (citation,) = assemble(hits, AssemblyConfig(cite="document")).citations
    assert citation.pages == (3, 9, 10, "iv", "i")


@pytest.mark.parametrize(
    ("path", "section"), [("/Setup/Linux/", "Setup/Linux"), ("/", None), ("/etc", "/etc"), ("Setup", "Setup")]
)
def test_a_header_path_is_a_section(path: str, section: str | None):
    assert cited(header_path=path).section == section
