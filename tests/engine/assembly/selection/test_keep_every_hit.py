"""Where all hits fit whole, no neighbor takes the place of one: of each at least its best sentence stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builders import decision, hits_of
from ctxassembly import AssemblyConfig, Chunk, Context, MemoryStore, assemble
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.scoring.sentences import ScoredSentences
from ctxassembly.assembly.selection import by_relevance
from ctxassembly.data.candidates import Candidate
from strategies import words

QUERY = "When is the deposit of the tenant paid back?"
SPEAKING = "The deposit of the tenant is paid back after a month."
SILENT = "Nothing else is said of this matter anywhere here."
GRANULARITIES = ["auto", "sentence", "chunk", "passage"]


def document(name: str, kinds: Sequence[Sequence[bool]]) -> list[Chunk]:
    """A chunk for each of `kinds`, of a sentence for each of its values: True for one with the words of the query."""
    return [
        Chunk(
            f"{name}{n}",
            name,
            " ".join(
                f"{SPEAKING if speaks else SILENT} That is rule {name}{n}.{m}." for m, speaks in enumerate(sentences)
            ),
            index=n,
        )
        for n, sentences in enumerate(kinds)
    ]


def read(hits: Sequence[Chunk], stored: Sequence[Chunk], limit: int, query: str | None, **options: Any) -> Context:
    config = AssemblyConfig(max_tokens=limit, encoding=words, neighbors="unfiltered", **options)
    return assemble(hits_of(hits), config, query=query, store=MemoryStore(stored) if stored else None)


def lost(context: Context) -> list[str]:
    """The hits of which nothing stands, neither here nor in a copy or in a chunk that has the same sentence."""
    decisions = (each for each in context.trace.decisions if not each.distance)
    return [
        each.chunk_id for each in decisions if not each.is_in_context and each.outcome not in ("duplicate", "contained")
    ]


# Eight hits that don't speak as the query does, beside chunks that do.
TALK = [document(name, [[True] * 4, [True] * 4, [False] * 4, [True] * 4, [True] * 4]) for name in "ABCDEFGH"]
HITS = [each[2] for each in TALK]
STORED = [chunk for each in TALK for chunk in each]
WHOLE = read(HITS, (), 10_000, None).token_count


@pytest.mark.parametrize(
    ("granularity", "options"),
    [
        *((granularity, {}) for granularity in GRANULARITIES),
        *((granularity, {"overflow": "truncate"}) for granularity in GRANULARITIES if granularity != "sentence"),
        *((granularity, {"compress": "extractive"}) for granularity in GRANULARITIES if granularity != "sentence"),
    ],
    ids=str,
)
@pytest.mark.parametrize("limit", [WHOLE, WHOLE + 20, 2 * WHOLE, 3 * WHOLE])
def test_no_neighbor_takes_the_place_of_a_hit(limit: int, granularity: str, options: dict[str, Any]):
    context = read(HITS, STORED, limit, QUERY, granularity=granularity, **options)
    assert lost(context) == []
    assert context.token_count <= limit


@pytest.mark.parametrize("granularity", [granularity for granularity in GRANULARITIES if granularity != "passage"])
def test_it_takes_what_a_hit_has_besides_its_best_sentence(granularity: str):
    context = read(HITS, STORED, 2 * WHOLE, QUERY, granularity=granularity)
    assert any(each.outcome in ("cut", "compressed") for each in context.trace.decisions)
    assert SPEAKING in context.text


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_without_that_rule_hits_are_lost(granularity: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ScoredSentences, "best_sentence_per_hit", lambda *_: frozenset())
    for name in ("_lost", "_hits_after"):
        monkeypatch.setattr(by_relevance, name, lambda *_: [])
    assert lost(read(HITS, STORED, 2 * WHOLE, QUERY, granularity=granularity))


def test_the_best_sentence_of_a_hit_stands():
    answer = "Whoever rents gets the money within thirty days."
    hit = Chunk("X1", "X", f"{SILENT} {answer} {SILENT}", index=1)
    rule = Chunk("X1", "X", f"{SILENT} {answer.replace('money', 'deposit')} {SILENT}", index=1)
    for each in (hit, rule):
        context = read([*HITS, each], STORED, 2 * WHOLE, QUERY)
        assert decision(context, "X1").is_in_context
    assert "gets the deposit within thirty days." in context.text


def test_where_not_all_hits_fit_whole_the_query_chooses_among_them_as_well():
    assert lost(read(HITS, STORED, WHOLE // 2, QUERY))


def test_what_is_worth_too_little_by_the_callers_word_goes():
    assert lost(read(HITS, STORED, 2 * WHOLE, QUERY, min_relevance=0.9))


def test_two_hits_with_the_same_best_sentence_both_stand():
    """What one says verbatim needs not stand again: of the other it is the next best."""
    twins = [Chunk(f"T{n}", f"T{n}", f"{SPEAKING} {SILENT} This is twin {n}.", index=0) for n in range(2)]
    assert lost(read([*HITS, *twins], STORED, 2 * WHOLE, QUERY)) == []


def test_a_hit_of_short_lines_stands_with_one_of_them():
    rows = Chunk("R0", "R", "\n".join(f"R {n}: {n * 7}" for n in range(9)), index=0)
    assert lost(read([*HITS, rows], STORED, 2 * WHOLE, QUERY)) == []


kinds = st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=1, max_size=5)


@given(
    documents=st.lists(kinds, min_size=1, max_size=4),
    overlapping=st.booleans(),
    granularity=st.sampled_from(GRANULARITIES),
    extra=st.integers(0, 200),
    order=st.permutations(range(20)),
    hit_count=st.integers(1, 20),
)
# The best sentence of a hit overlaps a neighbor: one that stands beside it, in full, or with nothing else.
@example([[[True], [False]]], True, "passage", 0, [1], 1)
@example([[[False, False], [True], [False], [False]]], True, "chunk", 0, [1, 2], 2)
@example([[[False, True], [False], [False]]], True, "sentence", 2, [2], 1)
# It stands in a neighbor that fits whole, and then no other sentence of the hit has room.
@example([[[False, False], [True], [False]], [[False], [False, True]]], True, "chunk", 0, [4, 2, 0], 3)
def test_whatever_the_documents(
    documents: list[list[list[bool]]],
    overlapping: bool,
    granularity: str,
    extra: int,
    order: Sequence[int],
    hit_count: int,
):
    stored = [chunk for n, each in enumerate(documents) for chunk in document("ABCD"[n], each)]
    if overlapping:
        following = {(each.document_id, each.index): each.text for each in stored}
        stored = [
            Chunk(
                each.id,
                each.document_id,
                f"{each.text} {following.get((each.document_id, (each.index or 0) + 1), '').partition('. ')[0]}.",
                index=each.index,
            )
            for each in stored
        ]
    hits = [stored[place] for place in order if place < len(stored)][:hit_count]
    limit = read(hits, (), 10_000, None).token_count + extra
    context = read(hits, stored, limit, QUERY, granularity=granularity)
    assert lost(context) == []
    assert context.token_count <= limit


@pytest.mark.parametrize(("limit", "counted"), [(WHOLE + 5, True), (2 * WHOLE, False)])
def test_hits_that_leave_much_room_are_not_counted_for_that(limit: int, counted: bool, monkeypatch: pytest.MonkeyPatch):
    tried: list[list[str]] = []
    fits = Layout.fits

    def spy(layout: Layout, candidates: Sequence[Candidate], *rest: Any) -> bool:
        tried.append([each.chunk.id for each in candidates])
        return fits(layout, candidates, *rest)

    monkeypatch.setattr(Layout, "fits", spy)
    assert lost(read(HITS, STORED, limit, QUERY, granularity="sentence")) == []
    assert ([each.id for each in HITS] in tried) == counted
