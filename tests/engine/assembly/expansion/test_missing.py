"""What hits or their store lack is one note with its remedy; where they lack nothing, there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, ChunkRef, Context, Hit, MemoryStore, assemble

UNFILTERED = AssemblyConfig(neighbors="unfiltered")


class Answering:
    """Answers with what it is given, or raises it."""

    def __init__(
        self, *answer: Any, holds_filter: bool | None = None, finds_offsets: bool = False, **remedies: str
    ) -> None:
        self.answer, self.holds_filter, self.remedies = answer, holds_filter, remedies
        self.finds_offsets = finds_offsets

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        for each in self.answer:
            if isinstance(each, Exception):
                raise each
        return self.answer


def of(*hits: Chunk, store: Any = None, config: AssemblyConfig = UNFILTERED) -> Context:
    return assemble([Hit(each) for each in hits], config, store=store)


def said(*hits: Chunk, store: Any = None, config: AssemblyConfig = UNFILTERED) -> str | None:
    """What is missing: a note says so. A failure of the store has a note of its own, and none that says it again."""
    trace = of(*hits, store=store, config=config).trace
    failures = [note for note in trace.notes if note.startswith("store: no neighbors (")]
    assert failures or (trace.missing in trace.notes) == (trace.missing is not None)
    assert len(failures) + sum("The store" in note for note in trace.notes) <= 1
    return trace.missing


UNPLACED = Chunk("a", "D", "One text.")
BESIDE = Chunk("b", "D", "Another text.")
PLACED = Chunk("D#4", "D", "Text four.", index=4)
FIRST = Chunk("D#0", "D", "Zero.", index=0)
LINKED = Chunk("l", "D", "Linked.", next_id="m")


@pytest.mark.parametrize(
    ("hits", "store", "start"),
    [
        ([UNPLACED], Answering(), "1 of 1 retrieved chunk has no chunk_"),
        ([UNPLACED], Answering(UNPLACED, BESIDE), "1 of 1 retrieved chunk"),
        ([Chunk("a", "D", "Text.", start=900)], Answering(), "1 of 1 retrieved chunk"),
        ([PLACED], Answering(), "The store has no chunk next to the retrieved ones, but chunk 4 of document "),
        (
            [Chunk("x", "D", "One.", index=1), Chunk("y", "D", "Zero.", index=0)],
            Answering(),
            "The store has no chunk next to the retrieved ones, but chunks 1 and 0 of document 'D' were retrieved,",
        ),
        ([LINKED], Answering(), "The store has no chunk next to the retrieved ones, but chunk 'l' is linked to"),
        ([PLACED], Answering(OSError("down")), "The store failed (OSError: down). The text "),
        ([PLACED], Answering(NotImplementedError("no get")), "The store can't find adjacent chunks (NotImplementedErr"),
    ],
)
def test_what_is_missing_is_said(hits: list[Chunk], store: Any, start: str) -> None:
    assert (said(*hits, store=store) or "").startswith(start)


def test_hits_of_one_document_with_and_without_an_index_come_of_two_retrievers() -> None:
    elsewhere = "other chunks of the same document have an index"
    assert elsewhere in (said(UNPLACED, BESIDE, PLACED) or "")
    assert "2 of 3 retrieved chunks" in (said(UNPLACED, BESIDE, Chunk("E#4", "E", "Text four.", index=4)) or "")
    assert elsewhere not in (said(UNPLACED, BESIDE, Chunk("E#4", "E", "Text four.", index=4)) or "")


@pytest.mark.parametrize(
    ("hits", "store"),
    [
        ([UNPLACED], None),
        ([UNPLACED], Answering(UNPLACED)),  # all that its document has
        ([Chunk("D#0", "D", "Text.", index=0)], Answering()),  # it may be all
        ([FIRST, Chunk("D#1", "D", "One.", index=1)], Answering(FIRST, Chunk("D#1", "D", "One.", index=1))),
        ([], Answering()),
        ([Chunk("a", "D", "Text.", start=0)], Answering(finds_offsets=True)),  # it may be all
        ([Chunk("a", "D", "Text.", metadata={"no_neighbors": True})], Answering()),
        # What stands before D#1 is a copy of E#0: no store is asked for it.
        ([Chunk("E#0", "E", "Same.", 0), Chunk("D#1", "D", "Text.", 1), Chunk("D#0", "D", "Same.", 0)], Answering()),
    ],
)
def test_nothing_is_said_where_nothing_is_known_to_be_missing(hits: list[Chunk], store: Any) -> None:
    assert said(*hits, store=store) is None


def test_where_a_hit_may_be_all_of_its_document_the_trace_says_what_cannot_be_told() -> None:
    """A store that finds the hit itself by its place has no more; of one that finds nothing nobody knows."""
    others = Chunk("E#0", "E", "Zero of E.", index=0)
    context = of(FIRST, others, store=Answering(answer="write this"))
    assert context.trace.missing is None
    (note,) = context.trace.notes
    start = "The store may lack document 'D', since it doesn't find the retrieved chunk 0 of it. "
    assert note.startswith(start)
    assert note.endswith("Fix: write this")
    assert of(FIRST, others, store=MemoryStore([FIRST, others])).trace.notes == ()
    assert of(FIRST, others, store=MemoryStore([others])).trace.notes == ()
    assert of(FIRST, store=Answering(), config=AssemblyConfig(window=0)).trace.notes == ()
    assert all("down" in note for note in of(FIRST, store=Answering(OSError("down"))).trace.notes)


# One failure


class ByKind:
    """Fails for some kinds of references."""

    def __init__(self, chunks: Sequence[Chunk], error: Exception) -> None:
        self.memory, self.error = MemoryStore(chunks), error
        self.asked: list[Sequence[ChunkRef]] = []

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        self.asked.append(refs)
        if any(ref.index is None and ref.chunk_id is None for ref in refs):
            raise self.error
        return self.memory.fetch(refs)


CHUNKS = [Chunk(f"D#{at}", "D", f"Text {at} of it.", index=at) for at in range(4)]


def test_a_kind_of_reference_that_fails_costs_no_other_its_answer() -> None:
    store = ByKind(CHUNKS, ValueError("no search"))
    context = of(CHUNKS[1], Chunk("x", "E", "Alone."), store=store)
    assert context.citations[0].chunk_ids == ("D#0", "D#1", "D#2")
    (noted,) = context.trace.notes
    assert noted == "store: no neighbors (ValueError: no search), what else was asked for came"
    assert str(context.trace.missing).startswith(
        "The store failed (ValueError: no search). The text before and after the retrieved chunks isn't added. Fix: "
    )
    assert context.trace.round_trips == len(store.asked) == 3


# Links without documents


def chain(*names: str) -> list[Chunk]:
    """Linked chunks that name no document."""
    return [
        Chunk(
            name,
            "",
            f"Text of {name}.",
            prev_id=names[at - 1] if at else None,
            next_id=names[at + 1] if at + 1 < len(names) else None,
        )
        for at, name in enumerate(names)
    ]


class ById:
    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = {chunk.id: chunk for chunk in chunks}

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        return [self.chunks[ref.chunk_id] for ref in refs if ref.chunk_id in self.chunks]


@pytest.mark.parametrize("others", [(0, 2), (0, 1, 2)], ids=["beside it", "in its place"])
@pytest.mark.parametrize("holds_filter", [None, True])
def test_the_store_of_another_collection_gives_no_neighbors(others: Sequence[int], holds_filter: bool | None) -> None:
    store = Answering(
        *(Chunk(f"x{n}", "a", f"Part {n} of another text.", n) for n in others), holds_filter=holds_filter
    )
    context = of(Chunk("a#1", "a", "Rest.", 1), store=store)
    assert context.text == "[1] Source: unknown\nRest."
    (note,) = context.trace.notes
    assert note.startswith("The store doesn't contain 1 of 1 retrieved chunk (first: 'a#1').")


def test_links_alone_make_a_document() -> None:
    chunks = chain(*"abcdefgh")
    for config in (UNFILTERED, AssemblyConfig()):
        context = of(chunks[4], chunks[2], store=ById(chunks), config=config)
        assert [each.chunk_ids for each in context.citations] == [("b", "c", "d", "e", "f")]
        assert context.citations[0].document_id == "e"
        assert context.trace.missing is None
    assert [each.chunk_ids for each in of(*reversed(chunks[:3])).citations] == [("a", "b", "c")]
