"""What `number_chunks` records of a document that a few of its chunks wouldn't show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble, number_chunks

PLAIN = AssemblyConfig(format="minimal", max_tokens=100_000, dedup="none", cite="document")


def of(*texts: str, source: str = "a.md", **metadata: Any) -> list[Chunk]:
    return number_chunks([Chunk("", "", text, metadata={"source": source, **metadata}) for text in texts])


def recorded(chunks: list[Chunk], key: str) -> list[Any]:
    return [chunk.metadata.get(key) for chunk in chunks]


def read(chunks: list[Chunk], config: AssemblyConfig = PLAIN) -> str:
    return assemble([Hit(chunk) for chunk in chunks], config).text


ROWS = [f"2024-03-{day:02d} {day + 9} boxes of gloves" for day in (1, 2, 3, 4, 5, 6, 6, 7, 8, 9)]


@pytest.mark.parametrize("rows", [ROWS, [row.replace("boxes of gloves", "箱手套") for row in ROWS]])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_row_that_is_there_twice_is_read_twice(rows: list[str], size: int) -> None:
    chunks = of(*("\n\n".join(rows[at : at + size]) for at in range(0, len(rows), size)))
    assert set(recorded(chunks, "overlap_chars")) == {0}
    assert read(chunks).split() == " ".join(rows).split()


SENTENCES = [f"In year {year} the weavers of the valley paid {year * 7} bales of wool." for year in range(12)]
CHINESE = [f"第{year}年，山谷里的织工缴纳了{year * 7}包羊毛，没有人知道为什么。" for year in range(12)]


@pytest.mark.parametrize("said", [SENTENCES, CHINESE])
@pytest.mark.parametrize("header", ["Leaflet > Preparing\n\n", "[Leaflet: Preparing]\n", "检查须知 > 准备\n\n"])
@pytest.mark.parametrize("overlap", [0, 1])
def test_a_header_before_each_chunk_is_read_once(said: list[str], header: str, overlap: int) -> None:
    windows = ["".join(said[at : at + 2 + overlap]) for at in range(0, 10, 2)]
    chunks = of(*(header + window for window in windows))
    text = read(chunks)
    assert text.count(header.strip()) == 1
    assert all(text.count(one) == 1 for one in said[: 10 + overlap])
    context = assemble([Hit(chunk) for chunk in chunks], PLAIN)
    by_id = {chunk.id: chunk.text for chunk in chunks}
    for source in context.provenance:
        assert context.text[slice(*source.span)] == by_id[source.chunk_id][slice(*source.chunk_span)]


def test_a_header_is_read_again_where_it_changes_or_the_chunk_before_is_left_out() -> None:
    sections = ("Leaflet > Preparing", "Leaflet > The day itself")
    chunks = of(*(f"{section}\n\n{section} has rule {n}." for section in sections for n in range(3)))
    assert [read(chunks).count(f"{section}\n\n") for section in sections] == [1, 1]
    assert read(chunks[4:]).startswith("Leaflet > The day itself\n\n")


def test_the_version_is_that_of_the_text_however_it_is_cut() -> None:
    whole = " ".join(SENTENCES)
    cuts = [[whole], SENTENCES, [whole[at : at + 100] for at in range(0, len(whole), 100)]]
    versions = {version for cut in cuts for version in recorded(of(*cut), "document_version")}
    assert len(versions) == 1
    assert {*recorded(of(*SENTENCES[1:]), "document_version")}.isdisjoint(versions)
    assert recorded(of(*SENTENCES), "chunk_count") == [12] * 12


def test_nothing_is_said_of_a_document_of_which_chunks_are_missing() -> None:
    numbered = [replace(chunk, metadata={"source": "a.md"}) for chunk in of(*SENTENCES)]
    assert recorded(number_chunks(numbered[2:]), "document_version") == [None] * 10


@pytest.mark.parametrize("count", [1, 500])
def test_what_is_recorded_is_short_and_flat(count: int) -> None:
    head = "| " + " | ".join(f"Column {n}" for n in range(60)) + " |\n" + "|---" * 60 + "|\n"
    row = "| 1 " * 60 + "|"
    path = "\n\n".join(f"{'#' * level} {'Title ' * 12}{level}" for level in range(1, 7))
    chunks = of(f"{path}\n\n{head}{row}", *[f"{row}\n{row}"] * count)
    for chunk in chunks:
        new = {key: value for key, value in chunk.metadata.items() if key != "source"}
        assert all(type(value) in (str, int) for value in new.values())
        assert all(len(value) <= 300 for value in new.values() if isinstance(value, str))
    assert recorded(chunks, "table_head")[1].startswith("| Column 0 | Column 1 |")
