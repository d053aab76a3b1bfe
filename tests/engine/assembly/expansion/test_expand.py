from __future__ import annotations

from random import Random
from string import ascii_letters

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import decision, hits_of, split, standing, words_of
from ctxassembly import AssemblyConfig, Chunk, ChunkRef, Hit, MemoryStore, assemble

A = [words_of("A", n) for n in range(15)]
B = [words_of("B", n) for n in range(15)]


def fetched(store: MemoryStore) -> list[tuple[str, int | str | None]]:
    return [(ref.document_id, ref.index if ref.chunk_id is None else ref.chunk_id) for ref in store.requests[0]]


@pytest.mark.parametrize(
    ("rule", "window", "hits", "asked"),
    [
        ("Hits 5, 8, 12 of document A fetch 4, 6, 7, 9, 11, 13", 1, [5, 8, 12], [4, 6, 7, 9, 11, 13, 5, 8, 12]),
        ("neighbors at index +- window (0-3)", 3, [5], [2, 3, 4, 6, 7, 8, 5]),
        ("neighbors at index +- window (default 1)", AssemblyConfig().window, [5], [4, 6, 5]),
        ("no negative index", 3, [1], [0, 2, 3, 4, 1]),
        ("a hit stays a hit", 1, [5, 6], [4, 7, 5, 6]),
    ],
)
def test_what_is_asked_for(rule: str, window: int, hits: list[int], asked: list[int]):
    """The hits themselves as well: a store that doesn't hold them is that of another collection."""
    store = MemoryStore(A)
    assemble(hits_of([A[n] for n in hits]), AssemblyConfig(window=window), store=store)
    assert fetched(store) == [("A", n) for n in asked]
    assert store.round_trips == 1


def test_one_batched_fetch_for_all_documents():
    store = MemoryStore([*A, *B])
    context = assemble(hits_of([B[3], A[5], B[4], A[9]]), store=store)
    assert store.round_trips == context.trace.round_trips == 1
    assert fetched(store) == [
        *(("B", 2), ("B", 5), ("A", 4), ("A", 6), ("A", 8), ("A", 10)),
        *(("B", 3), ("A", 5), ("B", 4), ("A", 9)),
    ]


@pytest.mark.parametrize(
    ("rule", "scores", "chunk_id", "score"),
    [
        ("a neighbor's score is its best hit's x 0.5 per step", {5: 0.8}, "A4", 0.4),
        ("x 0.5 per step", {5: 0.8}, "A3", 0.2),
        ("its best hit's: 0.9 x 0.25 beats 0.3 x 0.5", {5: 0.3, 8: 0.9}, "A6", 0.225),
        ("a hit stays a hit with its own score", {5: 0.8, 6: 0.1}, "A6", 0.1),
        ("decay never raises a score (half of a negative score does not outrank its hit)", {5: -0.8}, "A4", -0.8),
        ("no scores: a neighbor has none either", {5: None}, "A4", None),
        ("a scored hit counts where another has no score", {5: None, 7: 0.8}, "A6", 0.4),
    ],
)
def test_decay(rule: str, scores: dict[int, float | None], chunk_id: str, score: float | None):
    context = assemble([Hit(A[n], s) for n, s in scores.items()], AssemblyConfig(window=3), store=MemoryStore(A))
    assert decision(context, chunk_id).score == (pytest.approx(score) if score is not None else None)


def test_chunks_that_were_not_asked_for_are_left_out_and_noted():
    class Generous(MemoryStore):
        def fetch(self, refs):
            return [*super().fetch(refs), A[12], B[5]]

    context = assemble(hits_of([A[5]]), store=Generous(A))
    assert standing(context) == ["A4", "A5", "A6"]
    assert [note for note in context.trace.notes if "not asked for" in note] == [
        "store: 2 chunks were not asked for, left out; the first is 'A12'"
    ]


def linked(n: int, links: str, document_id: str = "L") -> list[Chunk]:
    text = "".join(f"<{i:04} and more words of {document_id}>" for i in range(n))
    size = len(text) // n
    return split(document_id, text, size=size, indexed=False, offsets=False, links=links)


# Stores without an index take one call a step for all hits together, and one-sided links work. A store that keeps
# links on one side only, or none, is asked for the whole document in the end: nothing else can find the other side.
@pytest.mark.parametrize(
    ("rule", "links", "hit", "window", "stands", "calls"),
    [
        ("one call a step", "pn", [4], 1, [3, 4, 5], 1),
        ("one call a step", "pn", [4], 3, [1, 2, 3, 4, 5, 6, 7], 3),
        ("one call a step for all hits together", "pn", [1, 8], 2, [0, 1, 2, 3, 6, 7, 8, 9], 2),
        ("documents end", "pn", [9], 2, [7, 8, 9], 2),
        ("one-sided links work: PREVIOUS alone", "p", [4], 2, [2, 3, 4, 5, 6], 2),
        ("one-sided links work: the first of a PREVIOUS chain has no link at all", "p", [0], 1, [0, 1], 1),
        ("one-sided links work: the last of a PREVIOUS chain", "p", [9], 1, [8, 9], 2),
        ("one-sided links work: NEXT alone", "n", [4], 2, [2, 3, 4, 5, 6], 2),
        ("one-sided links work: the last of a NEXT chain has no link at all", "n", [9], 1, [8, 9], 1),
        ("one-sided links work: the first of a NEXT chain", "n", [0], 1, [0, 1], 2),
    ],
)
def test_links(rule: str, links: str, hit: list[int], window: int, stands: list[int], calls: int):
    chunks = linked(10, links)
    store = MemoryStore(chunks)
    context = assemble(hits_of([chunks[n] for n in hit]), AssemblyConfig(window=window), store=store)
    assert standing(context) == [f"L{n}" for n in stands]
    assert store.round_trips <= calls
    in_reading_order = [passage.text.replace("\n", "") for passage in context.passages]
    assert "".join(in_reading_order) == "".join(chunks[n].text for n in stands)


@pytest.mark.parametrize("window", [1, 2, 3])
def test_a_circle_of_links_ends(window: int):
    names = ["P", "Q", "R"]
    circle = [
        Chunk(name, "D", f"Text of {name}.", prev_id=names[n - 1], next_id=names[(n + 1) % 3])
        for n, name in enumerate(names)
    ]
    store = MemoryStore(circle)
    context = assemble([Hit(circle[1])], AssemblyConfig(window=window), store=store)
    stands = standing(context)
    assert "Q" in stands
    assert len(stands) == len(set(stands)) <= 3
    assert store.round_trips <= window


def test_a_store_that_finds_no_offsets_is_asked_for_the_document_whole():
    class Plain(MemoryStore):
        finds_offsets = False

    chunks = split("D", "".join(f"<{n:04} and more>" for n in range(9)), size=15, indexed=False)
    store = Plain(chunks[::-1])
    context = assemble([Hit(chunks[4])], store=store)
    assert store.requests == [(ChunkRef("D"),)]
    assert standing(context) == ["D3", "D4", "D5"]


@given(st.lists(st.integers(0, 11), min_size=1, max_size=5, unique=True), st.integers(0, 3), st.integers(0, 12))
def test_an_index_links_and_offsets_lead_to_the_same_neighbors(hits: list[int], window: int, overlap: int):
    text = "".join(Random(0).choices(ascii_letters, k=500))  # no line of it comes twice
    ways = {
        "index": {"offsets": False},
        "index and offsets": {},
        "links": {"indexed": False, "offsets": False, "links": "pn"},
        "offsets": {"indexed": False},
        "everything": {"links": "pn"},
    }
    found = {}
    for way, options in ways.items():
        chunks = split("D", text, size=40, overlap=overlap, **options)
        scored = [Hit(chunks[n], 0.5 - rank) for rank, n in enumerate(hits)]
        context = assemble(scored, AssemblyConfig(window=window, min_overlap_chars=8), store=MemoryStore(chunks))
        places = {(one.chunk_id, one.rank, one.distance, one.score) for one in context.trace.decisions}
        found[way] = places, {*standing(context)}
    for way, what in found.items():
        assert what == found["index"], way
