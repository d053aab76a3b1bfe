from __future__ import annotations

import io
from dataclasses import replace

import pytest
from langchain_core.documents import Document
from rich.console import Console
from sqlalchemy import URL

from ctxassembly import Chunk, Retrieved
from ctxassembly.retrieval import RetrievedChunk
from demo.ask import CONFIG, Answer, ask
from demo.show import CONTEXT_LINES, show, show_steps
from demo.store import vector_store

QUESTION = "A true value suppresses the [bold]exception[/]"


@pytest.fixture
def answer(url: URL, chunks: list[Document], console: Console) -> Answer:
    with vector_store(url, chunks, console) as store:
        return ask(store, QUESTION)


@pytest.fixture
def unanswered(url: URL, chunks: list[Document], console: Console) -> Answer:
    with vector_store(url, chunks, console) as store:
        return ask(store, "asdkjh qwe zzzz")


def retrieved(answer: Answer, *chunks: Chunk) -> Answer:
    """The same answer, for which `chunks` were retrieved."""
    found = tuple(RetrievedChunk(chunk, 0.5, ("vector",)) for chunk in chunks)
    return replace(answer, retrieved=Retrieved(QUESTION, found, answer.retrieved.trace))


def shown(answer: Answer, *, steps: bool = False, terminal: bool = False) -> str:
    file = io.StringIO()
    console = Console(file=file, highlight=False, force_terminal=terminal, width=60)
    show(console, QUESTION, answer)
    if steps:
        show_steps(console, answer)
    return file.getvalue()


def test_both_frameworks_give_the_same_context_in_one_round_trip(answer: Answer) -> None:
    assert len(answer.retrieved.chunks) == 6
    assert answer.llamaindex_text == answer.context.text != ""
    assert answer.context.trace.round_trips == 1
    assert answer.context.token_count <= CONFIG.token_limit


def test_the_summary_says_what_assembly_made_of_the_hits(answer: Answer) -> None:
    question, head, retrieved, assembled, left_out, *_ = shown(answer).splitlines()
    assert question == f"Question: {QUESTION}"
    assert head.split() == ["tokens", "repeated", "sources"]
    # Three of the six fragments repeat the others, word for word.
    assert retrieved.split()[:2] == ["as", "retrieved"]
    assert retrieved.split()[3:] == ["50%", "6", "fragments", "of", "2", "documents"]
    tokens = f"{answer.context.token_count:,}"
    # Two documents have the same text, and how a fragment ranks beside its copy is a matter of the last digit.
    documents = f"{len({each.document_id for each in answer.context.citations})}"
    labels = f"{len(answer.context.citations)}"
    assert assembled.split() == ["as", "assembled", tokens, "0%", labels, "labels,", documents, "documents"]
    assert left_out == "chunks left out: duplicate 3"


def test_the_beginning_of_the_context_is_shown(answer: Answer) -> None:
    lines = [f"line {number}" for number in range(100)]
    text = "\n".join(lines)
    context = replace(answer.context, text=text, provenance=())
    output = shown(replace(answer, context=context, llamaindex_text=text))
    assert f"\nline {CONTEXT_LINES - 1}\n... {100 - CONTEXT_LINES} more lines ...\n" in output
    assert "identical" not in output
    assert f"\n{answer.context.text}\n" in shown(answer)


def test_every_step_is_shown_on_request_and_the_context_verbatim(answer: Answer) -> None:
    output = shown(answer, steps=True)
    assert f"Question: {QUESTION}\n" in output
    assert f"\n{answer.context.text}\n" in output
    assert all(f"{rank}. {each.chunk.id}  score " in output for rank, each in enumerate(answer.retrieved.chunks, 1))
    assert all(f"[{each.label}] {each.metadata['source']}: " in output for each in answer.context.citations)
    assert answer.context.trace.summary in output
    assert f"identical: {len(answer.context.text):,} characters" in output


def test_it_is_shown_how_it_was_searched_above_what_was_found(answer: Answer) -> None:
    output = shown(answer, steps=True)
    searched = output[: output.index("Retrieved: ")]
    assert "\nmethod    hybrid_bm25_vector, 2 round trips\n" in searched
    words = searched.partition("\nwords     ")[2].partition(" (the rarer")[0].split(", ")
    weights = [float(word.rpartition(" ")[2]) for word in words]
    assert len(words) == 7
    assert weights == sorted(weights, reverse=True)
    assert "\nsteps     search 6 -> fuse 6 -> limit 6 fragments\n" in searched
    assert f"\nevidence  {answer.retrieved.trace.evidence / 0.5:.1f} times what an answer has at least\n" in searched


def test_a_difference_between_the_frameworks_is_shown(answer: Answer) -> None:
    assert "NOT identical:\nsomething else" in shown(replace(answer, llamaindex_text="something else"))


def test_colors_are_for_terminals(answer: Answer) -> None:
    assert "\x1b[" not in shown(answer)
    assert "\x1b[" in shown(answer, terminal=True)


def test_lines_that_two_fragments_share_are_marked(answer: Answer) -> None:
    # The document is "one\n  two\nthree": the splitter strips white space at the ends of a chunk.
    output = shown(
        retrieved(answer, Chunk("a#1", "a", "two\nthree", 1, start=6), Chunk("a#0", "a", "one\n  two", 0, start=0)),
        steps=True,
    )
    assert "\n≡ two\n  three\n" in output
    assert "\n  one\n≡   two\n" in output


def test_a_fragment_with_the_text_of_a_better_one_is_not_repeated(answer: Answer) -> None:
    output = shown(answer, steps=True)
    twins = [each for each in answer.retrieved.chunks if output.count(f"the same text as {each.chunk.id}") == 1]
    assert len(twins) == 3


def test_the_middle_of_a_long_fragment_is_left_out(answer: Answer) -> None:
    lines = [f"line {number}" for number in range(20)]
    output = shown(retrieved(answer, Chunk("a#0", "a", "\n".join(lines), 0, start=0)), steps=True)
    assert "  line 3\n  ... 12 lines ...\n  line 16\n" in output


def test_it_says_so_when_nothing_answers(answer: Answer, unanswered: Answer) -> None:
    assert "answers this" not in shown(answer)
    assert unanswered.retrieved.chunks == ()
    assert unanswered.llamaindex_text == unanswered.context.text == ""
    output = shown(unanswered, steps=True)
    assert "Nothing in the Python language reference answers this, it seems: the evidence is 0." in output
    assert output.index("answers this") < output.index("How it was searched")
    assert "Retrieved: " not in output
