"""Where chunks without an index stand, and which of them lie in each other."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from builders import candidate_of, decision, hits_of, numbered, split, standing
from ctxassembly import AssemblyConfig, Chunk, assemble
from ctxassembly.assembly.adjacency.positions import (
    CHAIN_GAP,
    KnownComplete,
    chunk_positions,
    find_containers,
    page_key,
)
from ctxassembly.data.chunks import ChunkOrigin
from stopwatch import grows_less

TEXT = numbered("w", 400)
PLAIN = split("D", TEXT, size=200, overlap=40, indexed=False)


def paged(page: int, chunk: Chunk, **more: object) -> Chunk:
    return replace(chunk, id=f"{page}/{chunk.id}", origin=ChunkOrigin((("page", page),), **more))  # type: ignore[arg-type]


def steps(chunks: list[Chunk], answered: KnownComplete = KnownComplete()) -> list[int]:  # noqa: B008
    """From each chunk to the next one, in their order."""
    placed = sorted(chunk_positions(chunks, page_keys=("page_label", "page"), complete=answered).values())
    return [after - before for before, after in pairwise(placed)]


@pytest.mark.parametrize(
    ("rule", "chunks", "expected"),
    [
        ("what overlaps is adjacent", PLAIN[3:6], [1, 1]),
        ("in whatever order it comes", PLAIN[5:2:-1], [1, 1]),
        ("what is far apart is not", [PLAIN[0], PLAIN[7]], [CHAIN_GAP]),
        ("white space that a splitter strips is no gap", [PLAIN[0], replace(PLAIN[1], start=215)], [1]),
        ("more is one", [PLAIN[0], replace(PLAIN[1], start=225)], [CHAIN_GAP]),
        ("an overlap that the text doesn't bear out is none", [PLAIN[0], replace(PLAIN[9], start=100)], [CHAIN_GAP]),
        ("nobody knows where a chunk without an offset stands", [PLAIN[0], replace(PLAIN[1], start=None)], [CHAIN_GAP]),
        ("on another page nothing adjoins", [paged(1, PLAIN[0]), paged(2, replace(PLAIN[1], start=200))], [CHAIN_GAP]),
        ("a chunk inside another one has its place", [PLAIN[0], replace(PLAIN[0], id="in", text=TEXT[:50])], [0]),
    ],
)
def test_adjacent_is_what_offsets_prove(rule: str, chunks: list[Chunk], expected: list[int]):
    assert steps(chunks) == expected


def test_pages_come_by_their_numbers_not_by_their_labels():
    first, second = (
        replace(PLAIN[0], id=name, origin=ChunkOrigin((("page", page), ("page_label", label))))
        for name, page, label in (("front", 2, "iii"), ("main", 3, "1"))
    )
    assert page_key([first, second], ("page_label", "page")) == "page"
    placed = chunk_positions([second, first], page_keys=("page_label", "page"))
    assert placed["front"] < placed["main"]


@pytest.mark.parametrize(
    ("rule", "first", "second", "answered", "adjacent"),
    [
        ("nobody knows", {}, {}, KnownComplete(), False),
        ("the store gave both pages whole", {}, {}, KnownComplete(documents={"D"}), True),
        ("the store gave what is beside the first", {}, {}, KnownComplete(chunks={"3/D6"}, window=1), True),
        ("the store gave what is beside the second", {}, {}, KnownComplete(chunks={"4/D0"}, window=1), True),
        ("it begins later on its page", {}, {"start": 300}, KnownComplete(documents={"D"}), False),
        ("a page is between", {}, {"page": 5}, KnownComplete(documents={"D"}), False),
    ],
)
def test_a_page_goes_on_where_nothing_is_known_to_be_between(
    rule: str, first: dict, second: dict, answered: KnownComplete, adjacent: bool
):
    one = paged(3, PLAIN[6])
    two = paged(second.get("page", 4), replace(PLAIN[0], start=second.get("start", 0)))
    assert steps([two, one], answered) == [1 if adjacent else CHAIN_GAP]


def test_what_lies_in_a_larger_chunk_is_dropped_and_traced():
    whole = split("D", TEXT, size=len(TEXT), indexed=False)[0]
    inner = replace(PLAIN[3], id="inner")
    context = assemble(hits_of([inner, whole], 0.9, 0.2), AssemblyConfig(dedup="none"))
    assert standing(context) == [whole.id]
    assert decision(context, "inner").outcome == decision(context, "inner").reason == "contained"
    assert decision(context, "inner").because_of == whole.id
    assert context.citations[0].score == 0.9


def test_what_is_only_said_to_lie_in_a_larger_chunk_stays():
    whole = split("D", TEXT, size=len(TEXT), indexed=False)[0]
    other = replace(PLAIN[3], id="other", text=PLAIN[3].text.upper())
    candidates = [candidate_of(chunk, rank) for rank, chunk in enumerate((other, whole))]
    assert find_containers(candidates) == {}


def test_chunks_with_an_index_are_left_to_it():
    whole, inner = split("D", TEXT, size=len(TEXT))[0], replace(PLAIN[3], index=1)
    assert find_containers([candidate_of(inner, 0), candidate_of(whole, 1)]) == {}


def test_thousands_of_blank_chunks_of_a_document_take_no_longer_than_they_are_many():
    def prepared(number: int):
        chunks = [Chunk(str(index), "D", "text", index) for index in range(0, number, 2)]
        return lambda: chunk_positions(chunks, empty_indexes=set(range(1, number, 2)))

    assert prepared(10)() == {str(index): index // 2 for index in range(0, 10, 2)}
    assert grows_less(prepared, 2_000, 16_000, 24)
