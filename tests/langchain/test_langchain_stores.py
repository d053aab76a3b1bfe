from typing import Any

import pytest
from langchain_core.documents import Document

from ctxassembly import ChunkRef
from ctxassembly.errors import ConfigError
from ctxassembly.testing import store_cases
from langchain_ctxassembly import ContextAssembler, VectorStoreNeighbors
from langchain_samples import chunks, document, documents, vector_store


@pytest.mark.parametrize(
    "condition",
    [
        "tenant = 'ours'", 3, ["tenant"], {3: "x"}, {"$not": {}}, {"tenant": {"$regex": "o"}},
        {"tenant": {"name": "ours"}}, {"tenant": {}}, {"tenant": {"$in": "ours"}}, {"tenant": {"$in": 3}},
        {"tenant": None}, {"tenant": {"$eq": {"a": 1}}}, {"tenant": {"$exists": "yes"}}, {"$and": []},
        {"$or": {"tenant": "ours"}}, {"$and": ["tenant"]}, {"": 1},
    ],
)  # fmt: skip
def test_a_filter_that_cannot_be_evaluated_is_an_error_at_construction(condition: Any) -> None:
    with pytest.raises(ConfigError, match=r"^filter"):
        VectorStoreNeighbors(vector_store([]), filter=condition)


# VectorStoreNeighbors


async def test_neighbors_are_got_by_id_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = vector_store(documents("A", "B"))
    asked: list[list[str]] = []
    get = corpus.get_by_ids
    monkeypatch.setattr(corpus, "get_by_ids", lambda ids: asked.append(ids) or get(ids))
    store = VectorStoreNeighbors(corpus)
    refs = [ChunkRef("A", 1), ChunkRef("B", 8), ChunkRef("B", 9), ChunkRef("B", chunk_id="B#0"), ChunkRef("A")]
    expected = ["A#1", "B#8", "B#0"]
    assert [chunk.id for chunk in store.fetch(refs)] == expected
    assert [chunk.id for chunk in await store.afetch(refs)] == expected
    assert asked == [["A#1", "B#8", "B#9", "B#0"]] * 2
    assert store.fetch([]) == []
    assert store.fetch([ChunkRef("A")]) == []
    assert len(asked) == 2


async def test_it_answers_by_id_as_every_store_has_to() -> None:
    corpus = documents("A", "B", tenant="ours")
    store = VectorStoreNeighbors(vector_store(corpus))
    for case in store_cases(chunks(corpus)):
        case.check(store.fetch(case.refs))
        case.check(await store.afetch(case.refs))


def test_ids_may_be_made_in_any_way() -> None:
    stored = [
        Document(id=f"a-{at:03}", page_content=f"part {at}", metadata=document("A", at).metadata) for at in (6, 7)
    ]
    store = VectorStoreNeighbors(
        vector_store(stored), id_of=lambda document_id, index: f"{document_id.lower()}-{index:03}"
    )
    assert [chunk.id for chunk in store.fetch([ChunkRef("A", 6), ChunkRef("A", 7)])] == ["a-006", "a-007"]


@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")  # all that is next to the hit is another's
def test_what_is_not_the_chunk_that_the_id_promises_stays_out() -> None:
    stored = documents("A")
    stored[4] = Document(id="A#4", page_content="another document", metadata={"document_id": "B", "chunk_index": 4})
    stored[6] = Document(id="A#6", page_content="another place", metadata={"document_id": "A", "chunk_index": 16})
    store = VectorStoreNeighbors(vector_store(stored))
    (found,) = ContextAssembler(store=store, neighbors="unfiltered").invoke([document("A", 5)])
    assert found.metadata["chunk_ids"] == ["A#5"]
    assert found.metadata["trace"]["notes"] == [
        "store: 2 chunks were not asked for, left out; the first is 'A#4'",
        found.metadata["trace"]["missing"],
    ]


@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")  # together they let nothing pass
async def test_its_filter_holds() -> None:
    corpus = [document("A", at, tenant="theirs" if at == 6 else "ours") for at in range(9)]
    store = VectorStoreNeighbors(vector_store(corpus), filter={"tenant": "ours"})
    refs = [ChunkRef("A", 4), ChunkRef("A", 6), ChunkRef("A", chunk_id="A#6")]
    assert [chunk.id for chunk in store.fetch(refs)] == ["A#4"]
    assert [chunk.id for chunk in await store.afetch(refs)] == ["A#4"]
    # On top of its own, a filter of the assembler.
    both = ContextAssembler(store=store, filter={"chunk_index": {"$gt": 4}})
    (found,) = both.invoke([document("A", 5)])
    assert found.metadata["chunk_ids"] == ["A#5"]


def test_it_needs_a_vector_store_that_has_documents_by_id() -> None:
    for wrong in (object(), None):
        with pytest.raises(ConfigError, match="vectorstore must be a vector store with get_by_ids"):
            VectorStoreNeighbors(wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="id_of must be a function"):
        VectorStoreNeighbors(vector_store([]), id_of="x")  # type: ignore[arg-type]
