from __future__ import annotations

import pytest

from builders import count, hits_of, split, standing, words_of
from ctxassembly import AssemblyConfig, Chunk, ChunkRef, MemoryStore, aassemble, assemble
from ctxassembly.errors import CtxAssemblyError, StoreError

A = [words_of("A", n) for n in range(15)]
B = [words_of("B", n) for n in range(15)]


class Failing:
    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.calls = 0

    def fetch(self, refs):
        self.calls += 1
        raise self.error

    async def afetch(self, refs):
        return self.fetch(refs)


@pytest.mark.parametrize("error", [ConnectionError("refused"), TimeoutError("5 s"), ValueError("bad row")])
async def test_a_store_that_fails_leaves_the_hits_without_neighbors(error: Exception):
    """By default; and the trace says so."""
    store = Failing(error)
    alone = assemble(hits_of([A[5], B[3]]))
    for context in (assemble(hits_of([A[5], B[3]]), store=store), await aassemble(hits_of([A[5], B[3]]), store=store)):
        assert context.text == alone.text
        (noted,) = context.trace.notes
        assert noted == f"store: no neighbors ({type(error).__name__}: {error}), the hits are kept without them"
        assert str(context.trace.missing).startswith(f"The store failed ({type(error).__name__}: ")
        assert context.trace.round_trips == 1
    assert store.calls == 2


async def test_on_store_error_raise_raises_one_clear_error():
    error = ConnectionError("refused")
    config = AssemblyConfig(on_store_error="raise")
    clear = pytest.raises(StoreError, match=r"^neighbors could not be fetched: ConnectionError: refused$")
    with clear as caught:
        assemble(hits_of([A[5]]), config, store=Failing(error))
    with clear as caught_async:
        await aassemble(hits_of([A[5]]), config, store=Failing(error))
    for each in (caught.value, caught_async.value):
        assert each.__cause__ is error
        assert isinstance(each, CtxAssemblyError)


def test_an_interrupt_is_no_store_error():
    with pytest.raises(KeyboardInterrupt):
        assemble(hits_of([A[5]]), store=Failing(KeyboardInterrupt()))  # type: ignore[arg-type]


@pytest.mark.parametrize("retrieved", [True, False])
def test_a_chunk_without_text_leaves_no_gap(retrieved: bool):
    """What stands on both sides of it is adjacent, whether it was retrieved or fetched; nothing is missing there."""
    blank = Chunk("A6", "A", " \n ", index=6)
    store = MemoryStore([*A[:6], blank, *A[7:]])
    context = assemble(hits_of([A[5], A[7], *([blank] if retrieved else [])]), store=store)
    assert standing(context) == ["A4", "A5", "A7", "A8"]
    assert "[...]" not in context.text
    assert store.round_trips == 1
    assert (ChunkRef("A", 6) in store.requests[0]) is not retrieved


def test_disabled_passes_hits_through_in_their_order():
    """Nothing is fetched, joined, grouped or collapsed: each hit is its own block."""
    store = MemoryStore(A)
    hits = hits_of([A[6], B[2], A[5], A[6]], 0.1, 0.2, 0.3, 0.4)
    context = assemble(hits, AssemblyConfig(enabled=False), store=store)
    assert standing(context) == ["A6", "B2", "A5", "A6"]
    assert [citation.label for citation in context.citations] == ["1", "2", "3", "4"]
    assert store.round_trips == 0


def test_the_summary_of_the_trace():
    text = "".join(f"<{n:04} and some more words>" for n in range(60))
    chunks = split("A", text, size=112, overlap=28)
    context = assemble(hits_of([chunks[5], chunks[8]]), store=MemoryStore(chunks))
    joined = count(f"{chunks[5].text}\n\n{chunks[8].text}")
    assert context.trace.summary == (
        f"2 -> 6 chunks, 140 overlapping characters stripped, 0 documents dropped for budget, "
        f"2 hits joined: {joined} tokens; assembled: {context.token_count} of 8,000 tokens, 1 query"
    )
    assert str(context.trace) == context.trace.summary


def test_no_hits_give_an_empty_context_and_ask_nothing():
    """Empty list."""
    store = MemoryStore(A)
    context = assemble([], store=store)
    assert (context.text, context.token_count, context.citations, context.passages) == ("", 0, (), ())
    assert context.trace.summary.startswith("0 -> 0 chunks")
    assert store.round_trips == 0


def test_another_document_begins_a_sentence_after_one_of_signs_alone():
    """Else the sentence of both would be in neither."""
    signs, other = Chunk("a", "A", "3"), Chunk("b", "B", "9]")
    context = assemble(hits_of([signs, other]), query="Which desk?")
    assert [(one.document_id, context.text[slice(*one.span)]) for one in context.provenance] == [
        ("A", "3"),
        ("B", "9]"),
    ]


def test_a_sentence_whose_middle_is_between_two_chunks_is_one_of_the_second():
    """Else it would be in neither, and there would be nothing to choose from."""
    chunks = [Chunk(f"a#{at}", "A", "[", at) for at in range(3)]
    context = assemble(hits_of(chunks), AssemblyConfig(dedup="none"), query="Which desk?")
    assert context.text == "[1] Source: unknown\n[\n[\n["
