"""Chunks that the last answer cited are read again only as the store has them now, under the filter of the call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from adapter_doors import Door
from answers import Answers
from ctxassembly import Chunk, InputError, MemoryIndex

pytestmark = [
    pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning"),
    pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning"),
]
LEFT_OUT = "cited last: 1 of 1 left out, gone or not to be read in this call"
CITED, FOUND = "The board parks under the tower.", "Visitors park behind the market hall."
CHANGED, MASKED = "The board parks in the yard.", "The board parks under the [place]."


def chunk(name: str, text: str, tenant: str = "ours", **metadata: Any) -> Chunk:
    return Chunk(name, f"{name}.pdf", text, metadata={"source": f"{name}.pdf", "tenant": tenant, **metadata})


BOARD, VISITORS = chunk("board", CITED), chunk("visitors", FOUND)
DIRECTORS = chunk("board", CITED, "directors")


@pytest.fixture
def answers(door: Door) -> Answers:
    return Answers(door, "Where do visitors park?")


def asked(answers: Answers, retriever: Any, made: Any = None, condition: Any = None) -> Any:
    """The second question is answered by the visitors' chunk; the board's was cited before."""
    history = answers.history("Where does the board park?", BOARD)
    result = answers.ask(retriever, made, condition, history=history)
    assert FOUND in result.context.text
    return result


def ways(answers: Answers, index: Any) -> list[Any]:
    """The results where the filter stands in the call, in the search, and in the assembler."""
    ours = answers.tenant("ours")
    return [
        asked(answers, answers.search(index), answers.over(index), ours),
        asked(answers, answers.search(index, ours), answers.over(index)),
        asked(answers, answers.search(index), answers.over(index, filter=ours)),
    ]


def test_what_the_store_has_under_the_filter_of_the_call_is_read_again(answers: Answers) -> None:
    index = answers.index(BOARD, VISITORS)
    unfiltered = asked(answers, answers.search(index), answers.over(index, neighbors="unfiltered"))
    for result in (*ways(answers, index), unfiltered):
        assert CITED in result.context.text
        assert not result.notes


def test_a_chunk_that_the_filter_forbids_by_now_or_that_is_gone_stays_out(answers: Answers) -> None:
    for stored in ((DIRECTORS, VISITORS), (VISITORS,)):
        for result in ways(answers, answers.index(*stored)):
            assert CITED not in result.context.text
            assert LEFT_OUT in result.notes


def test_a_chunk_that_is_another_one_by_now_is_not_read_as_it_was(answers: Answers) -> None:
    for result in ways(answers, answers.index(chunk("board", CHANGED), VISITORS)):
        assert CITED not in result.context.text
        assert CHANGED in result.context.text


def test_without_a_told_filter_it_has_to_agree_with_a_hit_of_its_document(answers: Answers) -> None:
    index = answers.index(BOARD, VISITORS)
    search = answers.search(index, answers.tenant("ours"))
    for retriever in (answers.fused(search), answers.search(index), answers.always(VISITORS)):
        assert CITED not in asked(answers, retriever, answers.over(index)).context.text
    for tenant, is_read in (("ours", True), ("theirs", False)):
        near = replace(VISITORS, document_id="board.pdf", metadata={"source": "board.pdf", "tenant": tenant})
        index = answers.index(BOARD, near)
        result = asked(answers, answers.fused(answers.search(index)), answers.over(index))
        assert (CITED in result.context.text) is is_read


def test_without_a_store_that_can_be_asked_nothing_is_read_again_and_a_note_says_so(answers: Answers) -> None:
    result = asked(answers, answers.search(answers.index(BOARD, VISITORS), answers.tenant("ours")))
    assert CITED not in result.context.text
    assert "cited last: left out, since there is no store to ask for them by id" in result.notes


def test_nor_from_a_store_that_fails(answers: Answers) -> None:
    class Down:
        def fetch(self, refs: Any) -> Any:
            raise NotImplementedError("get_nodes not implemented")

    search = answers.search(answers.index(BOARD, VISITORS))
    result = asked(answers, search, answers.door.make(store=Down(), neighbors="unfiltered"))
    assert CITED not in result.context.text
    assert any("cited last: left out (NotImplementedError" in note for note in result.notes)


def masked(chunks: Sequence[Chunk]) -> list[Chunk]:
    return [replace(one, text=one.text.replace("tower", "[place]")) for one in chunks]


async def amasked(chunks: Sequence[Chunk]) -> list[Chunk]:
    return masked(chunks)


def dropped(chunks: Sequence[Chunk]) -> list[Chunk]:
    return [one for one in chunks if "tower" not in one.text]


@pytest.mark.parametrize("transform", [masked, amasked, dropped])
def test_what_is_read_again_is_transformed_as_neighbors_are(answers: Answers, transform: Any) -> None:
    index = answers.index(BOARD, VISITORS)
    made = answers.over(index, neighbors="unfiltered", transform_fetched=transform)
    if transform is amasked and not answers.door.is_async:
        with pytest.raises(InputError, match="transform_fetched can only be awaited"):
            asked(answers, answers.search(index), made)
        return
    result = asked(answers, answers.search(index), made)
    assert CITED not in result.context.text
    assert (MASKED in result.context.text) is (transform is not dropped)
    assert (LEFT_OUT in result.notes) is (transform is dropped)


def test_a_context_retriever_asks_its_index_or_the_store_of_its_assembler(answers: Answers) -> None:
    def read(*chunks: Chunk, made: Any = None) -> set[str]:
        retriever = answers.by_keyword(*chunks, made=made, tenant="ours")
        text = asked(answers, retriever).context.text
        return {one for one in (CITED, CHANGED, MASKED) if one in text}

    assert read(BOARD, VISITORS) == {CITED}
    assert read(DIRECTORS, VISITORS) == set()
    assert read(VISITORS) == set()
    stored = MemoryIndex([chunk("board", CHANGED)])
    assert read(BOARD, VISITORS, made=answers.door.make(store=stored)) == {CHANGED}
    assert read(BOARD, VISITORS, made=answers.door.make(transform_fetched=masked)) == {MASKED}
