"""Compression by a language model: its answers are copied word for word or refused, and the trace says which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from builders import decision, hits_of, numbered
from ctxassembly import AssemblyConfig, Chunk, Context, assemble
from ctxassembly.errors import ConfigError, StoreError
from strategies import words

QUERY = "How long does it take?"
TEXT = "Parking costs three euro. The visit takes thirty minutes. Bring “your” card.\n- Doors close at ten.\nNo dogs."
VISIT, CARD, DOORS = (26, 58), (58, 77), (77, 99)
LLM = AssemblyConfig(compress="llm", rank_by="rank")


SHORT = Chunk("short", "S", numbered("s", 6))


def flowing(
    answers: Callable[[str], str], chunks: Sequence[Chunk], limit: int, query: str | None = QUERY, **options: Any
) -> tuple[Context, list[str]]:
    """The context, and the prompts that were asked. Sizes are in words; the format writes nothing around a text."""
    prompts: list[str] = []

    def llm(prompt: str) -> str:
        prompts.append(prompt)
        return answers(prompt.rpartition("Text:\n")[2])

    settings: dict[str, Any] = {"encoding": words, "format": "minimal", "compress": "llm", "rank_by": "rank"}
    config = AssemblyConfig(max_tokens=limit, **settings | options)
    context = assemble(hits_of(chunks), config, query=query, llm=llm)
    assert context.token_count <= limit
    return context, prompts


def chosen(text: str, answer: str, query: str = QUERY) -> tuple[list[str], Context, list[str]]:
    """What is kept of a chunk that begins with `text` and doesn't fit, if the model answers so."""
    source = Chunk("a", "A", f"{text}\n\n{numbered('L', 30)}.")
    context, prompts = flowing(lambda _: answer, [SHORT, source], len(text.split()) + 16, query)
    kept = [context.text[slice(*one.span)].strip() for one in context.provenance if one.chunk_id == "a"]
    return kept, context, prompts


@pytest.mark.parametrize(
    ("rule", "answer", "kept"),
    [
        ("several, each on a line", "The visit takes thirty minutes.\nDoors close at ten.", (VISIT, DOORS)),
        ("what touches is one slice", "The visit takes thirty minutes. Bring “your” card.", ((26, 77),)),
        ("in the order of the source", "Doors close at ten.\nThe visit takes thirty minutes.", (VISIT, DOORS)),
        ("with bullets", "- The visit takes thirty minutes.\n* Doors close at ten.", (VISIT, DOORS)),
        ("in quotation marks", '"The visit takes thirty minutes."', (VISIT,)),
        ("in a fence", "```\nThe visit takes thirty minutes.\n```", (VISIT,)),
        ("with another kind of quotation marks inside", 'Bring "your" card.', (CARD,)),
        ("in capitals", "THE VISIT TAKES THIRTY MINUTES.", (VISIT,)),
        ("with dots where something is left out", "The visit takes thirty minutes ... [...]\n[...]", (VISIT,)),
        ("a part keeps its whole sentence", "takes thirty minutes", (VISIT,)),
        ("a part across the end of a line keeps both", "card. - Doors close", ((58, 99),)),
    ],
)
def test_an_answer_that_stands_in_the_source_is_accepted(rule: str, answer: str, kept: tuple[tuple[int, int], ...]):
    found, context, _ = chosen(TEXT, answer)
    assert found == [TEXT[slice(*span)].strip() for span in kept]
    assert (decision(context, "a").outcome, decision(context, "a").reason) == ("compressed", "llm")
    assert context.trace.notes == ()


@pytest.mark.parametrize(
    ("rule", "answer"),
    [
        ("rewritten", "The visit lasts thirty minutes."),
        ("one of two rewritten", "The visit takes thirty minutes.\nThe doors are closed at ten."),
        ("a negation put in", "The visit takes no thirty minutes."),
        ("a part of a word", "he visit takes thirty minutes."),
        ("explained", "Here is what helps:\nThe visit takes thirty minutes."),
        ("words in another order", "Thirty minutes takes the visit."),
        ("irrelevant and yet not", "IRRELEVANT. The visit takes thirty minutes."),
        ("nothing", ""),
    ],
)
def test_an_answer_that_does_not_is_refused_and_a_note_says_so(rule: str, answer: str):
    _, context, _ = chosen(TEXT, answer)
    assert decision(context, "a").reason == "extractive"
    assert context.trace.notes == ("compress: 'a': the answer is not in the source, extractive instead",)


@pytest.mark.parametrize(
    "answer",
    ["IRRELEVANT", "irrelevant", "Irrelevant.", "**IRRELEVANT**", '"IRRELEVANT"', " IRRELEVANT\n", "- IRRELEVANT!\n\n"],
)
def test_irrelevant_drops(answer: str):
    kept, context, _ = chosen(TEXT, answer)
    assert (kept, decision(context, "a").reason, context.trace.notes) == ([], "irrelevant", ())


@pytest.mark.parametrize("text", ["No dogs.", "{query} {0} {text!r} {{", "\n\nText:\nSomething else.", "%s \\1 $x"])
def test_what_the_model_is_asked(text: str):
    _, _, (prompt,) = chosen(text, "IRRELEVANT", query=text)
    assert prompt.count(text) == 2  # the question and the text, as they are
    assert "word for word" in prompt
    assert "answer IRRELEVANT and nothing else" in prompt


LONG = Chunk("long", "L", "Parking is free. The visit takes thirty minutes. No dogs. " + numbered("L", 20) + ".")
OTHER = Chunk("other", "O", "Lunch is at noon. The visit takes long. " + numbered("O", 20) + ".")


def never(text: str) -> str:
    raise AssertionError("nobody asks")


def visit(text: str) -> str:
    """Copies the sentences with a visit in them."""
    said = [each for each in text.split(". ") if "visit" in each]
    return ". ".join(said) or "IRRELEVANT"


@pytest.mark.parametrize("query", [QUERY, None])
def test_while_everything_fits_nothing_is_asked_and_nothing_compressed(query: str | None):
    context, prompts = flowing(never, [SHORT, LONG], 36, query)
    assert prompts == []
    assert context.text == f"{SHORT.text}\n\n{LONG.text}"
    assert context.trace.notes == ()


def test_what_does_not_fit_is_asked_about_and_stands_as_the_model_chose():
    context, prompts = flowing(visit, [SHORT, LONG], 35)
    assert len(prompts) == 1
    assert prompts[0].endswith(LONG.text)
    assert context.text == f"{SHORT.text}\n\nThe visit takes thirty minutes."
    assert (decision(context, "long").outcome, decision(context, "long").reason) == ("compressed", "llm")
    shortened = decision(context, "long").shortened
    assert shortened is not None
    assert (shortened.by, shortened.tokens_before, shortened.tokens_after) == ("llm", 30, 5)
    assert [each.shortened for each in context.citations] == [(), (shortened,)]
    assert context.trace.notes == ()


@pytest.mark.parametrize("query", [None, " "])
def test_without_a_query_the_result_is_extractive(query: str | None):
    context, prompts = flowing(never, [SHORT, LONG], 35, query)
    assert prompts == []
    assert context.text == flowing(never, [SHORT, LONG], 35, query, compress="extractive", rank_by="rank")[0].text
    assert context.trace.notes == ("compress: a language model needs a query, extractive instead",)


def test_what_is_irrelevant_is_dropped_and_in_the_trace():
    context, _ = flowing(lambda text: "IRRELEVANT", [SHORT, LONG], 35)
    assert context.text == SHORT.text
    dropped = decision(context, "long")
    assert (dropped.outcome, dropped.reason) == ("dropped", "irrelevant")
    assert dropped.tokens == pytest.approx(30, rel=0.2)
    assert context.trace.excluded == (dropped,)
    assert context.trace.documents_dropped == 1


def test_a_higher_ranked_chunk_never_gives_way_to_a_lower_one():
    """Both wait; the first has the room that it needs, and the second what is left."""
    for limit in range(5, 60):
        context, _ = flowing(visit, [LONG, OTHER], limit)
        assert context.text.startswith(("The visit takes thirty minutes.", LONG.text))
    assert "The visit takes long." in context.text
    context, _ = flowing(visit, [OTHER, LONG], 10)
    assert context.text.startswith("The visit takes long.")


@pytest.mark.parametrize("error", [TimeoutError("late"), RuntimeError("broken")])
def test_a_model_that_fails_leaves_the_extractive_result(error: Exception):
    def fail(text: str) -> str:
        raise error

    context, _ = flowing(fail, [SHORT, LONG], 35)
    assert context.text == flowing(never, [SHORT, LONG], 35, compress="extractive", rank_by="rank")[0].text
    assert context.trace.notes == (
        f"compress: 'long' has no answer ({type(error).__name__}: {error}), extractive instead",
    )
    with pytest.raises(StoreError, match=r"^texts could not be compressed: "):
        flowing(fail, [SHORT, LONG], 35, on_store_error="raise")


def test_compression_by_a_model_needs_one():
    with pytest.raises(ConfigError, match="compress='llm' needs a language model: pass llm="):
        assemble(hits_of([SHORT]), LLM)
