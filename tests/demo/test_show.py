from __future__ import annotations

import io
from dataclasses import replace

import pytest
from langchain_core.documents import Document
from rich.console import Console
from sqlalchemy import URL

from demo.ask import CONFIG, Answer, ask
from demo.show import show
from demo.store import vector_store

QUESTION = "Who suppresses [bold]exceptions[/]?"


@pytest.fixture
def answer(url: URL, chunks: list[Document], console: Console) -> Answer:
    with vector_store(url, chunks, console) as store:
        return ask(store, QUESTION)


def shown(answer: Answer, *, terminal: bool = False) -> str:
    file = io.StringIO()
    show(Console(file=file, highlight=False, force_terminal=terminal, width=60), QUESTION, answer)
    return file.getvalue()


def test_both_frameworks_give_the_same_context_in_one_round_trip(answer: Answer) -> None:
    assert len(answer.retrieved) == 6
    assert answer.llamaindex_text == answer.context.text != ""
    assert answer.context.trace.round_trips == 1
    assert answer.context.token_count <= CONFIG.token_limit


def test_everything_is_shown_and_the_context_verbatim(answer: Answer) -> None:
    output = shown(answer)
    assert f"Question: {QUESTION}\n" in output
    assert f"\n{answer.context.text}\n" in output
    assert all(f"{rank}. {each.id}  score " in output for rank, each in enumerate(answer.retrieved, 1))
    assert all(f"[{each.label}] {each.metadata['source']}: " in output for each in answer.context.citations)
    assert answer.context.trace.summary in output
    assert f"identical: {len(answer.context.text):,} characters" in output


def test_a_difference_between_the_frameworks_is_shown(answer: Answer) -> None:
    assert "NOT identical:\nsomething else" in shown(replace(answer, llamaindex_text="something else"))


def test_colours_are_for_terminals(answer: Answer) -> None:
    assert "\x1b[" not in shown(answer)
    assert "\x1b[" in shown(answer, terminal=True)


def test_lines_that_two_fragments_share_are_marked(answer: Answer) -> None:
    def fragment(index: int, start: int, text: str) -> Document:
        place = {"document_id": "a", "start_index": start, "relevance_score": 0.5}
        return Document(id=f"a#{index}", page_content=text, metadata=place)

    # The document is "one\n  two\nthree": the splitter strips white space at the ends of a chunk.
    output = shown(replace(answer, retrieved=[fragment(1, 6, "two\nthree"), fragment(0, 0, "one\n  two")]))
    assert "\n≡ two\n  three\n" in output
    assert "\n  one\n≡   two\n" in output


def test_a_fragment_with_the_text_of_a_better_one_is_not_repeated(answer: Answer) -> None:
    output = shown(answer)
    twins = [each for each in answer.retrieved if output.count(f"the same text as {each.id}") == 1]
    assert len(twins) == 3


def test_the_middle_of_a_long_fragment_is_left_out(answer: Answer) -> None:
    place = {"document_id": "a", "start_index": 0, "relevance_score": 0.5}
    lines = [f"line {number}" for number in range(20)]
    output = shown(replace(answer, retrieved=[Document(id="a#0", page_content="\n".join(lines), metadata=place)]))
    assert "  line 3\n  ... 12 lines ...\n  line 16\n" in output


def test_it_says_so_when_nothing_answers(answer: Answer) -> None:
    assert "answers this" not in shown(answer)
    far = [
        each.model_copy(update={"metadata": {**each.metadata, "relevance_score": 0.13}}) for each in answer.retrieved
    ]
    for retrieved, best in ((far, "0.13"), ([], "0.00")):
        said = shown(replace(answer, retrieved=retrieved))
        assert f"no fragment has a similarity of more than {best}" in said
        assert said.index("answers this") < said.index("Retrieved: ")
