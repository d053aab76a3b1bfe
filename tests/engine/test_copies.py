"""Ids, indexes and hashes that different texts share: each text is in the context, or in the trace with a reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import hits_of, words_of
from ctxassembly import AssemblyConfig, Chunk, MemoryStore, assemble

A = [words_of("A", n) for n in range(6)]


@st.composite
def colliding(draw: st.DrawFn) -> list[Chunk]:
    """Chunks whose ids, documents, indexes, offsets, links and hashes are drawn without regard to their texts."""
    some = st.sampled_from(["0", "1", "2"])
    return [
        Chunk(
            draw(some),
            draw(st.sampled_from(["A", "B", ""])),
            draw(st.sampled_from([f"The {word} is kept by {word}s alone." for word in ("oak", "elm", "fir", "yew")])),
            draw(st.none() | st.integers(0, 2)),
            draw(st.none() | st.integers(0, 60)),
            draw(st.none() | some),
            draw(st.none() | some),
            {"content_hash": draw(some)},
        )
        for _ in range(draw(st.integers(1, 8)))
    ]


@given(
    colliding(),
    colliding(),
    st.sampled_from(["exact", "near", "none"]),
    st.sampled_from(["chunk", "sentence", "passage"]),
    st.sampled_from(["document", "chunk"]),
)
def test_every_text_stands_whatever_else_it_shares(
    chunks: list[Chunk], stored: list[Chunk], dedup: str, granularity: str, cite: str
):
    options = {"dedup": dedup, "granularity": granularity, "cite": cite}
    config = AssemblyConfig(fill=True, **options)  # type: ignore[arg-type]
    context = assemble(hits_of(chunks), config, query="Who keeps the oak?", store=MemoryStore(stored))
    decisions = [each for each in context.trace.decisions if each.distance == 0]
    assert [each.rank for each in decisions] == list(range(len(chunks)))
    for chunk, decision in zip(chunks, decisions, strict=True):
        assert chunk.text in context.text
        assert decision.chunk_id == chunk.id
        assert decision.outcome in ("kept", "duplicate", "contained")
    if dedup == "exact":
        kept = [chunk.text for chunk, each in zip(chunks, decisions, strict=True) if each.outcome == "kept"]
        assert sorted(kept) == sorted({chunk.text for chunk in chunks})
    ids = {chunk.id for chunk in (*chunks, *stored)}
    assert ids >= {each for citation in context.citations for each in citation.chunk_ids}


OLD = Chunk("old", "A", "An older wording of the third chunk, of which little is left.", index=3)


@pytest.mark.parametrize(
    ("hits", "stored", "passages", "place"),
    [
        ([A[2]], [*A, OLD], [["A2"]], "index 3"),  # two versions in the store: no neighbors
        ([A[2], A[3], OLD, A[4]], [], [["A2"], ["A3"], ["old"], ["A4"]], "index 3"),
        ([A[3], A[2], OLD], A, [["A2"], ["A3"], ["old"]], "index 3"),
        ([A[1], replace(A[0], id="A1"), A[2]], A, [["A1"], ["A1"], ["A2"]], "id 'A1'"),
    ],
)
def test_chunks_that_contradict_each_other_stand_alone_and_a_note_says_so(
    hits: list[Chunk], stored: list[Chunk], passages: list[list[str]], place: str
):
    context = assemble(hits_of(hits), AssemblyConfig(window=2), store=MemoryStore(stored) if stored else None)
    assert [[piece.candidate.chunk.id for piece in passage.pieces] for passage in context.passages] == passages
    (note,) = context.trace.notes
    assert note.startswith(f"document 'A': two texts have {place}, so which chunks adjoin is unknown")


@pytest.mark.parametrize("indexed", [False, True])
def test_offsets_that_contradict_each_other_are_not_used(indexed: bool):
    """Records of one JSON file, each split by itself: both begin at 0."""
    records = [
        Chunk(f"{name}{n}", "data.json", f"{name} {n} says this and that.", 2 * at + n if indexed else None, 20 * n)
        for at, name in enumerate(("Anna", "Boris"))
        for n in range(2)
    ]
    context = assemble(hits_of(records), AssemblyConfig(cite="document"))
    assert len(context.trace.notes) >= 1
    assert context.trace.notes[0].startswith("document 'data.json': the offsets of its chunks contradict each other")
    assert context.text.count("[...]") == (0 if indexed else 3)
    assert {source.start for source in context.provenance} == {None}


def test_a_hit_that_the_store_does_not_hold_stands_alone_beside_those_that_it_holds():
    changed = replace(A[4], text="A wording that the store never had.")
    context = assemble(hits_of([A[1], changed]), AssemblyConfig(window=1), store=MemoryStore(A))
    joined = [[piece.candidate.chunk.id for piece in passage.pieces] for passage in context.passages]
    assert joined == [["A0", "A1", "A2"], ["A4"]]
    assert "The store doesn't contain 1 of 2 retrieved chunks" in context.trace.missing


def test_a_chunk_without_a_document_is_one_of_its_own_though_its_id_is_not():
    chunks = [Chunk("0", "", "The notice period is three months."), Chunk("0", "", "Membership ends after one month.")]
    context = assemble(hits_of(chunks))
    assert [citation.document_id for citation in context.citations] == ["0", "0 (2)"]
