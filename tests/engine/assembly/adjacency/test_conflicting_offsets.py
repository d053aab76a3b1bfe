"""Offsets that can't all count in one text: records of one file, each split by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from builders import hits_of, numbered, split
from ctxassembly import AssemblyConfig, Chunk, MemoryStore, MetadataKeys, assemble
from ctxassembly.assembly.adjacency.conflicting_offsets import drop_conflicting_offsets
from stopwatch import grows_less

UNFILTERED = AssemblyConfig(neighbors="unfiltered")
TEXTS = [numbered(letter, 30) for letter in "abcd"]


def records(*, indexed: bool, overlap: int = 0, metadata: Callable[[int], dict] = lambda _: {}) -> list[Chunk]:
    """The chunks of four records of one file; each record's offsets begin at 0."""
    pieces = [
        replace(chunk, id=f"{number}.{chunk.id}", metadata=metadata(number))
        for number, text in enumerate(TEXTS)
        for chunk in split("staff.json", text, size=50, overlap=overlap, indexed=False)
    ]
    return [replace(chunk, index=at if indexed else None) for at, chunk in enumerate(pieces)]


def conflicts(*chunks: Chunk) -> bool:
    return bool(drop_conflicting_offsets(chunks, MetadataKeys())[1])


def test_records_without_an_index_are_not_joined_or_sorted_by_offsets():
    chunks = records(indexed=False)
    hits = [chunks[at] for at in (0, 4, 6, 11, 3)]  # the second one of record b seems to go on where record a ends
    context = assemble(hits_of(hits), UNFILTERED, store=MemoryStore(chunks))
    assert context.text.split("\n", 1)[1].split("\n[...]\n") == [chunk.text.strip() for chunk in hits]
    assert [source.start for source in context.provenance] == [None] * 5
    (note,) = [note for note in context.trace.notes if "offsets" in note]
    assert "'staff.json'" in note
    assert note.count(" at 0") == 2


@pytest.mark.parametrize("overlap", [0, 8])
def test_records_with_an_index_are_read_by_it_and_touch_no_other_record(overlap: int):
    chunks = records(indexed=True, overlap=overlap)
    context = assemble(hits_of(chunks), UNFILTERED)
    assert context.text.split("\n", 1)[1] == "\n".join(TEXTS)
    assert {source.start for source in context.provenance} == {None}
    assert any("contradict" in note for note in context.trace.notes)
    first, middle_of_another = chunks[0], next(chunk for chunk in chunks[6:] if chunk.start == 50 - overlap)
    apart = assemble(hits_of([first, middle_of_another, chunks[-3]]), UNFILTERED)
    assert apart.text.count("[...]") == 2


@pytest.mark.parametrize("indexed", [True, False])
def test_rows_that_the_metadata_name_need_no_note_with_an_index(indexed: bool):
    chunks = records(indexed=indexed, metadata=lambda number: {"row": number})
    _, notes = drop_conflicting_offsets(chunks, MetadataKeys())
    assert bool(notes) is not indexed  # without one, the adapters read the row; these chunks were made by hand


def test_other_documents_keep_their_offsets():
    other = split("letter.txt", numbered("w", 40), size=80, overlap=10, indexed=False)
    chunks, _ = drop_conflicting_offsets([*records(indexed=False), *other], MetadataKeys())
    assert [*chunks[-len(other) :]] == other


FIRST = Chunk("a", "D", numbered("v", 20), start=0)


@pytest.mark.parametrize(
    ("rule", "second"),
    [
        ("another text far behind", replace(FIRST, id="b", text=numbered("w", 20), start=500)),
        ("another document", Chunk("b", "E", numbered("w", 20), start=0)),
        ("the same text twice", replace(FIRST, id="b")),
        ("a part of it", replace(FIRST, id="b", text=FIRST.text[10:60], start=10)),
        ("a part of it at an offset that is a little wrong", replace(FIRST, id="b", text=FIRST.text[10:60], start=14)),
        ("a longer one that begins as it does", replace(FIRST, id="b", text=FIRST.text + numbered("w", 20))),
        ("an overlap that a tool put words before", replace(FIRST, id="b", text="About v. " + FIRST.text, start=70)),
        ("no offset", replace(FIRST, id="b", text=numbered("w", 20), start=None)),
    ],
)
def test_no_conflict(rule: str, second: Chunk):
    assert not conflicts(FIRST, second)
    assert drop_conflicting_offsets((FIRST, second), MetadataKeys())[0] == (FIRST, second)


def test_two_texts_at_one_place_conflict_in_either_order():
    other = replace(FIRST, id="b", text=numbered("w", 30))
    assert conflicts(FIRST, other)
    assert conflicts(other, FIRST)


def test_time_is_linear_in_the_number_of_chunks():
    def prepared(number: int) -> Callable[[], object]:
        chunks = [Chunk(str(at), "D", f"{at}: " + "a" * 200, index=at, start=0) for at in range(number)]
        return lambda: drop_conflicting_offsets(chunks, MetadataKeys())

    assert grows_less(prepared, 500, 4_000, 24)
