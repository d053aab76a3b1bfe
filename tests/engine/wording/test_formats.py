"""What a header shows of the metadata of its chunks, and a citation with it."""

from __future__ import annotations

from typing import Any

import pytest

from builders import count, hits_of
from ctxassembly import AssemblyConfig, Chunk, Citation, Context, Heading, Hit, MetadataKeys, assemble
from ctxassembly.errors import ConfigError


def chunk(text: str = "Text.", n: int = 0, document_id: str = "A", **metadata: Any) -> Chunk:
    return Chunk(f"{document_id}{n}", document_id, text, n, metadata=metadata)


def rendered(*chunks: Chunk, **options: Any) -> Context:
    return assemble(hits_of(chunks), AssemblyConfig(**options))


def cited(keys: MetadataKeys | None = None, **metadata: Any) -> Citation:
    (citation,) = rendered(chunk(**metadata), keys=keys or MetadataKeys()).citations
    return citation


@pytest.mark.parametrize(
    ("rule", "metadata", "header"),
    [
        ("[SOURCE 1] report.pdf § Executive Summary", {"section": "Executive Summary"}, " § Executive Summary"),
        ("a sheet and row", {"sheet": "Sheet1", "row_number": 42}, " § Sheet1 Row 42"),
        ("a sheet alone", {"sheet": "Sheet1"}, " § Sheet1"),
        ("a row alone", {"row_number": 0}, " § Row 0"),
        ("a row as text is the same number", {"row_number": "042"}, " § Row 42"),
        ("the section before sheet and row", {"section": "S", "sheet": "Sheet1", "row_number": 42}, " § S"),
        ("neither: the file alone", {"section": " ", "sheet": None, "page": 3}, ""),
    ],
)
def test_source(rule: str, metadata: dict[str, Any], header: str):
    text = rendered(chunk(source="report.pdf", **metadata), format="source").text
    assert text == f"[SOURCE 1] report.pdf{header}\nText."


def test_section_sheet_and_row_are_those_of_the_best_chunk():
    chunks = chunk("Best.", 7, source="g", section="Late"), chunk("Other.", 1, section="E")
    context = rendered(*chunks, format="source", cite="document")
    assert context.text == "[SOURCE 1] g § Late\nOther.\n[...]\nBest."


@pytest.mark.parametrize("cite", ["document", "passage", "chunk"])
def test_grouped_shows_the_file_and_no_labels(cite: str):
    chunks = [chunk(source="report.pdf", page=3), chunk("Other.", document_id="B", title="B")]
    context = rendered(*chunks, format="grouped", cite=cite)
    assert context.text == "## report.pdf\nText.\n\n## B\nOther."
    assert [citation.label for citation in context.citations] == ["1", "2"]


def test_a_function_gets_the_heading_and_its_lines_stand_around_the_text():
    seen: list[Heading] = []

    def form(heading: Heading) -> tuple[str, str]:
        seen.append(heading)
        with pytest.raises(TypeError):
            heading.metadata["page"] = 7  # type: ignore[index]
        return f"Document {heading.number}, {heading.metadata['year']}\n", "---"

    particulars = {"source": "r.pdf", "page": 3, "section": "S", "sheet": "T", "row_number": 9, "year": 2024}
    context = assemble([Hit(chunk(**particulars), 0.5)], AssemblyConfig(format=form))
    assert context.text == "Document 1, 2024\nText.\n---"
    assert context.token_count == count(context.text)
    assert context.text[slice(*context.citations[0].span)] == "Text."
    assert seen == [Heading(1, "r.pdf", (3,), "S", "T", "9", 0.5, particulars)]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("", "Text."),
        (" \n H\nI \n\n", "H\nI\nText."),
        (("H", " F\n"), "H\nText.\nF"),
        (("", "F"), "Text.\nF"),
        (("\ud800", "\udfff"), "\ufffd\nText.\n\ufffd"),
        *((wrong, None) for wrong in (None, 7, ("H",), ("H", None), ["H", "F"], b"H")),
    ],
)
def test_what_a_function_may_return(written: Any, text: str | None):
    if text is None:
        with pytest.raises(ConfigError, match=r"^format must be a function that returns a header, or"):
            rendered(chunk(), format=lambda heading: written)
    else:
        assert rendered(chunk(), format=lambda heading: written).text == text


@pytest.mark.parametrize("limit", [10, 20, 40, 8_000])
def test_a_function_that_never_says_the_same_is_counted_exactly(limit: int):
    said: list[str] = []

    def form(heading: Heading) -> str:
        said.append("word " * (len(said) % 7))
        return said[-1]

    long = " ".join(f"w{n}" for n in range(30))
    context = rendered(chunk(long), chunk(long, 1, "B"), format=form, max_tokens=limit)
    assert context.token_count == count(context.text) <= limit


@pytest.mark.parametrize(
    ("form", "headers"),
    [
        ("numbered", ["[1] Source: a file with a long name.pdf, page 3", "[1]", ""]),
        ("source", ["[SOURCE 1] a file with a long name.pdf § Chapter one", "[SOURCE 1]", ""]),
        ("xml", ['<chunk index="1" source="a file with a long name.pdf" page="3">', '<chunk index="1">', ""]),
        ("grouped", ["## a file with a long name.pdf", ""]),
        ("minimal", [""]),
        (lambda heading: f"FILE {heading.source} FILE", ["FILE a file with a long name.pdf FILE", ""]),
    ],
)
def test_a_tiny_budget_takes_summary_then_particulars_then_label(form: Any, headers: list[str]):
    """... then text is cut; the header never grows as the budget shrinks."""
    long = "Eerste zin van de tekst. " + "En dan gaat het nog een hele tijd door. " * 20
    whole = chunk(long, source="a file with a long name.pdf", page=3, section="Chapter one", page_summary="Sum. " * 9)
    seen: list[str] = []
    for limit in range(150, 0, -1):
        context = rendered(whole, format=form, max_tokens=limit)
        assert context.token_count == count(context.text) <= limit
        header = context.text[: context.citations[0].span[0]].strip() if context.text else ""
        header = header.split("\n[Page context")[0]
        if not seen or header != seen[-1]:
            seen.append(header)
    assert [each for each in seen if not each.startswith("[Page")] == headers


@pytest.mark.parametrize(
    ("rule", "value", "line", "number"),
    [
        ("on one line", " a\n[2]\u2028b ", "a [2] b", "a [2] b"),
        ("fit to be sent", "\ud800", "\ufffd", "\ufffd"),
        ("a whole number as text", " 042 ", "042", 42),
        ("not a whole one", 4.5, "4.5", "4.5"),
        ("a power is none", "²", "²", "²"),
        ("a whole number, as a column with gaps has it", 3.0, "3", 3),
        ("what such a column has in its gaps", float("nan"), None, None),
        ("blanks are nothing", " \n", None, None),
    ],
)
def test_a_particular(rule: str, value: Any, line: str | None, number: int | str | None):
    found = cited(MetadataKeys(section="here", row_number="here"), here=value)
    assert found.section == line
    assert (type(found.row), found.row) == (type(number), number)


@pytest.mark.parametrize(
    ("metadata", "source", "section"),
    [
        ({"source": "g.pdf", "title": "Gids", "url": "https://a.example/"}, "g.pdf", None),
        ({"source": " ", "title": "Gids", "url": "https://a.example/"}, "Gids", None),
        ({"url": "https://a.example/", "header_path": "/Setup/Linux/"}, "https://a.example/", "Setup/Linux"),
        ({"header_path": "/etc"}, "unknown", "/etc"),
        ({"header_path": "/"}, "unknown", None),
    ],
)
def test_the_source_and_a_header_path_as_section(metadata: dict[str, Any], source: str, section: str | None):
    assert (cited(**metadata).source, cited(**metadata).section) == (source, section)
