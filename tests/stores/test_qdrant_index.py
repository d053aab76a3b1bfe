"""An index on Qdrant finds what one in memory finds; here on qdrant-client's local form, without a server."""

from __future__ import annotations

import copy
import json
import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from index_cases import IndexCase, index_cases
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_qdrant import QdrantVectorStore
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.vector_stores.qdrant import QdrantVectorStore as LlamaIndexStore
from qdrant_client import QdrantClient, models

from ctxassembly import (
    AssemblyConfig,
    Chunk,
    ChunkRef,
    ConfigError,
    InputError,
    MemoryIndex,
    RetrievalConfig,
    aretrieve,
    assemble,
    retrieve,
)
from ctxassembly.data.requests import FindTerms
from ctxassembly.enrichment import EnrichmentConfig, enrich
from ctxassembly.stores.qdrant import QdrantIndex
from langchain_ctxassembly import ContextRetriever

EMBEDDINGS = DeterministicFakeEmbedding(size=8)
WORDS = RetrievalConfig(strategy="keyword")
TEXTS = [
    "Ferritin is measured in the morning.",
    "Eat nothing before it.",
    "A ferritin below 30 is low.",
    "Iron is given then.",
]
CHUNKS = [
    Chunk(f"lab#{at}", "lab", text, at, metadata={"tenant": "ours" if at % 2 else "theirs"})
    for at, text in enumerate(TEXTS)
]


class Watched:
    """A client whose calls are counted."""

    def __init__(self, client: QdrantClient) -> None:
        self.client = client
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.client, name)

        def call(*values: Any, **named: Any) -> Any:
            self.calls[name] += 1
            return found(*values, **named)

        return call if callable(found) else found


class Failing(Watched):
    """A client whose connection is lost in the call of a method that is the last one of `calls_left`."""

    def __init__(self, client: QdrantClient, **calls_left: int) -> None:
        super().__init__(client)
        self.calls_left = calls_left

    def __getattr__(self, name: str) -> Any:
        if name in self.calls_left:
            self.calls_left[name] -= 1
            if not self.calls_left[name]:
                raise ConnectionError("the connection is lost")
        return super().__getattr__(name)


def make_index(chunks: Sequence[Chunk] = CHUNKS, vectors: Any = None) -> QdrantIndex:
    index = QdrantIndex.create(QdrantClient(":memory:"), dimensions=8)
    vectors = EMBEDDINGS.embed_documents([chunk.text for chunk in chunks]) if vectors is None else vectors
    index.add(chunks, vectors, progress=False)
    return index


@pytest.mark.parametrize("case", [*index_cases(make_index)], ids=lambda case: case.name)
def test_all_cases_of_an_index(case: IndexCase):
    case.check()


async def test_awaited_calls_find_the_same():
    index = make_index()
    options = {"index": index, "embed": EMBEDDINGS.embed_query, "filter": {"tenant": "ours"}}
    found, expected = await aretrieve("low feritin", **options), retrieve("low feritin", **options)
    assert [hit.chunk for hit in found.hits] == [hit.chunk for hit in expected.hits] != []
    refs = [ChunkRef("lab", 1)]
    assert await index.afetch(refs) == index.fetch(refs) == [CHUNKS[1]]
    report = await index.aadd(CHUNKS[:2], replace=True, progress=False)
    assert str(report) == "0 added, 2 unchanged, 2 deleted"


def test_ids_of_any_kind_come_back():
    chunks = [
        Chunk(id_, f"document {at}", "Ferritin.", 0) for at, id_ in enumerate(("7", "a/b#0", "é ü", "\\", "x" * 999))
    ]
    index = make_index(chunks)
    assert {hit.chunk.id for hit in retrieve("ferritin", WORDS, index=index).hits} == {chunk.id for chunk in chunks}
    assert [index.fetch([ChunkRef(one.document_id, chunk_id=one.id)]) for one in chunks] == [[one] for one in chunks]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(lambda client: QdrantIndex.create(client, dimensions=9), "8, as the collection has", id="length"),
        pytest.param(
            lambda client: QdrantIndex.create(client, dimensions=8, title="name"),
            "as the collection was made",
            id="title",
        ),
        pytest.param(
            lambda client: QdrantIndex.create(client, dimensions=8).add(CHUNKS, [[1.0]] * 4),
            "8 dimensions",
            id="vector",
        ),
        pytest.param(
            lambda client: QdrantIndex.create(client, dimensions=8).add([replace(CHUNKS[0], document_id="other")]),
            "ids that no other document has",
            id="another document",
        ),
        pytest.param(
            lambda client: QdrantIndex.create(client, dimensions=8).add([*CHUNKS, CHUNKS[0]]),
            "different ids",
            id="twice",
        ),
    ],
)
def test_errors_name_the_reason(make: Callable[[QdrantClient], Any], message: str):
    with pytest.raises(ConfigError, match=message):
        make(make_index().client)


def langchain_store() -> QdrantVectorStore:
    client = QdrantClient(":memory:")
    client.create_collection("docs", models.VectorParams(size=8, distance=models.Distance.COSINE))
    store = QdrantVectorStore(client, "docs", EMBEDDINGS)
    store.add_documents([document(chunk) for chunk in CHUNKS])
    return store


def document(chunk: Chunk) -> Document:
    metadata = {**chunk.metadata, "document_id": chunk.document_id, "chunk_index": chunk.index}
    return Document(page_content=chunk.text, metadata=metadata)


def texts(found: Any) -> list[str]:
    return [hit.chunk.text for hit in found.hits]


def test_attach_to_a_collection_of_langchain():
    store = langchain_store()
    plan = QdrantIndex.attach(store, dry_run=True)
    assert plan[0] == "create sparse vector ctxassembly_words"
    assert "create payload index ctxassembly.title" in plan
    assert plan[-2:] == ["create collection docs_lexemes", "add words and places to 4 chunks"]
    assert not store.client.collection_exists("docs_lexemes")

    index = QdrantIndex.attach(store, progress=False)
    expected = MemoryIndex(CHUNKS)
    for query in ("ferritin low", "mornin", "iron"):
        assert texts(retrieve(query, WORDS, index=index)) == texts(retrieve(query, WORDS, index=expected)) != []
    assert texts(retrieve("is", WORDS, index=index, filter={"tenant": "ours"})) == [TEXTS[3]]
    context = ContextRetriever(index, EMBEDDINGS).context("Which ferritin is low?", filter={"tenant": "theirs"})
    assert TEXTS[2] in context.text
    assert not any(TEXTS[at] in context.text for at in (1, 3))
    assert len(store.similarity_search("ferritin", k=4)) == 4

    # Written, replaced and deleted by the vector store; the words are learned by the next `attach`.
    store.add_documents([Document(page_content="Zinc.", metadata={"document_id": "zinc", "chunk_index": 0})])
    assert index.check().without_words == 1
    assert QdrantIndex.attach(store, dry_run=True)[-1] == "add words and places to 1 chunks"
    index = QdrantIndex.attach(store, progress=False)
    assert texts(retrieve("zinc", WORDS, index=index)) == ["Zinc."]
    store.delete([hit.chunk.id for hit in retrieve("zinc", WORDS, index=index).hits])
    index.refresh()
    assert index.find_terms(FindTerms("zinc", 8, 0)).terms[0].chunk_count == 0
    for change in (lambda: index.add(CHUNKS), lambda: index.delete(["lab"])):
        with pytest.raises(ConfigError, match="the vector store's own"):
            change()


def test_attach_continues_where_a_killed_run_ended():
    store = langchain_store()
    store.add_documents([document(replace(CHUNKS[1], text=f"Part {at}.", index=9 + at)) for at in range(300)])
    store._client = Failing(store.client, batch_update_points=2)
    with pytest.raises(ConnectionError):
        QdrantIndex.attach(store, progress=False)
    assert QdrantIndex.attach(store, dry_run=True)[-1] == "add words and places to 48 chunks"
    index = QdrantIndex.attach(store, progress=False)
    assert index.find_terms(FindTerms("part", 8, 0)).terms[0].chunk_count == 300


def test_attached_documents_are_found_by_titles_and_their_pages_by_offset():
    store = langchain_store()
    index = QdrantIndex.attach(store, progress=False)
    pages = [
        Document(f"Part {at} of page {page}.", metadata={"source": "iron.pdf", "page": page, "start_index": at * 20})
        for page in (1, 2)
        for at in range(3)
    ]
    store.add_documents([*pages, Document("Tired.", metadata={"document_id": "iron", "title": "Iron deficiency"})])
    index = QdrantIndex.attach(store, progress=False).with_filter(None)
    (titled,) = index.fetch([ChunkRef("lab", named_in="Iron deficiency is common.")])
    assert titled.text == "Tired."
    hits = retrieve("page", WORDS, index=index).hits
    last = next(hit for hit in hits if hit.chunk.text == "Part 2 of page 1.")
    context = assemble([last], store=index, config=AssemblyConfig(window=1))
    around = ("Part 1 of page 1.", "Part 2 of page 1.", "Part 0 of page 2.")
    assert {context.text[slice(*source.span)] for source in context.provenance} == {*around}

    # The first chunk of a document is deleted by the vector store: the next one has the title, after a refresh.
    store.add_documents(
        [Document("Weak.", metadata={"document_id": "iron", "title": "Iron deficiency", "start_index": 9})]
    )
    store.delete([titled.id])
    index.refresh()
    assert [chunk.text for chunk in index.fetch([ChunkRef("lab", named_in="Iron deficiency")])] == ["Weak."]


def test_notes_on_attached_chunks_are_found_and_shown_until_the_vector_store_overwrites_them():
    store = langchain_store()
    index = QdrantIndex.attach(store, progress=False)
    asked = [{"chunk": at + 1, "questions": [f"Is zinc {at} low?"]} for at in range(4)]
    reply = json.dumps({"summary": "On iron.", "chunks": asked})
    enrich(
        index,
        lambda _: reply,
        EnrichmentConfig(questions=1, varying_keys=("tenant",)),
        embed=EMBEDDINGS,
        progress=False,
    )
    found = retrieve("zinc 2", WORDS, index=index).hits[0].chunk
    assert (found.text, found.metadata["page_summary"]) == (TEXTS[2], "On iron.")
    assert index.find_terms(FindTerms("zinc", 8, 0)).terms[0].chunk_count == 4
    assert index.check().is_interrupted is False
    store.add_documents([document(CHUNKS[2])], ids=[found.id])
    index = QdrantIndex.attach(store, progress=False)
    assert index.find_terms(FindTerms("zinc", 8, 0)).terms[0].chunk_count == 3
    (outline,) = index.enrichment.outlines(("tenant",))
    assert "" in outline.fingerprints


def test_attach_to_a_collection_of_llamaindex():
    store = LlamaIndexStore("nodes", client=QdrantClient(":memory:"))
    ids = [f"{at:08}-0000-0000-0000-000000000000" for at in range(4)]
    nodes = [
        TextNode(
            text=chunk.text,
            id_=id_,
            metadata={**chunk.metadata, "chunk_index": chunk.index, "doc_id": "inner"},
            embedding=EMBEDDINGS.embed_query(chunk.text),
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="lab")},
        )
        for id_, chunk in zip(ids, CHUNKS, strict=True)
    ]
    store.add(nodes)
    index = QdrantIndex.attach(store, progress=False)
    found = retrieve(
        "ferritin", index=index, embed=EMBEDDINGS.embed_query, filter={"tenant": "theirs", "doc_id": "inner"}
    )
    assert sorted(texts(found)) == sorted([TEXTS[0], TEXTS[2]])
    assert {hit.chunk.document_id for hit in found.hits} == {"lab"}
    assert [chunk.text for chunk in index.fetch([ChunkRef("lab", 1), ChunkRef("lab", chunk_id=ids[3])])] == TEXTS[1::2]
    context = assemble(found.hits[:1], query="ferritin", store=index.with_filter({"tenant": "theirs"}))
    assert not any(TEXTS[at] in str(context) for at in (1, 3))


def test_attach_refuses_what_it_cannot_search():
    client = QdrantClient(":memory:")
    client.create_collection("docs", models.VectorParams(size=8, distance=models.Distance.EUCLID))
    store = QdrantVectorStore(client, "docs", EMBEDDINGS, distance=models.Distance.EUCLID)
    with pytest.raises(ConfigError, match="by cosine"):
        QdrantIndex.attach(store)
    with pytest.raises(InputError, match="a QdrantVectorStore of LangChain or LlamaIndex"):
        QdrantIndex.attach(object())


def test_a_collection_is_of_one_kind():
    store = langchain_store()
    with pytest.raises(ConfigError, match=r"attach\(vectorstore\) indexes others"):
        QdrantIndex.create(store.client, "docs", dimensions=8)
    QdrantIndex.attach(store, progress=False)
    with pytest.raises(ConfigError, match="one of langchain, as it was indexed"):
        QdrantIndex.create(store.client, "docs", dimensions=8)


def test_the_key_of_a_server_is_in_no_pickle():
    options: dict[str, Any] = {"url": "https://one:6333", "api_key": "secret", "check_compatibility": False}
    index = replace(make_index(), client=QdrantClient(**options))
    with pytest.raises((AttributeError, TypeError), match="pickle"):
        pickle.dumps(index)
    assert copy.deepcopy(index) is index
