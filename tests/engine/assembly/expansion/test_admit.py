from __future__ import annotations

from typing import Any

import pytest

from builders import decision, standing, words_of
from ctxassembly import Chunk, Hit, MemoryStore, assemble
from ctxassembly.errors import CtxAssemblyError, InputError

A = [words_of("A", n) for n in range(9)]


@pytest.mark.parametrize("index", ["5", 5.0])
def test_an_odd_index_finds_its_neighbors(index: Any):
    hit = Hit(Chunk("A5", "A", A[5].text, index))
    assert standing(assemble([hit], store=MemoryStore(A))) == ["A4", "A5", "A6"]


@pytest.mark.parametrize(
    ("rule", "given", "score", "note"),
    [
        ("a negative score", -3.5, -3.5, None),
        ("a number in a string", "0.5", 0.5, None),
        ("inf", float("inf"), None, "score inf is no finite number, left out"),
        ("a word", "high", None, "score 'high' is no finite number, left out"),
    ],
)
def test_odd_scores(rule: str, given: Any, score: float | None, note: str | None):
    context = assemble([Hit(A[0], given)])
    assert decision(context, "A0").score == score
    assert A[0].text in context.text
    if note:
        assert context.trace.notes == (f"hit 'A0': {note}",)


def test_chunks_without_a_document_id_are_documents_of_their_own_and_have_no_neighbors():
    store = MemoryStore(A)
    context = assemble([Hit(Chunk("x", "", "One.", 5)), Hit(Chunk("y", "", "Two.", 6))], store=store)
    assert [citation.document_id for citation in context.citations] == ["x", "y"]
    assert {ref.document_id for refs in store.requests for ref in refs} <= {"x", "y"}


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000\u2028 "])
def test_empty_and_white_space_text_is_dropped_as_empty(text: str):
    context = assemble([Hit(Chunk("a", "A", text, 0)), Hit(A[3])])
    assert (decision(context, "a").outcome, decision(context, "a").reason) == ("dropped", "empty")
    assert standing(context) == ["A3"]


def test_a_place_that_two_texts_claim_is_noted_and_both_stay():
    """Duplicate (document, index) with different text."""
    context = assemble([Hit(A[3]), Hit(Chunk("other", "A", "Another text.", 3))])
    assert sorted(standing(context)) == ["A3", "other"]
    (note,) = context.trace.notes
    assert note.startswith("document 'A': two texts have index 3, so which chunks adjoin is unknown")


@pytest.mark.parametrize(
    ("rule", "hits"),
    [
        ("a string", "text"),
        ("bytes", b"text"),
        ("None", None),
        ("an iterator", iter([])),
        ("strings", ["text"]),
        ("chunks that are no hits", [A[0]]),
        ("a hit of something else", [Hit("text")]),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_list_of_hits_is_an_error(rule: str, hits: Any):
    with pytest.raises(InputError, match=r"^hits must be a sequence of Hit, got ") as caught:
        assemble(hits)
    assert isinstance(caught.value, (TypeError, CtxAssemblyError))
