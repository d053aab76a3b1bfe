"""Which candidate is which: the key that it gets when it is admitted."""

from __future__ import annotations

from builders import candidate_of, hits_of, words_of
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryStore, assemble
from ctxassembly.data.candidates import Candidate

CHUNKS = {f"{name}{n}": words_of(name, n) for name in "AB" for n in range(9)}
EMPTY = Chunk("empty", "E", "  ")


def keys(context: Context) -> dict[str, int]:
    return {piece.candidate.chunk.id: piece.candidate.key for passage in context.passages for piece in passage.pieces}


def test_a_hit_has_its_place_in_the_list_and_neighbors_have_the_numbers_after():
    """What is dropped on the way has had its number, too: a copy, and a chunk without text."""
    hits = [Hit(CHUNKS["A4"]), Hit(EMPTY), Hit(CHUNKS["A4"]), Hit(CHUNKS["B2"])]
    found = keys(assemble(hits, store=MemoryStore(CHUNKS.values())))
    assert (found.pop("A4"), found.pop("B2")) == (0, 3)
    assert sorted(found) == ["A3", "A5", "B1", "B3"]
    assert sorted(found.values()) == [4, 5, 6, 7]


def test_one_chunk_that_stays_twice_is_two_candidates():
    """They are one object: its identity can't tell them apart."""
    context = assemble(hits_of([CHUNKS["A4"], CHUNKS["A4"]]), AssemblyConfig(dedup="none"))
    assert [(each.rank, each.outcome) for each in context.trace.decisions] == [(0, "kept"), (1, "kept")]
    assert [piece.candidate.key for passage in context.passages for piece in passage.pieces] == [0, 1]


def test_all_forms_of_a_candidate_have_its_key():
    text = " ".join(f"Sentence {n} says what it says." for n in range(40))
    hits = hits_of([Chunk("x", "X", text.replace("says", "tells")), Chunk("y", "Y", text)])
    for granularity in ("chunk", "sentence"):
        config = AssemblyConfig(max_tokens=120, granularity=granularity)
        context = assemble(hits, config, query="What does Sentence 30 say?")
        pieces = [piece.candidate for passage in context.passages for piece in passage.pieces]
        assert any(each.kept_spans is not None for each in pieces)
        assert all(hits[each.key].chunk.id == each.chunk.id for each in pieces)


def test_the_key_is_not_compared():
    """The same context may be made of more hits than were used, and a stored one has other keys."""
    one, other = candidate_of(CHUNKS["A4"], 0), candidate_of(CHUNKS["A4"], 0)
    assert one.key != other.key
    assert one == other
    assert not one != other  # noqa: SIM202 - a tuple has both
    assert hash(one) == hash(other)
    assert one != candidate_of(CHUNKS["A4"], 1)
    assert one != tuple(one)


def test_a_stored_context_is_the_same_again():
    context = assemble([Hit(EMPTY), Hit(CHUNKS["B2"]), Hit(CHUNKS["A4"])], store=MemoryStore(CHUNKS.values()))
    again = Context.from_dict(context.to_dict())
    assert again == context
    assert sorted(keys(again).values()) == list(range(6))
    assert all(isinstance(piece.candidate, Candidate) for passage in again.passages for piece in passage.pieces)
