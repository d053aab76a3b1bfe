"""Two indexes that both have a `handbook.pdf`: a node of one is no neighbor of a node of the other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import MetadataMode, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.vector_stores.postgres import PGVectorStore
from sqlalchemy import NullPool, make_url

from ctxassembly import (
    NothingToJoinWarning,
)
from ctxassembly.stores.postgres import PostgresIndex
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, number_chunks
from llamaindex_samples import Fixed, RecordingLLM, TextVectorStore, WordEmbedding, document, scored

WORDS = ["harbour", "falcon", "ember", "lantern", "meadow"]


def handbook(whose: str) -> list[TextNode]:
    texts = [f"At {whose} the {word} rule number {at} of {whose} is kept." for at, word in enumerate(WORDS)]
    nodes = [TextNode(text=text, metadata={"file_name": "handbook.pdf", "page_label": "1"}) for text in texts]
    return number_chunks(nodes)  # type: ignore[return-value]


def index_of(nodes: Sequence[TextNode]) -> VectorStoreIndex:
    return VectorStoreIndex(
        list(nodes),
        embed_model=WordEmbedding(),
        storage_context=StorageContext.from_defaults(),
        store_nodes_override=True,
    )


NORTH, SOUTH = handbook("north"), handbook("south")
TEXTS = [node.get_content(MetadataMode.NONE) for node in (*NORTH, *SOUTH)]


def over(nodes: Sequence[TextNode], **more: Any) -> ContextAssemblyPostprocessor:
    return ContextAssemblyPostprocessor(docstore=index_of(nodes).docstore, neighbors="unfiltered", **more)


def test_a_node_whose_text_is_its_window_keeps_its_neighbors() -> None:
    window = " ".join(node.get_content(MetadataMode.NONE) for node in NORTH[1:4])
    node = NORTH[2].model_copy(update={"text": window})
    context = over(NORTH).context(scored(node))
    assert set(context.citations[0].chunk_ids) > {node.node_id} or TEXTS[1] in context.text
    assert context.trace.missing is None


def linked(whose: str) -> list[TextNode]:
    """The same as a splitter leaves them: linked to each other, and without a number."""
    texts = [node.get_content(MetadataMode.NONE) for node in handbook(whose)]
    return document("handbook.pdf", texts, metadata={"file_name": "handbook.pdf"})


def stored(nodes: Sequence[TextNode]) -> TextVectorStore:
    store = TextVectorStore()
    store.add(nodes)
    return store


def queried(postprocessor: ContextAssemblyPostprocessor, node: TextNode, how: str) -> Any:
    """The response of an ordinary engine that found `node`."""
    engine = RetrieverQueryEngine(
        Fixed(scored(node)),
        response_synthesizer=get_response_synthesizer(llm=RecordingLLM()),
        node_postprocessors=[postprocessor],
    )
    return asyncio.run(engine.aquery("ember")) if how == "async" else engine.query("ember")


HANDBOOKS = [pytest.param(handbook, id="by number"), pytest.param(linked, id="by links")]
NOT_HELD = "The store doesn't contain 1 of 1 retrieved chunk"


def read_once(postprocessor: ContextAssemblyPostprocessor, node: TextNode, how: str) -> list[bool]:
    """For each text whether the second response has it; the first one's warning is the only one."""
    with pytest.warns(NothingToJoinWarning, match=NOT_HELD) as seen:
        responses = [queried(postprocessor, node, how) for _ in "ab"]
    assert len(seen) == 1
    found = "".join(each.get_content(MetadataMode.LLM) for each in responses[1].source_nodes)
    return [text in found for text in TEXTS]


ALONE = [False] * 5 + [at == 2 for at in range(5)]


@pytest.mark.parametrize("how", ["sync", "async"])
@pytest.mark.parametrize("made", HANDBOOKS)
def test_a_vector_store_of_another_index_gives_no_neighbors(made: Any, how: str) -> None:
    postprocessor = ContextAssemblyPostprocessor(vector_store=stored(made("north")), neighbors="unfiltered")
    assert read_once(postprocessor, made("south")[2], how) == ALONE


@pytest.mark.parametrize("how", ["sync", "async"])
@pytest.mark.parametrize("made", HANDBOOKS)
def test_a_docstore_beside_another_index_gives_no_neighbors(made: Any, how: str) -> None:
    docstore = SimpleDocumentStore()
    docstore.add_documents(made("north"))
    postprocessor = ContextAssemblyPostprocessor(docstore=docstore, neighbors="unfiltered")
    assert read_once(postprocessor, made("south")[2], how) == ALONE


@pytest.mark.parametrize("made", HANDBOOKS)
def test_a_table_of_another_index_gives_no_neighbors(made: Any, database_url: str) -> None:
    """Through the engine of an index over one table, with the neighbors of another one."""
    url, stores = make_url(database_url), {}
    for whose in ("north", "south"):
        stores[whose] = PGVectorStore(
            connection_string=url.set(drivername="postgresql+psycopg2"),
            async_connection_string=url.set(drivername="postgresql+asyncpg"),
            table_name=whose,
            embed_dim=64,
            create_engine_kwargs={"poolclass": NullPool},
        )
        VectorStoreIndex(
            made(whose),
            embed_model=WordEmbedding(),
            storage_context=StorageContext.from_defaults(vector_store=stores[whose]),
        )
    index = VectorStoreIndex.from_vector_store(stores["south"], embed_model=WordEmbedding())
    for postprocessor, held in (
        (ContextAssemblyPostprocessor(vector_store=stores["south"], neighbors="unfiltered"), True),
        (ContextAssemblyPostprocessor(vector_store=stores["north"], neighbors="unfiltered"), False),
        (ContextAssemblyPostprocessor(store=PostgresIndex.attach(stores["north"]), neighbors="unfiltered"), False),
    ):
        engine = index.as_query_engine(llm=RecordingLLM(), similarity_top_k=1, node_postprocessors=[postprocessor])
        with nullcontext() if held else pytest.warns(NothingToJoinWarning, match=NOT_HELD):
            response = engine.query("the ember rule number 2 of south")
        engine.query("the ember rule number 2 of south")  # a second warning would be an error
        found = "".join(each.get_content(MetadataMode.LLM) for each in response.source_nodes)
        assert [text in found for text in TEXTS] == [False] * 5 + [abs(at - 2) <= held for at in range(5)]
