"""Ids, indexes and hashes that different texts share: each text is in the context, or in the trace with a reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import hits_of, numbered, split, words_of
from ctxassembly import AssemblyConfig, Chunk, MemoryStore, MetadataKeys, assemble
from ctxassembly.assembly.adjacency.shared_ids import (
    disambiguate_ids,
    find_by_id,
    flag_shared_indexes,
    index_by_id,
    separate_positions,
)

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
    config = AssemblyConfig(dedup=dedup, granularity=granularity, cite=cite)  # type: ignore[arg-type]
    context = assemble(hits_of(chunks), config, query="Who keeps the oak?", store=MemoryStore(stored))
    decisions = [each for each in context.trace.decisions if each.distance == 0]
    assert [each.rank for each in decisions] == list(range(len(chunks)))
    for chunk, decision in zip(chunks, decisions, strict=True):
        assert chunk.text in context.text
        assert decision.chunk_id == chunk.id
        assert decision.outcome in ("kept", "duplicate", "contained")
    if dedup == "exact":
        first = {chunk.text: place for place, chunk in reversed([*enumerate(chunks)])}
        assert {each.rank for each in decisions if each.outcome == "kept"} == {*first.values()}
    ids = {chunk.id for chunk in (*chunks, *stored)}
    assert ids >= {each for citation in context.citations for each in citation.chunk_ids}


@pytest.mark.parametrize("places", ["fetched", "retrieved"])
def test_two_versions_of_a_chunk_join_nothing_by_their_index(places: str):
    old = Chunk("old", "A", "An older wording of the third chunk, of which little is left.", index=3)
    if places == "fetched":
        context = assemble(hits_of([A[2]]), AssemblyConfig(window=2), store=MemoryStore([*A, old]))
    else:
        context = assemble(hits_of([A[2], A[3], old, A[4]]))
    joined = [[piece.candidate.chunk.id for piece in passage.pieces] for passage in context.passages]
    assert ["A3"] in joined
    assert ["old"] in joined


def test_what_a_store_has_under_the_id_of_a_hit_in_another_document_is_read():
    other = [Chunk(str(n), "B", f"B {n} begins here and ends at B {n}.", index=n) for n in range(5)]
    hit = replace(A[0], id="1")
    context = assemble(hits_of([hit, other[2]]), store=MemoryStore([*A[1:], *other]))
    for each in other[1:4]:
        assert each.text in context.text


def test_what_a_store_has_under_the_id_of_a_hit_is_no_neighbor_of_it():
    """The text of the hit was changed on its way here: the stored one is the same chunk."""
    stored = split("D", numbered("w", 100), size=200, indexed=False, links="pn")
    hit = replace(stored[1], text=stored[1].text[:50])
    context = assemble(hits_of([hit]), store=MemoryStore(stored))
    assert [each.chunk_id for each in context.trace.decisions].count(hit.id) == 1


def test_a_chunk_without_a_document_is_one_of_its_own_though_its_id_is_not():
    chunks = [Chunk("0", "", "The notice period is three months."), Chunk("0", "", "Membership ends after one month.")]
    context = assemble(hits_of(chunks))
    assert [citation.document_id for citation in context.citations] == ["0", "0 (hit 1)"]
    assert context.trace.notes[-1] == "hit '0': its id is another text's, too; this is hit 1"


def test_the_key_of_the_hash_can_be_set():
    chunks = [Chunk(name, name, f"Text {name}.", metadata={"etag": {"md5": "h"}}) for name in ("one", "two")]
    note = "dedup: 1 chunk has the content hash of another text, compared by the texts alone"
    keys = MetadataKeys(content_hash="etag.md5")
    assert assemble(hits_of(chunks), AssemblyConfig(keys=keys)).trace.notes == (note,)
    assert assemble(hits_of(chunks)).trace.notes == ()


def test_what_is_not_shared_is_left_as_it_is():
    assert disambiguate_ids(A) is A
    assert flag_shared_indexes(A) is A
    assert flag_shared_indexes([A[0], A[0]]) == [A[0], A[0]]
    places = {chunk.id: chunk.index or 0 for chunk in A}
    assert separate_positions(A, places) is places


def test_a_shared_id_is_told_apart_within_and_across_documents():
    other = replace(A[0], text="Another text.")
    named = disambiguate_ids([A[0], other, A[0], replace(other, document_id="B")])
    assert [chunk.id == "A0" for chunk in named] == [True, False, True, True]
    of_b = replace(A[0], document_id="B")
    known = index_by_id([A[0], of_b])
    assert find_by_id(known, "A0", "A") is A[0]
    assert find_by_id(known, "A0", "B") is of_b
    assert find_by_id(known, "A0", "C") is None


def test_each_piece_of_a_chunk_has_a_place_if_its_offset_tells_it():
    pieces = [replace(A[2], id=f"p{n}", text=f"Piece {n}.", start=start) for n, start in enumerate((80, 0, 40))]
    members = flag_shared_indexes([A[1], *pieces, A[3]])
    placed = separate_positions(members, {chunk.id: chunk.index or 0 for chunk in members})
    assert placed == {"A1": 1, "p1": 2, "p2": 3, "p0": 4, "A3": 5}
    without = flag_shared_indexes([A[1], *pieces, replace(A[2], start=None), A[3]])
    same = {chunk.id: chunk.index or 0 for chunk in without}
    assert separate_positions(without, same) == same
