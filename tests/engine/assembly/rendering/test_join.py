from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders import decision, hits_of, numbered, split, standing
from ctxassembly import AssemblyConfig, Chunk, Context, MemoryStore, assemble

ROOMY = AssemblyConfig(format="minimal", max_tokens=1_000_000, dedup="none", cite="document")


def joined(*chunks: Chunk, config: AssemblyConfig = ROOMY) -> Context:
    return assemble(hits_of(chunks), config)


def two(first: str, second: str, *, start: int | None = None, second_start: int | None = None, index: int = 8):
    return Chunk("a", "A", first, 7, start), Chunk("b", "A", second, index, second_start)


SENTENCE = "U brengt best uw identiteitskaart en verwijsbrief mee."
FIRST = f"De afspraak duurt een half uur. {SENTENCE}"
SECOND = f"{SENTENCE} Na de raadpleging betaalt u aan het loket."
SHORT_FIRST = "De afspraak duurt een half uur. U brengt best uw"
SHORT_SECOND = "brengt best uw identiteitskaart mee."


def test_dutch_sentence_stands_once():
    """Of the second chunk " Na de raadpleging..." is left."""
    context = joined(*two(FIRST, SECOND))
    assert context.text == f"{FIRST} Na de raadpleging betaalt u aan het loket."
    assert decision(context, "b").stripped_chars == len(SENTENCE)
    assert context.trace.stripped_chars == len(SENTENCE)


def test_fourteen_dutch_characters_stay_without_offsets():
    """The 14 characters stay (not longer than 20)..."""
    context = joined(*two(SHORT_FIRST, SHORT_SECOND))
    assert context.text == f"{SHORT_FIRST}\n{SHORT_SECOND}"
    assert context.trace.stripped_chars == 0


@pytest.mark.parametrize(
    ("rule", "line", "times"),
    [
        ("a heading", "## Fees", 1),
        ("a line with a colon at its end", "Note:", 1),
        ("but what somebody may say twice", "Bob: Yes.", 2),
    ],
)
def test_a_line_that_leads_to_text_is_once_between_two_chunks(rule: str, line: str, times: int):
    context = joined(*two(f"The desk is open.\n\n{line}", f"{line}\n\nAll pay at the desk."))
    assert context.text.count(line) == times
    assert decision(context, "b").stripped_chars == len(line) * (2 - times)


def test_fourteen_dutch_characters_go_where_offsets_prove_them():
    """... unless offsets prove them."""
    start = SHORT_FIRST.index("brengt")
    context = joined(*two(SHORT_FIRST, SHORT_SECOND, start=0, second_start=start))
    assert context.text == "De afspraak duurt een half uur. U brengt best uw identiteitskaart mee."
    assert decision(context, "b").stripped_chars == 14


@pytest.mark.parametrize(
    ("rule", "recorded", "stripped"),
    [
        ("recorded at ingestion", 14, 14),
        ("another length than the texts have", 13, 0),
        ("longer than the chunk", 1_000, 0),
        ("no number", "14", 0),
        ("none", -14, 0),
    ],
)
def test_a_short_overlap_that_is_recorded_goes_if_the_text_agrees(rule: str, recorded: object, stripped: int):
    first, second = two(SHORT_FIRST, SHORT_SECOND)
    context = joined(first, replace(second, metadata={"overlap_chars": recorded}))
    assert context.trace.stripped_chars == stripped
    assert (context.text == "De afspraak duurt een half uur. U brengt best uw identiteitskaart mee.") is bool(stripped)


@pytest.mark.parametrize(
    ("rule", "least", "most", "found"),
    [
        ("min_overlap_chars", 39, None, 40),
        ("min_overlap_chars", 40, None, 0),
        ("max_overlap_chars", 20, 40, 40),
        ("max_overlap_chars", 20, 39, 0),
    ],
)
def test_the_limits_of_an_overlap_can_be_set(rule: str, least: int, most: int | None, found: int):
    text = numbered("w", 60)
    chunks = split("A", text, size=120, overlap=40, offsets=False)[:2]
    config = replace(ROOMY, min_overlap_chars=least, max_overlap_chars=most)
    assert joined(*chunks, config=config).trace.stripped_chars == found


@pytest.mark.parametrize("overlap", [21, 60, 119])
def test_a_document_cut_with_overlap_is_whole_again(overlap: int):
    text = numbered("w", 150)
    for offsets in (True, False):
        assert joined(*split("A", text, size=120, overlap=overlap, offsets=offsets)).text == text


@pytest.mark.parametrize(
    ("rule", "start", "second_start"),
    [
        ("offsets wrong: the text decides", 0, 3),
        ("offsets wrong: before the first", 100, 20),
        ("offsets missing on one side", 0, None),
        ("offsets negative, as a splitter marks what it could not find", 0, -1),
        ("offsets that restart on each page", 0, 0),
    ],
)
def test_wrong_offsets_are_not_believed(rule: str, start: int | None, second_start: int | None):
    text = numbered("w", 50)
    chunks = two(text[:120], text[80:], start=start, second_start=second_start)
    context = joined(*chunks)
    assert context.text == text
    assert context.trace.stripped_chars == 40


def test_offsets_that_restart_on_each_page_keep_both_pages():
    """Both begin with offset 0: nothing says that the second stands inside the first."""
    page = "Ziekenhuis Noord, afdeling radiologie, blad "
    first, second = two(page + "een: " + numbered("v", 9), page + "twee: " + numbered("w", 9), start=0, second_start=0)
    context = joined(first, second)
    assert context.text == f"{first.text}\n{second.text}"


@pytest.mark.parametrize(
    ("rule", "first", "second", "starts"),
    [
        ("a contained chunk adds nothing, by its text", numbered("w", 40), numbered("w", 40)[40:120], (None, None)),
        ("a contained chunk adds nothing, by its offsets", numbered("w", 40), numbered("w", 40)[40:55], (0, 40)),
        ("if it is the end of the one before", numbered("w", 40), numbered("w", 40)[-60:], (None, None)),
        ("if it is the whole of the one before", numbered("w", 40), numbered("w", 40), (None, None)),
    ],
)
def test_a_contained_chunk_adds_nothing(rule: str, first: str, second: str, starts: tuple[int | None, int | None]):
    context = joined(*two(first, second, start=starts[0], second_start=starts[1]))
    assert context.text == first
    contained = decision(context, "b")
    assert (contained.outcome, contained.reason, contained.because_of) == ("contained", "contained", "a")
    assert contained.stripped_chars == len(second)


@pytest.mark.parametrize("order", ["documents", "relevance"])
def test_the_rank_of_a_contained_hit_counts_for_its_container(order: Any):
    outer, inner = two(numbered("w", 40), numbered("w", 40)[40:120])
    others = [Chunk(name, name, f"{name} is another text.") for name in ("first", "second")]
    hits = hits_of([others[0], inner, others[1], outer])
    context = assemble(hits, AssemblyConfig(order=order))
    assert [citation.best_chunk_id for citation in context.citations] == ["first", outer.id, "second"]
    tight = assemble(hits, AssemblyConfig(order=order, max_tokens=context.token_count - 1, granularity="chunk"))
    assert [citation.best_chunk_id for citation in tight.citations] == ["first", outer.id]


def test_a_neighbor_that_contains_a_hit_is_read_as_a_hit():
    outer, inner = two(numbered("w", 40), numbered("w", 40)[40:120])
    hits = hits_of([inner, Chunk("other", "other", "Another text.")])
    context = assemble(hits, AssemblyConfig(neighbors="unfiltered"), store=MemoryStore([outer, inner]))
    assert [citation.best_chunk_id for citation in context.citations] == [outer.id, "other"]
    assert [decision(context, name).reason for name in (outer.id, inner.id)] == ["neighbor", "contained"]


def test_a_chunk_after_a_contained_one_goes_on_from_the_container():
    text = numbered("w", 60)
    chunks = [
        Chunk("a", "A", text[:200], 0, 0),
        Chunk("b", "A", text[50:90], 1, 50),
        Chunk("c", "A", text[180:], 2, 180),
    ]
    assert joined(*chunks).text == text


@pytest.mark.parametrize(
    ("rule", "index", "starts", "marked"),
    [
        ("a gap inside a document (7 then 9) shows a marker", 9, (None, None), True),
        ("a gap by offsets as well", 9, (0, 500), True),
        ("adjacent chunks have no marker", 8, (None, None), False),
        ("offsets that touch prove that nothing is missing", 9, (0, 95), False),
        ("adjacent by index, far apart by offsets: a splitter got the offsets wrong", 8, (0, 500), False),
    ],
)
def test_gaps(rule: str, index: int, starts: tuple[int | None, int | None], marked: bool):
    first = numbered("v", 19) + "."
    assert len(first) == 95
    context = joined(*two(first, numbered("w", 19), index=index, start=starts[0], second_start=starts[1]))
    assert ("\n[...]\n" in context.text) is marked
    assert len(context.passages) == 1 + marked


@pytest.mark.parametrize(
    ("rule", "second_start", "glue"),
    [
        ("joined by nothing if their offsets touch", 10, ""),
        ("joined by one newline, which has no provenance", None, "\n"),
        ("a few characters apart is what a splitter that strips white space leaves", 12, "\n"),
    ],
)
def test_adjacent_chunks_without_overlap(rule: str, second_start: int | None, glue: str):
    context = joined(*two("One. Two.\t", "Three.", start=0, second_start=second_start))
    assert context.text == f"One. Two.\t{glue}Three."
    assert sum(end - start for start, end in (s.span for s in context.provenance)) == len(context.text) - len(glue)


def test_a_chunk_touches_none_of_two_texts_that_have_one_id_in_its_document():
    """Two collections may both have the document, and offsets that touch by accident."""
    ours, theirs = "Leave is 25 days a year for everybody.", "Leave is 30 days, and the rest is paid."
    first, other = Chunk("A#0", "A", ours, 0, 0), Chunk("A#0", "A", theirs, 0, 0)
    following = Chunk("A#1", "A", "Ask your manager first.", 1, len(ours))
    assert ours + following.text in joined(first, following).text
    for hits in ((first, other, following), (other, first, following), (following, first, other)):
        assert ours + following.text not in joined(*hits).text
        assert len(joined(*hits).passages) == 3


def test_what_lies_in_a_larger_chunk_is_dropped_and_traced():
    text = numbered("w", 400)
    inner = replace(split("D", text, size=200, overlap=40, indexed=False)[3], id="inner")
    whole = split("D", text, size=len(text), indexed=False)[0]
    context = assemble(hits_of([inner, whole], 0.9, 0.2), AssemblyConfig(dedup="none"))
    assert standing(context) == [whole.id]
    assert decision(context, "inner").outcome == decision(context, "inner").reason == "contained"
    assert decision(context, "inner").because_of == whole.id
    assert context.citations[0].score == 0.9
