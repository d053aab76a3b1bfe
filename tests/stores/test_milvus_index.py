"""An index on Milvus finds what one in memory finds: on Milvus Lite, or on the server of CTXASSEMBLY_MILVUS_URI."""

from __future__ import annotations

import copy
import os
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_milvus import Milvus
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.utils import node_to_metadata_dict
from pymilvus import AsyncMilvusClient, MilvusClient

from ctxassembly import Chunk, ChunkRef, ConfigError, InputError, MemoryIndex, RetrievalConfig, aretrieve, retrieve
from ctxassembly.retrieval import FindTerms
from ctxassembly.stores.milvus import MilvusIndex
from ctxassembly.stores.milvus.filters import engine_filter, row_key
from ctxassembly.stores.sparse import ingest
from ctxassembly.stores.sparse.ingest import Writer
from ctxassembly.testing import index_cases
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


@dataclass(frozen=True)
class Server:
    """A server, or a file of Milvus Lite, with collections of its own names."""

    uri: str
    client: MilvusClient
    prefix: str
    numbers: Any

    def name(self) -> str:
        """Return the name of a new collection."""
        return f"{self.prefix}_{next(self.numbers)}"

    def index(self, chunks: Sequence[Chunk] = CHUNKS, vectors: Any = None) -> MilvusIndex:
        """Return an index with `chunks`."""
        index = MilvusIndex.create(self.client, self.name(), dimensions=8)
        vectors = EMBEDDINGS.embed_documents([chunk.text for chunk in chunks]) if vectors is None else vectors
        index.add(chunks, vectors, progress=False)
        return index


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server, whose collections are dropped at the end."""
    uri = os.environ.get("CTXASSEMBLY_MILVUS_URI") or str(tmp_path_factory.mktemp("milvus") / "lite.db")
    made = Server(uri, MilvusClient(uri), f"t{uuid4().hex[:8]}", count())
    yield made
    for name in made.client.list_collections():
        if name.startswith(made.prefix):
            made.client.drop_collection(name)
    made.client.close()


@pytest.fixture(scope="module")
def shared(server: Server) -> MilvusIndex:
    """An index that is only read: with 60 chunks of another tenant, and one without an embedding."""
    others = [Chunk(f"{at}", "others", "Ferritin, ferritin!", at, metadata={"tenant": "others"}) for at in range(60)]
    index = server.index([*CHUNKS, *others])
    index.add([Chunk("bare", "bare", "Thyroid.", 0)], progress=False)
    return index


class Watched:
    """A client whose calls are counted."""

    def __init__(self, client: MilvusClient) -> None:
        self.client = client
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.client, name)

        def call(*values: Any, **named: Any) -> Any:
            self.calls[name] += 1
            return found(*values, **named)

        return call if callable(found) else found


def test_all_cases_of_an_index(server: Server):
    for case in index_cases(server.index):
        case.check()


async def test_awaited_calls_find_the_same(server: Server):
    index = server.index()
    aclient = AsyncMilvusClient(server.uri)
    for one in (index, replace(index, aclient=aclient)):
        for filter_ in (None, {"tenant": "ours"}):
            options = {"index": one, "embed": EMBEDDINGS.embed_query, "filter": filter_}
            found, expected = await aretrieve("low feritin", **options), retrieve("low feritin", **options)
            assert [hit.chunk for hit in found.hits] == [hit.chunk for hit in expected.hits] != []
        refs = [ChunkRef("lab", 1)]
        assert await one.afetch(refs) == one.fetch(refs) == [CHUNKS[1]]
    await aclient.close()
    report = await index.aadd(CHUNKS[:2], replace=True, progress=False)
    assert str(report) == "0 added, 2 unchanged, 2 deleted"


@pytest.mark.parametrize(
    ("query", "condition", "trips"),
    [
        ("ferritin", None, 2),
        ("ferritin and iron", {"tenant": "ours"}, 3),  # "and" is in no chunk: near words are looked up
        ("ferritin", {"tenant": "ours"}, 2),
        ("ferritin", {"$and": [{"tenant": {"$in": ["ours", "x"]}}, {"document_id": "lab"}]}, 2),
        ("ferritin", {"$not": {"tenant": {"$ne": "ours"}}}, 2),
    ],
)
def test_a_question_takes_two_or_three_round_trips(shared: MilvusIndex, query: str, condition: Any, trips: int):
    watched = Watched(shared.client)
    found = retrieve(
        query,
        RetrievalConfig(limit=3),
        index=replace(shared, client=watched),
        embed=EMBEDDINGS.embed_query,
        filter=condition,
    )
    assert len(found.hits) == (2 if condition else 3)
    assert watched.calls.total() == trips


def test_a_filter_that_is_not_sent_is_asked_for_further(shared: MilvusIndex):
    watched = replace(shared, client=Watched(shared.client))
    for condition in ({"$not": {"tenant": "others"}}, lambda chunk: chunk.metadata.get("tenant") == "ours"):
        options = {"embed": EMBEDDINGS.embed_query, "filter": condition}
        found = retrieve("ferritin", RetrievalConfig(limit=3), index=watched, **options)
        assert {hit.chunk.document_id for hit in found.hits} == {"lab"}
    assert watched.client.calls["search"] > 0


def test_a_chunk_without_an_embedding_is_found_by_words_alone(shared: MilvusIndex):
    vector = [1.0, *[0.0] * 7]
    (found,) = retrieve("thyroid", WORDS, index=shared).hits
    assert found.chunk.id == "bare"
    similar = retrieve("x", RetrievalConfig(strategy="vector", limit=100), index=shared, embed=lambda _: vector)
    assert "bare" not in {hit.chunk.id for hit in similar.hits}


def test_ids_of_any_kind_come_back(server: Server):
    ids = ("7", "a/b#0", "é ü", "\\", 'a"b', "a\\", "x" * 999)
    chunks = [Chunk(id_, f"document {id_}", "Ferritin.", 0) for id_ in ids]
    index = server.index(chunks)
    assert {hit.chunk.id for hit in retrieve("ferritin", WORDS, index=index).hits} == {*ids}
    assert [index.fetch([ChunkRef(one.document_id, chunk_id=one.id)]) for one in chunks] == [[one] for one in chunks]
    report = index.add(chunks, EMBEDDINGS.embed_documents(["Ferritin."] * len(ids)), progress=False)
    assert str(report) == f"0 added, {len(ids)} unchanged, 0 deleted"
    assert index.delete([one.document_id for one in chunks]) == len(ids)


@pytest.mark.parametrize(
    ("filter_", "expected"),
    [
        ({"tenant": "ours"}, '((metadata["tenant"] == "ours"))'),
        ({"tenant": {"$ne": "ours"}}, ""),
        ({"$not": {"tenant": "ours"}}, ""),  # a chunk without the key would pass
        ({"$not": {"tenant": {"$ne": "ours"}}}, '((metadata["tenant"] == "ours"))'),
        ({"ok": True}, '((metadata["ok"] == true))'),  # passes 1, too, in Milvus Lite
        ({"year": {"$in": [2020, 2022]}}, '((metadata["year"] >= 2020 and metadata["year"] <= 2022))'),
        ({"tenant": {"$in": ["a", "b"]}}, '((metadata["tenant"] == "a") or (metadata["tenant"] == "b"))'),
        ({"tenant": {"$in": []}}, 'pk == ""'),
        ({"tenant": {"$in": [str(at) for at in range(300)]}}, ""),
        ({"tags": ["x"]}, ""),
        ({"tenant": {"$like": "o\\%"}}, ""),
        ({"tenant": 'x" or "1" == "1'}, ""),  # what needs an escape isn't sent
        ({"tenant": "\\"}, ""),
        ({'a"]': 1}, ""),
        ({"tenant": "O'Brien"}, '((metadata["tenant"] == "O\'Brien"))'),
        ({"at.page": {"$gt": 2}}, '(metadata["at"]["page"] >= 2) or (metadata["at.page"] >= 2)'),
        ({"chunk_index": {"$lt": 1e-7}}, '(ctxassembly["index"] <= 1e-07)'),
        ({"document_id": 'd"'}, f'document in ["{row_key(chr(100) + chr(34))}"]'),
        ({"document_id": {"$gt": "d"}}, ""),
        (lambda _: True, ""),
    ],
)
def test_a_filter_is_sent_as_far_as_milvus_reads_it_alike(filter_: Any, expected: str):
    sent = engine_filter([filter_, None])
    assert sent.replace("(", "").replace(")", "") == expected.replace("(", "").replace(")", "")


def test_what_is_sent_can_be_read(shared: MilvusIndex):
    for condition in ({"tenant": "O'Brien"}, {"chunk_index": {"$lt": 1e-7}}, {"at.page": -1.5}, {"tenant": "{x} %"}):
        shared.with_filter(condition).fetch([ChunkRef("lab")])
    found = shared.with_filter({"chunk_index": {"$lt": 1e-7}}).fetch([ChunkRef("lab")])
    assert [chunk.index for chunk in found] == [0]


@pytest.mark.parametrize(
    "chunk",
    [Chunk("a", "d", "é" * 40_000, 0), Chunk("a", "d", "x", 0, metadata={"notes": "x" * 70_000})],
    ids=["text", "metadata"],
)
def test_a_chunk_that_milvus_cannot_hold_is_an_error(shared: MilvusIndex, chunk: Chunk):
    with pytest.raises(InputError, match="at most 65,535 bytes for Milvus"):
        shared.add([chunk], progress=False)
    shared.refresh()


def test_deleted_documents_leave_no_words(server: Server):
    index = server.index([*CHUNKS, Chunk("x", "other", "Ferritin, zinc.", 0)])
    assert index.delete(["other", "unknown"]) == 1
    found = retrieve("zinc", WORDS, index=index)
    assert (found.hits, index.check().chunks, index.check().counted) == ((), 4, 4)
    assert len(retrieve("ferritin", WORDS, index=index).hits) == 2


def test_a_killed_run_is_finished_with_the_right_counts(server: Server, monkeypatch: pytest.MonkeyPatch):
    index = server.index(CHUNKS[:1])
    with monkeypatch.context() as patched:
        patched.setattr(Writer, "change_counts", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            index.add(CHUNKS, embed=EMBEDDINGS, progress=False)
    assert "call refresh()" in str(index.check())
    index.add(CHUNKS, embed=EMBEDDINGS, progress=False)
    assert str(index.check()) == "4 chunks, 4 counted, 0 without words"
    one, other = (retrieve("ferritin is low", WORDS, index=index) for index in (index, MemoryIndex(CHUNKS)))
    assert [hit.score for hit in one.hits] == pytest.approx([hit.score for hit in other.hits])


def test_counts_that_runs_at_once_have_missed_are_counted_again(server: Server):
    """The second run reads counts before the first has written its own, and writes over them."""
    index = server.index([])
    read = index._engine.read_counts(["ferritin"])
    index.add(CHUNKS, progress=False)
    index._engine.write_counts({"ferritin": read.get("ferritin", 0) + 1, "gone": 1})
    index.refresh()
    assert asked(index, "ferritin gone") == [2, 0]


def asked(index: Any, text: str) -> list[int]:
    return [term.chunk_count for term in index.find_terms(FindTerms(text, 9, 0)).terms]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(
            lambda index: MilvusIndex.create(index.client, index.layout.collection, dimensions=9),
            "8, as the collection has",
            id="length",
        ),
        pytest.param(
            lambda index: MilvusIndex.create(index.client, index.layout.collection, dimensions=8, title="name"),
            "as the collection was made",
            id="title",
        ),
        pytest.param(lambda index: index.add(CHUNKS, [[1.0]] * 4), "8 dimensions", id="vector"),
        pytest.param(
            lambda index: index.add([replace(CHUNKS[0], document_id="other")]),
            "ids that no other document has",
            id="another document",
        ),
    ],
)
def test_errors_name_the_reason(shared: MilvusIndex, make: Callable[[MilvusIndex], Any], message: str):
    with pytest.raises(ConfigError, match=message):
        make(shared)
    shared.refresh()


# Copies of what a vector store has written


def langchain_store(server: Server, **options: Any) -> Milvus:
    store = Milvus(EMBEDDINGS, collection_name=server.name(), connection_args={"uri": server.uri}, **options)
    store.add_documents([document(chunk) for chunk in CHUNKS], ids=[chunk.id for chunk in CHUNKS])
    return store


def document(chunk: Chunk) -> Document:
    metadata = {**chunk.metadata, "document_id": chunk.document_id, "chunk_index": chunk.index}
    return Document(page_content=chunk.text, metadata=metadata)


def texts(found: Any) -> list[str]:
    return [hit.chunk.text for hit in found.hits]


@pytest.mark.parametrize("options", [{}, {"enable_dynamic_field": True}], ids=["fields", "dynamic"])
def test_an_index_over_a_copy_of_what_langchain_wrote(server: Server, options: dict[str, Any]):
    store = langchain_store(server, **options)
    name = f"{store.collection_name}_ctxassembly"
    plan = [f"create collection {name}", f"create collection {name}_lexemes", "copy 4 chunks"]
    assert MilvusIndex.from_vectorstore(store, dry_run=True) == plan
    assert not server.client.has_collection(name)

    index = MilvusIndex.from_vectorstore(store, progress=False)
    for query in ("ferritin low", "mornin", "iron"):
        assert texts(retrieve(query, WORDS, index=index)) == texts(retrieve(query, WORDS, index=MemoryIndex(CHUNKS)))
    context = ContextRetriever(index, EMBEDDINGS).context("Which ferritin is low?", filter={"tenant": "theirs"})
    assert TEXTS[2] in context.text
    assert not any(TEXTS[at] in context.text for at in (1, 3))

    store.add_documents([document(Chunk("zinc", "z", "Zinc.", 0, metadata={"tenant": "ours"}))], ids=["zinc"])
    store.delete(["lab#0"])
    assert MilvusIndex.from_vectorstore(store, dry_run=True) == ["copy 1 chunks"]
    index = MilvusIndex.from_vectorstore(store, progress=False)
    assert asked(index, "zinc ferritin morning") == [1, 1, 0]
    assert len(store.similarity_search("ferritin", k=9)) == index.check().chunks == 4
    for change in (lambda: index.add(CHUNKS), lambda: index.delete(["lab"])):
        with pytest.raises(ConfigError, match="the vector store's own"):
            change()


def test_a_copy_goes_on_where_a_killed_run_ended(server: Server, monkeypatch: pytest.MonkeyPatch):
    store = langchain_store(server)
    monkeypatch.setattr(ingest, "BATCH_SIZE", 2)
    batches, write = count(), Writer._write
    with monkeypatch.context() as patched:
        patched.setattr(Writer, "_write", lambda *given: write(*given) if not next(batches) else 1 / 0)
        with pytest.raises(ZeroDivisionError):
            MilvusIndex.from_vectorstore(store, progress=False)
    assert MilvusIndex.from_vectorstore(store, dry_run=True) == ["copy 2 chunks"]
    assert asked(MilvusIndex.from_vectorstore(store, progress=False), "ferritin") == [2]


def test_an_index_over_a_copy_of_what_llamaindex_wrote(server: Server):
    """The rows of MilvusVectorStore, without itself: it needs an older pymilvus than langchain-milvus does."""
    name = server.name()
    server.client.create_collection(name, 8, "id", "string", vector_field_name="embedding", max_length=65_535)
    rows = []
    for chunk in CHUNKS:
        node = TextNode(
            text=chunk.text,
            id_=chunk.id,
            metadata={**chunk.metadata, "chunk_index": chunk.index, "doc_id": "inner"},
            excluded_llm_metadata_keys=["tenant"],
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="lab")},
        )
        row = node_to_metadata_dict(node, remove_text=True, text_field="text")
        rows.append({**row, "text": node.text, "id": chunk.id, "embedding": EMBEDDINGS.embed_query(chunk.text)})
    server.client.upsert(name, rows)
    store = SimpleNamespace(
        client=server.client, collection_name=name, text_key="text", embedding_field="embedding", doc_id_field="doc_id"
    )
    index = MilvusIndex.from_vectorstore(store, progress=False)
    condition = {"tenant": "theirs", "doc_id": "inner"}
    found = retrieve("ferritin", index=index, embed=EMBEDDINGS.embed_query, filter=condition)
    assert sorted(texts(found)) == sorted([TEXTS[0], TEXTS[2]])
    assert {(hit.chunk.document_id, hit.chunk.hidden_from_model) for hit in found.hits} == {
        ("lab", frozenset(["tenant"]))
    }
    refs = [ChunkRef("lab", 1), ChunkRef("lab", chunk_id="lab#3")]
    assert sorted(chunk.text for chunk in index.fetch(refs)) == sorted(TEXTS[1::2])


def test_a_page_keeps_its_own_offsets_in_a_copy(server: Server):
    store = Milvus(EMBEDDINGS, collection_name=server.name(), connection_args={"uri": server.uri})
    store.add_documents([Document("Iron.", metadata={"source": "a.pdf", "page": 3, "start_index": 7})], ids=["1"])
    (hit,) = retrieve("iron", WORDS, index=MilvusIndex.from_vectorstore(store, progress=False)).hits
    assert (hit.chunk.start, hit.chunk.origin.section) == (7, (("page", 3),))


def test_a_collection_is_of_one_kind(server: Server):
    store = langchain_store(server)
    with pytest.raises(ConfigError, match=r"from_vectorstore\(vectorstore\) copies others"):
        MilvusIndex.create(server.client, store.collection_name, dimensions=8)
    with pytest.raises(InputError, match="a Milvus vector store of LangChain or LlamaIndex"):
        MilvusIndex.from_vectorstore(object())
    empty = Milvus(EMBEDDINGS, collection_name=server.name(), connection_args={"uri": server.uri})
    with pytest.raises(InputError, match="add the documents"):
        MilvusIndex.from_vectorstore(empty)


def test_langchain_reads_a_collection_that_create_made(server: Server, shared: MilvusIndex):
    args = {"connection_args": {"uri": server.uri}, "collection_name": shared.layout.collection}
    store = Milvus(EMBEDDINGS, metadata_field="metadata", **args)
    (found,) = store.similarity_search(TEXTS[2], k=1)
    assert (found.page_content, found.metadata["tenant"]) == (TEXTS[2], "theirs")


def test_a_pickled_index_has_a_client_of_its_own_and_no_secret(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    index = server.index().with_filter({"tenant": "ours"})
    sent = pickle.loads(pickle.dumps(index))
    assert (sent.layout, sent.filters, sent.keys) == (index.layout, index.filters, index.keys)
    assert sent.fetch([ChunkRef("lab")]) == index.fetch([ChunkRef("lab")])
    assert copy.deepcopy(index) is copy.copy(index) is index
    config = SimpleNamespace(uri="https://one:443", token="secret", db_name="", get_handler_kwargs=dict)
    with_token = replace(index, client=SimpleNamespace(_config=config))
    with pytest.raises(ConfigError, match="MILVUS_TOKEN of each process"):
        pickle.dumps(with_token)
    monkeypatch.setenv("MILVUS_TOKEN", "secret")
    assert b"secret" not in pickle.dumps(with_token)
    config.uri = "https://user:secret@one:443"
    with pytest.raises(ConfigError, match="not one in the URI"):
        pickle.dumps(with_token)
