from __future__ import annotations

import io

import pytest
from langchain_core.documents import Document
from rich.console import Console
from sqlalchemy import URL

from demo.ask import CONFIG, Answer, ask
from demo.show import show, show_steps
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


def test_it_says_so_when_nothing_answers(answer: Answer, unanswered: Answer) -> None:
    assert "answers this" not in shown(answer)
    assert unanswered.retrieved.chunks == ()
    assert unanswered.llamaindex_text == unanswered.context.text == ""
    output = shown(unanswered, steps=True)
    assert "Nothing in the Python language reference answers this, it seems: the evidence is 0." in output
    assert output.index("answers this") < output.index("How it was searched")
    assert "Retrieved: " not in output
