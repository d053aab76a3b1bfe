"""`number_stored_chunks` over a real PostgreSQL: tables as PGVectorStore makes them, filled as users fill them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import pytest
import sqlalchemy
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import BaseNode, MetadataMode, QueryBundle, TextNode
from llama_index.vector_stores.postgres import PGVectorStore
from sqlalchemy import NullPool, make_url

from ctxassembly import AssemblyConfig, ChunkRef, MetadataKeys, NothingToJoinWarning
from ctxassembly.errors import ConfigError
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, PGVectorNeighbors, number_stored_chunks
from llamaindex_samples import WordEmbedding, scored

HOSTILE = "O'Brien's \"x\" %(a)s :b.pdf"
YEARS = [f"In year {year} the weavers of the valley paid {year + 7} bales of wool." for year in range(60)]
SPLITTER = SentenceSplitter(chunk_size=90, chunk_overlap=20)
QUERY = "How many bales of wool did the weavers pay in year 12?"
Stored = Callable[..., PGVectorStore]


@pytest.fixture(params=["json", "jsonb"])
def stored(database_url: str, request: pytest.FixtureRequest) -> Iterator[Stored]:
    """Makes a store of those nodes, with an index over it as users make one."""
    url = make_url(database_url)
    made: list[PGVectorStore] = []

    def make(nodes: Sequence[BaseNode], schema: str = "Public") -> PGVectorStore:
        store = PGVectorStore(
            connection_string=url.set(drivername="postgresql+psycopg2"),
            async_connection_string=url.set(drivername="postgresql+asyncpg"),
            table_name="chunks",
            schema_name=schema,
            embed_dim=64,
            use_jsonb=request.param == "jsonb",
            create_engine_kwargs={"poolclass": NullPool},
            initialization_fail_on_error=True,
        )
        made.append(store)
        VectorStoreIndex(
            list(nodes), storage_context=StorageContext.from_defaults(vector_store=store), embed_model=WordEmbedding()
        )
        return store

    yield make
    for store in made:
        if store._engine is not None:
            store._engine.dispose()


def pages(name: str = "a.pdf", count: int = 3, **metadata: Any) -> list[Document]:
    """As the readers of PDFs make them: a Document each, with a random id."""
    return [
        Document(
            text=" ".join(YEARS[20 * page : 20 * page + 20]),
            metadata={"file_name": name, "page_label": str(page + 1), **metadata},
        )
        for page in range(count)
    ]


def text_file(name: str = "a.txt", sentences: Sequence[str] = YEARS) -> Document:
    return Document(text=" ".join(sentences), metadata={"file_name": name, "file_path": f"/in/{name}"})


def split(*documents: Document) -> list[BaseNode]:
    return SPLITTER.get_nodes_from_documents(list(documents))


def places(store: PGVectorStore, document_id: str) -> dict[int, str]:
    """The text at each index of a document, as neighbors are found."""
    found = PGVectorNeighbors(store).fetch([ChunkRef(document_id, index) for index in range(100)])
    return {chunk.index: chunk.text for chunk in found if chunk.index is not None}


def over(store: PGVectorStore) -> ContextAssemblyPostprocessor:
    config = AssemblyConfig(neighbors="unfiltered", candidate_window=1, cite="document")
    return ContextAssemblyPostprocessor(vector_store=store, config=config)


def answer(store: PGVectorStore, made: ContextAssemblyPostprocessor | None = None, hits: int = 1) -> list[Any]:
    index = VectorStoreIndex.from_vector_store(store, embed_model=WordEmbedding())
    found = index.as_retriever(similarity_top_k=hits).retrieve(QUERY)
    return (made or over(store)).postprocess_nodes(found, QueryBundle(QUERY))


def warned(run: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        run()
    return [str(each.message) for each in seen if each.category is NothingToJoinWarning]


def rows(store: PGVectorStore, query: str) -> list[Any]:
    with store._session() as session:  # type: ignore[operator]
        return list(session.execute(sqlalchemy.text(query)).all())


def everything(store: PGVectorStore) -> list[Any]:
    return rows(store, "SELECT id, node_id, text, metadata_::text, embedding::text FROM data_chunks ORDER BY id")


# An ordinary table


def short_pages(name: str) -> list[TextNode]:
    """Pages that are a chunk each, without offset and without SOURCE."""
    sentences = [YEARS[at : at + 3] for at in range(0, 60, 3)]
    return [
        TextNode(text=" ".join(each), metadata={"file_name": name, "page_label": f"{page}"})
        for page, each in enumerate(sentences, 1)
    ]


def test_an_ordinary_table_is_joined_once_it_is_numbered(stored: Stored) -> None:
    nodes = [*short_pages("a.pdf"), *short_pages(HOSTILE)]
    store = stored(Random(7).sample(nodes, len(nodes)))
    made = over(store)
    (message,) = warned(lambda: answer(store, made))
    assert "Fix: number_stored_chunks(vector_store)" in message
    (before,) = answer(store, made)
    assert len(before.metadata["chunk_ids"]) == 1

    told = number_stored_chunks(store)

    assert (told.chunks, told.documents, told.unordered, told.nameless) == (len(nodes), 2, (), 0)
    for name in ("a.pdf", HOSTILE):
        assert places(store, name) == dict(enumerate(n.text for n in nodes if n.metadata["file_name"] == name))
    made = over(store)
    assert warned(lambda: answer(store, made)) == []
    (found,) = answer(store, made)
    texts = {node.node_id: node.text for node in nodes}
    standing = [texts[each] for each in found.metadata["chunk_ids"]]
    assert found.text.partition("\n")[2] == "\n".join(standing) in "\n".join(texts.values())
    assert len(standing) == 3
    assert found.metadata["citation"]["document_id"] in {"a.pdf", HOSTILE}
    assert len(found.metadata["citation"]["pages"]) == 3
    # A second run changes nothing.
    after = everything(store)
    assert number_stored_chunks(store).chunks == 0
    assert everything(store) == after


def test_the_pages_that_a_reader_makes_documents_of_become_one(stored: Stored) -> None:
    nodes = split(*pages())
    store = stored(nodes)
    last = next(at for at, node in enumerate(nodes) if node.metadata["page_label"] == "2") - 1

    def around() -> Any:
        (hit,) = (each for each in store.get_nodes([nodes[last].node_id]))
        return over(store).context(scored(hit))

    assert around().citations[0].pages == (1,)
    number_stored_chunks(store)
    context = around()
    assert context.citations[0].pages == (1, 2)
    assert context.citations[0].document_id == "a.pdf"
    wanted = [node.node_id for node in nodes[last - 1 : last + 2]]
    assert [each for passage in context.passages for each in passage.chunk_ids] == wanted


# What is written


def test_a_node_comes_back_as_it_was_but_for_its_place(stored: Stored) -> None:
    (page,) = pages(count=1, note="kept", owner={"name": "Ada"}, size=1.5)
    page.excluded_llm_metadata_keys = ["note"]
    nodes = split(page)
    store = stored(nodes)
    before = {node.node_id: node for node in store.get_nodes([each.node_id for each in nodes])}
    number_stored_chunks(store)
    recorded = ["chunk_index", "overlap_chars", "chunk_count", "document_version"]
    for at, node in enumerate(nodes):
        (now,) = store.get_nodes([node.node_id])
        was = before[node.node_id]
        assert now.metadata.items() >= {**was.metadata, "chunk_index": at, "chunk_count": len(nodes)}.items()
        assert now.metadata.keys() == {*was.metadata, *recorded}
        assert now.ref_doc_id == "a.pdf"
        assert now.excluded_llm_metadata_keys == ["note", *recorded]
        assert "chunk_index" not in now.get_content(MetadataMode.EMBED)
        assert now.embedding == was.embedding
        assert (now.prev_node, now.next_node) == (was.prev_node, was.next_node)
        assert now.get_content() == was.get_content()
    assert {name for (name,) in rows(store, "SELECT metadata_ ->> 'document_id' FROM data_chunks")} == {"a.pdf"}


# What is told, and left alone


def told_and_left(store: PGVectorStore) -> Any:
    before = everything(store)
    told = number_stored_chunks(store)
    assert told.chunks == 0
    assert everything(store) == before
    return told


def test_what_cannot_be_ordered_is_told_and_left_alone(stored: Stored) -> None:
    unordered = [TextNode(text=text, metadata={"file_name": "a.txt"}) for text in YEARS[:5]]
    store = stored([*unordered, TextNode(text="Alone.")])
    told = told_and_left(store)
    assert (told.documents, told.unordered, told.unordered_count, told.nameless) == (0, ("a.txt",), 1, 1)
    assert "trust_insertion_order=True" in str(told)
    assert number_stored_chunks(store, trust_insertion_order=True).documents == 1
    assert places(store, "a.txt") == dict(enumerate(YEARS[:5]))


def test_what_cannot_be_numbered_is_an_error(stored: Stored) -> None:
    with pytest.raises(ConfigError, match="vector_store must be a PGVectorStore, a Chroma"):
        number_stored_chunks("chunks")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"keys\.index must be a key without a dot first"):
        number_stored_chunks(stored(split(text_file())), keys=MetadataKeys(index="place.number"))
