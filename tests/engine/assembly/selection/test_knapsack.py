"""Sentences packed into the budget, seen from outside."""

from __future__ import annotations

from typing import Any

import pytest

from builders import count, decision, hits_of, standing, words_of
from ctxassembly import AssemblyConfig, Chunk, Context, MemoryStore, assemble

FILLER = [f"Line {n} of this leaflet tells you nothing that is new." for n in range(30)]
ANSWER = "Stop taking blood thinners five days before the biopsy."
QUERY = "When must I stop with blood thinners before a biopsy?"


def leaflet(*places: int, document_id: str = "A", **more: Any) -> Chunk:
    """A chunk of thirty sentences, with the answer in these places."""
    text = " ".join(ANSWER.replace("five", f"{n + 5}") if n in places else line for n, line in enumerate(FILLER))
    return Chunk(f"{document_id}0", document_id, text, index=0, **more)


def passage_of(name: str, *, answers: bool) -> list[Chunk]:
    """Three chunks that adjoin each other, of which the second may answer."""
    texts = (f"{name}: {FILLER[1]}", f"{name}: {ANSWER if answers else FILLER[0]}", f"{name}: {FILLER[2]}")
    return [Chunk(f"{name}{n}", name, text, index=n) for n, text in enumerate(texts)]


def packed(chunks: list[Chunk], limit: int, query: str | None = QUERY, **options: Any) -> Context:
    config = AssemblyConfig(**{"max_tokens": limit, "granularity": "sentence"} | options)
    context = assemble(hits_of(chunks), config, query=query)
    assert context.token_count == count(context.text, config.encoding) <= limit
    return context


def test_the_sentence_that_answers_stands_whatever_the_rank_of_its_chunk():
    chunks = [leaflet(document_id="A"), leaflet(document_id="B"), leaflet(20, document_id="C")]
    assert "Stop taking blood thinners" in packed(chunks, 60).text
    assert "Stop taking blood thinners" not in packed(chunks, 60, rank_by="rank").text


def test_sentences_stand_in_their_order_with_markers_where_text_is_missing():
    text = packed([leaflet(3, 20)], 80, fill=True).text
    assert text.index("8 days") < text.index("25 days")
    assert "[...]" in text[text.index("8 days") : text.index("25 days")]


@pytest.mark.parametrize(("second", "is_closed"), [(4, True), (5, False)])
def test_a_gap_of_one_sentence_is_closed(second: int, is_closed: bool):
    """All sentences are long enough to stand alone; only the two that answer are relevant enough."""
    said = [f"In room {n} of the house visitors wait for their doctor and read a newspaper." for n in range(8)]
    said[2] = said[second] = ANSWER.replace("the biopsy", "a biopsy of the liver or of the lung")
    text = packed([Chunk("A0", "A", " ".join(said))], 8_000, min_relevance=1).text
    assert (said[3] in text) == is_closed
    assert ("[...]" in text.partition(said[2])[2].partition(said[2])[0]) != is_closed


def test_nothing_is_closed_between_texts_that_do_not_continue_each_other():
    chunks = [
        Chunk(name, name, text) for name, text in (("A", ANSWER), ("B", FILLER[4]), ("C", f"{ANSWER[:-1]} twice."))
    ]
    assert standing(packed(chunks, 8_000, min_relevance=0.8, order="documents")) == ["A", "C"]


def test_a_smaller_sentence_gets_the_room_in_which_the_next_best_one_does_not_fit():
    best = "Before a biopsy, whoever takes blood thinners is asked by the nurse when to stop with them, " * 2
    chunks = [Chunk(name, name, text) for name, text in zip("ABC", (ANSWER, "Thinners are pills.", best), strict=True)]
    room = packed([chunks[2], chunks[1]], 8_000, fill=True).token_count
    assert standing(packed(chunks, room + 3, min_relevance=0)) == ["C", "B"]


def test_each_piece_is_cited_and_flagged():
    context = packed([leaflet(3, 20)], 60)
    (citation,) = context.citations
    assert citation.chunk_ids == ("A0",)
    (shortened,) = citation.shortened
    assert (shortened.chunk_id, shortened.by) == ("A0", "sentence")
    assert shortened.tokens_after < 60 < shortened.tokens_before
    assert decision(context, "A0").outcome == "cut"
    for source in context.provenance:
        assert context.text[slice(*source.span)] == leaflet(3, 20).text[slice(*source.chunk_span)]


def test_what_two_chunks_share_belongs_to_the_first_and_stands_once():
    document = leaflet(15).text
    middle = document.index("Stop taking") + 20
    first = Chunk("a", "A", document[: middle + 60], index=0, start=0)
    second = Chunk("b", "A", document[middle - 60 :], index=1, start=middle - 60)
    context = packed([second, first], 60)
    assert context.text.count("20 days before the biopsy.") == 1
    assert document.count("Stop taking") == 1


@pytest.mark.parametrize("there", [ANSWER, "Nothing to the point."])
def test_a_wider_pool_comes_in_the_same_round_trip_and_is_read_where_it_answers_better_than_the_hit(there: str):
    chunks = [words_of("A", n) for n in range(9)]
    chunks[7] = Chunk("A7", "A", there, index=7)
    store = MemoryStore(chunks)
    context = assemble(hits_of(chunks[4:5]), AssemblyConfig(max_tokens=40), query=QUERY, store=store)
    assert store.round_trips == 1
    assert len(context.trace.decisions) == 7
    assert (there in context.text) == (there == ANSWER)
    assert {each.reason for each in context.trace.excluded if each.distance > 1} <= {"beyond the window"}


def test_without_a_pool_or_a_query_the_window_is_all_that_is_fetched():
    chunks = [words_of("A", n) for n in range(9)]
    for options, query in (({"candidate_window": 0}, QUERY), ({}, None), ({"rank_by": "rank"}, QUERY), ({}, "  ")):
        store = MemoryStore(chunks)
        assemble(hits_of(chunks[4:5]), AssemblyConfig(**options), query=query, store=store)
        assert [ref.index for ref in store.requests[0]] == [3, 5, 4]


def test_the_passage_that_answers_stands_whatever_its_rank():
    chunks = [each for name in "ABC" for each in passage_of(name, answers=name == "C")]
    hits = [each for each in chunks if each.index == 1]
    for options, stands in (({}, {"C"}), ({"rank_by": "rank"}, {"A"})):
        config = AssemblyConfig(granularity="passage", max_tokens=60, **options)
        context = assemble(hits_of(hits), config, query=QUERY, store=MemoryStore(chunks))
        assert {source.document_id for source in context.provenance} == stands
        assert len(context.provenance) == 3


def test_of_a_passage_that_does_not_fit_the_chunk_that_answers_is_read_whole():
    chunks = [*passage_of("A", answers=False), Chunk("A3", "A", ANSWER, index=3), *passage_of("B", answers=False)]
    context = packed(chunks, 40, granularity="passage")
    assert ANSWER in context.text
    assert decision(context, "A3").outcome == "kept"


def test_a_passage_is_worth_what_its_best_sentence_is():
    chunks = [each for name in "ABC" for each in passage_of(name, answers=name == "B")]
    context = packed(chunks, 8_000, granularity="passage", min_relevance=0.9)
    assert standing(context) == ["B0", "B1", "B2"]
    assert decision(context, "A0").reason == "below the minimum relevance"


# The budget as a cap


@pytest.mark.parametrize("granularity", ["auto", "sentence", "chunk"])
def test_what_is_worth_too_little_is_left_out_even_where_everything_fits(granularity: str):
    chunks = [leaflet(3, 4, 5, document_id="A"), leaflet(document_id="B"), leaflet(document_id="C")]
    options = {"granularity": granularity, "dedup": "none", "order": "documents"}
    whole = packed(chunks, 8_000, **options, fill=True)
    assert standing(whole) == ["A0", "B0", "C0"]
    context = packed(chunks, 8_000, **options, min_relevance=0.9)
    assert standing(context) == ["A0"]
    assert decision(context, "A0").outcome == ("kept" if granularity == "chunk" else "cut")
    assert [decision(context, name).reason for name in ("B0", "C0")] == ["below the minimum relevance"] * 2
    assert context.trace.excluded_tokens > 2 * 300
    assert context.trace.documents_dropped == 0  # for the budget


def test_a_chunk_is_as_relevant_as_its_best_sentence_whatever_the_others_say():
    """Of one chunk only a sentence answers, another says a little of it in each."""
    rooms = " ".join(f"In room {n} of the house visitors wait for their doctor and read a newspaper." for n in range(3))
    said = (
        ANSWER,
        f"{rooms} Stop with thinners before a biopsy. {rooms}",
        "Some take blood thinners. Blood thinners are pills. A biopsy is made here.",
    )
    chunks = [Chunk(name, name, text) for name, text in zip("ABC", said, strict=True)]
    limits = [minimum / 100 for minimum in range(40, 100)]
    read = [sorted(standing(packed(chunks, 8_000, granularity="chunk", min_relevance=limit))) for limit in limits]
    assert ["A", "B"] in read
    assert ["A", "C"] not in read


def test_a_note_says_what_the_next_tokens_would_add():
    chunks = [leaflet(3, 4, 5), *(leaflet(document_id=name) for name in "BCDE")]
    (note,) = packed(chunks, 8_000, min_relevance=0.9, dedup="none").trace.notes
    tokens = packed(chunks, 8_000, min_relevance=0.9, dedup="none").token_count
    assert note.startswith(f"min_relevance: stopped at {tokens} tokens; the next 1,000 would add ")
    assert packed(chunks, tokens // 2, min_relevance=0.9, dedup="none").trace.notes == ()


@pytest.mark.parametrize("min_relevance", [0, 0.5, 1])
@pytest.mark.parametrize("limit", [5, 60, 8_000])
def test_the_best_is_always_worth_its_room(limit: int, min_relevance: float):
    for query in (QUERY, "Nothing of that."):
        assert packed([leaflet(3), leaflet(4, document_id="B")], limit, query, min_relevance=min_relevance).text


def test_where_the_words_of_the_query_tell_nothing_apart_no_rank_is_worth_too_little():
    chunks = [leaflet(document_id=name) for name in "ABCDEFGHIJ"]
    context = packed(chunks, 8_000, "Xylophone?", granularity="chunk", dedup="none", min_relevance=0.5)
    assert len(set(standing(context))) == 10
