"""Neighbors from LangChain's vector stores, by ids or by metadata, under each store's own form of a filter."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_community.vectorstores import Chroma as CommunityChroma
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from qdrant_client import QdrantClient, models

from ctxassembly import AssemblyConfig, ChunkRef, MetadataKeys
from ctxassembly.data.chunks import OffsetRange
from ctxassembly.errors import ConfigError
from ctxassembly.testing import store_cases
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, VectorStoreNeighbors, number_chunks
from langchain_samples import WordEmbeddings, chunks, document, documents, memory_store, vector_store
from vector_stores import Chroma, QdrantVectorStore, chroma, faiss, matching, qdrant

CORPUS = [
    document(name, at, tenant="theirs" if at % 2 else "ours", level=at) for name in ("A", "B", "7") for at in range(9)
]
A = CORPUS[:9]
QUERY = CORPUS[4].page_content
REFS = [ChunkRef("A", at) for at in range(2, 7)]
WIDE = AssemblyConfig(window=2, candidate_window=2, cite="document")
OURS = matching(tenant="ours")


def ours(found: Document) -> bool:
    return bool(found.metadata["tenant"] == "ours")


def uuid_of(document_id: str, index: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{document_id}#{index}"))


def places(found: Any) -> list[tuple[str, int]]:
    return sorted((str(chunk.document_id), chunk.index) for chunk in found)


async def both_ways(store: VectorStoreNeighbors, refs: list[ChunkRef]) -> list[tuple[str, int]]:
    found = places(store.fetch(refs))
    assert places(await store.afetch(refs)) == found
    return found


async def chunk_ids(made: Any, given: Any = QUERY) -> list[str]:
    (found,), (awaited,) = made.invoke(given), await made.ainvoke(given)
    assert awaited.page_content == found.page_content
    ids: list[str] = found.metadata["chunk_ids"]
    return ids


# By ids


async def test_neighbors_are_got_by_id_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = vector_store(documents("A", "B"))
    asked: list[list[str]] = []
    get = corpus.get_by_ids
    monkeypatch.setattr(corpus, "get_by_ids", lambda ids: asked.append(ids) or get(ids))
    store = VectorStoreNeighbors(corpus)
    refs = [ChunkRef("A", 1), ChunkRef("B", 8), ChunkRef("B", 9), ChunkRef("B", chunk_id="B#0"), ChunkRef("A")]
    assert await both_ways(store, refs) == [("A", 1), ("B", 0), ("B", 8)]
    assert asked == [["A#1", "B#8", "B#9", "B#0"]] * 2
    assert await both_ways(store, [ChunkRef("A")]) == []
    assert len(asked) == 2


@pytest.mark.parametrize("make", [vector_store, chroma, qdrant])
async def test_it_answers_as_every_store_has_to(make: Callable[..., Any]) -> None:
    store = VectorStoreNeighbors(make(documents("A", "B", tenant="ours")))
    held = chunks(documents("A", "B", tenant="ours"))
    if make is not vector_store:
        # Chroma keeps no order of keys, and Qdrant adds two of its own: what comes back is the measure.
        held = store.fetch([ChunkRef("A"), ChunkRef("B")])
    for case in store_cases(held):
        case.check(store.fetch(case.refs))
        case.check(await store.afetch(case.refs))


def test_an_id_may_be_made_in_any_way_and_be_one_of_several() -> None:
    corpus = [
        Document(id=f"{tenant}-{at}", page_content=f"{tenant} {at}", metadata={**A[at].metadata, "tenant": tenant})
        for tenant in ("ours", "theirs")
        for at in range(3)
    ]
    stored = vector_store(corpus)
    one = VectorStoreNeighbors(stored, id_of=lambda _, index: f"ours-{index}")
    assert [chunk.id for chunk in one.fetch([ChunkRef("A", 1), ChunkRef("A", 7)])] == ["ours-1"]
    several: Any = lambda _, index: [f"ours-{index}", f"theirs-{index}"]  # noqa: E731
    held = VectorStoreNeighbors(stored, id_of=several, filter={"tenant": "theirs"})
    assert [chunk.id for chunk in held.fetch([ChunkRef("A", 1), ChunkRef("A", 7)])] == ["theirs-1"]


@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")  # all that is next to the hit is another's
def test_what_is_not_the_chunk_that_the_id_promises_stays_out() -> None:
    stored = documents("A")
    stored[4] = Document(id="A#4", page_content="another document", metadata={"document_id": "B", "chunk_index": 4})
    stored[6] = Document(id="A#6", page_content="another place", metadata={"document_id": "A", "chunk_index": 16})
    store = VectorStoreNeighbors(vector_store(stored))
    (found,) = ContextAssembler(store=store, neighbors="unfiltered").invoke([document("A", 5)])
    assert found.metadata["chunk_ids"] == ["A#5"]
    assert "store: 2 chunks were not asked for, left out; the first is 'A#4'" in found.metadata["trace"]["notes"]


def test_wrong_parameters_are_errors_at_construction() -> None:
    for wrong in (object(), None):
        with pytest.raises(ConfigError, match="vectorstore must be a vector store with get_by_ids"):
            VectorStoreNeighbors(wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="id_of must be a function"):
        VectorStoreNeighbors(vector_store([]), id_of="x")  # type: ignore[arg-type]
    for seconds in (0, -1, float("inf")):
        with pytest.raises(ConfigError, match="timeout_seconds"):
            VectorStoreNeighbors(vector_store([]), timeout_seconds=seconds)


# By metadata, whatever the ids are

STORES = pytest.mark.parametrize(
    ("make", "condition"),
    [pytest.param(chroma, {"tenant": "ours"}, id="chroma"), pytest.param(qdrant, OURS, id="qdrant")],
)


@STORES
async def test_places_of_several_documents_are_found_under_the_filter(make: Any, condition: Any) -> None:
    more = [Document(page_content=f"n {at}", metadata={"ref_doc_id": 8, "index": at}) for at in (1, 2)]
    corpus = make([*CORPUS, *more])
    store = VectorStoreNeighbors(corpus)
    refs = [ChunkRef("A", 1), ChunkRef("A", 2), ChunkRef("B", 8), ChunkRef("B", 99), ChunkRef("8", 2)]
    assert await both_ways(store, refs) == [("8", 2), ("A", 1), ("A", 2), ("B", 8)]
    assert await both_ways(store, [ChunkRef("7")]) == [("7", at) for at in range(9)]
    assert await both_ways(store, [ChunkRef("nobody's", 1)]) == []
    assert await both_ways(store, []) == []
    for own in (condition, ours):
        held = VectorStoreNeighbors(corpus, filter=own)
        assert await both_ways(held, [*refs[:4], ChunkRef("7")]) == [
            *(("7", at) for at in (0, 2, 4, 6, 8)), ("A", 2), ("B", 8)
        ]  # fmt: skip


def test_qdrant_finds_nested_keys_and_pages_through_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langchain_ctxassembly.stores.filters.PAGE_SIZE", 4)
    nested = [Document(page_content=f"n {at}", metadata={"of": {"doc": "x"}, "no key": at}) for at in range(11)]
    store = VectorStoreNeighbors(qdrant(nested), keys=MetadataKeys(document_id="of.doc", index="no key"))
    assert places(store.fetch([ChunkRef("x")])) == [("x", at) for at in range(11)]
    assert places(store.fetch([ChunkRef("x", 1), ChunkRef("x", 2)])) == [("x", 1), ("x", 2)]


def predicates(where: Any) -> int:
    """The comparisons in a filter of Chroma."""
    if isinstance(where, list):
        return sum(map(predicates, where))
    return sum(predicates(part) if key in ("$and", "$or") else 1 for key, part in where.items())


def test_one_query_is_made_for_all_documents_and_in_chroma_cloud_as_many_as_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    get, scroll = Chroma.get, QdrantClient.scroll
    monkeypatch.setattr(Chroma, "get", lambda self, **more: asked.append(more) or get(self, **more))
    monkeypatch.setattr(QdrantClient, "scroll", lambda self, *a, **more: asked.append(more) or scroll(self, *a, **more))
    refs = [ChunkRef(name, at) for name in ("A", "B", "7") for at in (1, 2)]
    in_chroma = chroma([*CORPUS, *(Document("x", metadata={"source": "s", "start_index": at}) for at in (0, 9, 20))])
    for corpus in (in_chroma, qdrant(CORPUS)):
        asked.clear()
        assert len(VectorStoreNeighbors(corpus).fetch(refs)) == 6
        assert len(asked) == 1
    settings = in_chroma._client.get_settings().model_copy(update={"chroma_server_host": "api.trychroma.com"})
    monkeypatch.setattr(in_chroma._client, "get_settings", lambda: settings)
    asked.clear()
    levels: Any = {"$and": [{"tenant": "ours"}, {"$or": [{"level": {"$lt": 2}}, {"level": {"$gt": 6}}]}]}
    for own, found in ((None, 6), (levels, 0)):
        assert len(VectorStoreNeighbors(in_chroma, filter=own).fetch(refs)) == found
    around = ChunkRef("s", around_offset=OffsetRange(9, 1))
    assert len(VectorStoreNeighbors(in_chroma).fetch([around])) == 3
    assert max(predicates(each["where"]) for each in asked if each.get("where")) <= 8  # its limit


@pytest.mark.filterwarnings("ignore:The store failed")
@pytest.mark.parametrize("make", [chroma, qdrant])
async def test_what_takes_too_long_is_a_timeout_error(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store = VectorStoreNeighbors(make(CORPUS), timeout_seconds=0.05)
    for kind, name in ((Chroma, "get"), (QdrantClient, "scroll")):
        monkeypatch.setattr(kind, name, lambda *_, **__: time.sleep(1))
    with pytest.raises(TimeoutError, match=r"no answer within 0\.05 s"):
        store.fetch([ChunkRef("A", 1)])
    with pytest.raises(TimeoutError, match=r"no answer within 0\.05 s"):
        await store.afetch([ChunkRef("A", 1)])
    (found,) = ContextAssembler(store=store, neighbors="unfiltered").invoke([CORPUS[4]])
    assert CORPUS[4].page_content in found.page_content
    assert "no answer within 0.05 s" in found.metadata["trace"]["notes"][0]


class NoIds:
    """Answers ids as the base class of all vector stores does."""

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        raise NotImplementedError(f"{type(self).__name__} does not yet support get_by_ids.")


class OwnChroma(NoIds, Chroma):
    pass


class OwnQdrant(NoIds, QdrantVectorStore):
    pass


def leaflet(user: str, text: str, *, numbered: bool) -> list[Document]:
    """Chunks of one page, whose places are told by an index or by offsets."""
    found = [
        Document(f"{text} of year {year}.", metadata={"source": "a.pdf", "user": user, "start_index": 17 * year})
        for year in range(8)
    ]
    return number_chunks(found) if numbered else found


@pytest.mark.parametrize("numbered", [False, True])
@pytest.mark.parametrize("kind", [OwnChroma, CommunityChroma, OwnQdrant])
async def test_a_query_of_the_store_serves_where_it_has_none_for_ids(kind: Any, numbered: bool) -> None:
    """Another user's chunks stand at the same places of a file with the same name."""
    corpus = [*leaflet("ann", "Wool", numbered=numbered), *leaflet("bob", "Silk", numbered=numbered)]
    make, condition = (qdrant, matching(user="ann")) if kind is OwnQdrant else (chroma, {"user": "ann"})
    made = ContextAssemblyRetriever.from_vectorstore(
        make(corpus, kind=kind),
        hits=1,
        search_kwargs={"filter": condition},
        config=AssemblyConfig(candidate_window=1),
    )
    assert len(await chunk_ids(made, "Wool of year 3.")) == 3
    assert "Silk" not in made.invoke("Wool of year 3.")[0].page_content


# Under a filter in the vector store's own form, and two at once


def by_uuid(**options: Any) -> Any:
    return qdrant(A, ids=[uuid_of("A", at) for at in range(9)], **options)


def over(corpus: Any, condition: Any = None) -> VectorStoreNeighbors:
    own = {"id_of": uuid_of} if isinstance(corpus, QdrantVectorStore) else {}
    return VectorStoreNeighbors(corpus, filter=condition, **own)


def above(level: int) -> models.Filter:
    return models.Filter(must=[models.FieldCondition(key="metadata.level", range=models.Range(gt=level))])


FORMS = [
    pytest.param(lambda: vector_store(A), ours, lambda each: each.metadata["level"] > 3, id="memory"),
    pytest.param(lambda: chroma(A, [str(one.id) for one in A]), {"tenant": "ours"}, {"level": {"$gt": 3}}, id="chroma"),
    pytest.param(lambda: faiss(A), {"tenant": "ours"}, {"level": {"$gt": 3}}, id="faiss"),
    pytest.param(
        lambda: faiss(A), lambda each: each["tenant"] == "ours", {"$not": {"level": [2, 3]}}, id="faiss-function"
    ),
    pytest.param(lambda: faiss(A), {"tenant": ["ours"]}, lambda each: each["level"] > 3, id="faiss-list"),
    pytest.param(by_uuid, OURS, above(3), id="qdrant"),
    pytest.param(lambda: by_uuid(content_payload_key="text"), OURS, above(3), id="qdrant-keys"),
]


@pytest.mark.parametrize(("make", "condition", "second"), FORMS)
async def test_neighbors_from_it_and_from_any_other_store_are_held_to_its_own_form(
    make: Any, condition: Any, second: Any
) -> None:
    corpus = make()
    assert over(corpus, condition).holds_filter is True
    assert over(corpus).holds_filter is None
    assert await both_ways(over(corpus, condition), REFS) == [("A", 2), ("A", 4), ("A", 6)]
    assert len(await both_ways(over(corpus), REFS)) == 5
    search = corpus.as_retriever(search_kwargs={"k": 1, "filter": condition})
    # The store's own, the assembler's and the search's: all hold.
    for store, own in ((over(corpus), second), (over(corpus, second), None), (over(corpus, second), second)):
        assembler = ContextAssembler(store=store, filter=own, config=WIDE)
        assert await chunk_ids(ContextAssemblyRetriever(retriever=search, assembler=assembler)) == ["A#4", "A#6"]
    for store in (memory_store(A), VectorStoreNeighbors(vector_store(A)), over(faiss(A))):
        assembler = ContextAssembler(store=store, config=WIDE)
        made = ContextAssemblyRetriever(retriever=search, assembler=assembler)
        assert await chunk_ids(made) == ["A#2", "A#4", "A#6"]


TAGS = "metadata.tags"


@pytest.mark.parametrize(
    ("condition", "passes"),
    [
        ({"must": [models.FieldCondition(key=TAGS, match=models.MatchAny(any=["b"]))]}, True),
        ({"must_not": [models.FieldCondition(key=TAGS, match=models.MatchValue(value="b"))]}, False),
        ({"must": [models.IsEmptyCondition(is_empty=models.PayloadField(key="metadata.none"))]}, True),
        ({"should": [above(9), models.FieldCondition(key=TAGS, match=models.MatchValue(value="a"))]}, True),
        ({"must": [models.FieldCondition(key="page_content", match=models.MatchText(text="text"))]}, True),
        ({"must": [models.HasIdCondition(has_id=["y"])]}, False),
    ],
)
@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")  # the hit fails it as well
def test_qdrants_own_conditions_are_decided_as_it_decides_them(condition: Any, passes: bool) -> None:
    """For neighbors that a store of one's own reads beside it."""
    hit, near = (
        Document(f"the text {at}", id=f"A#{at}", metadata={"document_id": "A", "chunk_index": at, "tags": ["a", "b"]})
        for at in (4, 5)
    )

    class Own:
        vectorstore = by_uuid()
        fetch = memory_store([hit, near]).fetch

    (found,) = ContextAssembler(store=Own(), filter=models.Filter(**condition)).invoke([hit])
    assert found.metadata["chunk_ids"] == (["A#4", "A#5"] if passes else ["A#4"])


@pytest.mark.parametrize(
    "condition",
    ["tenant = 'ours'", 3, ["tenant"], {"tenant": {"$regex": "o"}}, {3: 4}],
)
def test_a_form_that_cannot_be_applied_is_an_error_at_construction(condition: Any) -> None:
    for corpus in (vector_store(A), faiss(A)):
        with pytest.raises(ConfigError, match=r"^filter"):
            over(corpus, condition)
        with pytest.raises(ValueError, match="filter"):
            ContextAssemblyRetriever.from_vectorstore(corpus, search_kwargs={"filter": condition})


class Answering(InMemoryVectorStore):
    """Takes any filter."""

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
        return [(CORPUS[4], 1.0)]


async def test_or_when_a_call_gives_it() -> None:
    for store in (None, memory_store(A)):
        made = ContextAssemblyRetriever.from_vectorstore(Answering(WordEmbeddings()), store=store)
        made.retriever.search_kwargs["filter"] = {"tenant": {"$regex": "o%"}}  # type: ignore[attr-defined]
        with pytest.raises(ConfigError, match=r"filter\['tenant'\] must be a value or operators"):
            made.invoke(QUERY)
        with pytest.raises(ConfigError, match=r"filter\['tenant'\] must be a value or operators"):
            await made.ainvoke(QUERY)


def test_a_filter_of_the_stores_own_stands_for_one_that_cannot_be_applied() -> None:
    made = ContextAssemblyRetriever.from_vectorstore(
        Answering(WordEmbeddings()),
        store=VectorStoreNeighbors(vector_store(A), filter=ours),
        search_kwargs={"filter": "tenant = 'ours'", "k": 1},
        config=WIDE,
    )
    assert made.invoke(QUERY)[0].metadata["chunk_ids"] == ["A#2", "A#4", "A#6"]


def test_a_filter_that_is_changed_during_a_search_is_meant_for_another_call() -> None:
    condition = {"tenant": "ours"}

    class Changing(Answering):
        def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
            condition["tenant"] = "theirs"
            return super().similarity_search_with_score(query, k, **kwargs)

    made = ContextAssemblyRetriever.from_vectorstore(
        Changing(WordEmbeddings()),
        store=VectorStoreNeighbors(vector_store(A)),
        search_kwargs={"filter": condition, "k": 1},
        config=WIDE,
    )
    assert made.invoke(QUERY)[0].metadata["chunk_ids"] == ["A#2", "A#4", "A#6"]
