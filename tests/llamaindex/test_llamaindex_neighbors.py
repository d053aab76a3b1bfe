"""The filter that a postprocessor is given, once or for each call, over whichever store."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from llama_index.core.schema import TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from llama_index.vector_stores.postgres import PGVectorStore

from ctxassembly import Chunk, ChunkRef, FilterNotSeenWarning, MemoryStore
from ctxassembly.errors import ConfigError
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, DocstoreNeighbors, PGVectorNeighbors
from llamaindex_ctxassembly.neighbors import restrict_store
from llamaindex_samples import bare, document, scored


def one(value: Any, key: str = "tenant", operator: FilterOperator = FilterOperator.EQ) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key=key, value=value, operator=operator)])


MINE = one("mine")
NOTHING = MetadataFilters(filters=[])


def tenants(*names: str) -> list[TextNode]:
    """Eight nodes, of each of `names` in turn."""
    nodes = document()
    for place, node in enumerate(nodes):
        node.metadata["tenant"] = names[place % len(names)]
    return nodes


def docstore_of(nodes: Sequence[TextNode]) -> SimpleDocumentStore:
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    return docstore


def read(ours: ContextAssemblyPostprocessor, *hits: TextNode, query: str | None = None) -> list[str]:
    labeled = ours.postprocess_nodes(scored(*hits), query_str=query)
    return [chunk_id for each in labeled for chunk_id in each.metadata["chunk_ids"]]


def mine(query: str | None) -> MetadataFilters | None:
    return MINE if query else None


# A filter for each call


def test_a_function_is_asked_at_each_call_for_the_filter_of_that_call() -> None:
    nodes = tenants("mine", "mine", "other", "other")
    asked: list[str | None] = []

    def this_calls(query: str | None) -> MetadataFilters:
        asked.append(query)
        return one(query)

    ours = ContextAssemblyPostprocessor(filter=this_calls, docstore=docstore_of(nodes))

    assert read(ours, nodes[1], query="mine") == ["A-0", "A-1"]
    assert read(ours, nodes[2], query="other") == ["A-2", "A-3"]
    assert asked == ["mine", "other"]


def test_a_call_for_which_the_function_has_no_filter_is_one_whose_filter_is_not_seen() -> None:
    nodes = tenants("mine", "mine", "other")
    ours = ContextAssemblyPostprocessor(filter=mine, docstore=docstore_of(nodes))

    assert read(ours, nodes[1], query="Who?") == ["A-0", "A-1"]
    with pytest.warns(FilterNotSeenWarning, match="'tenant'"):
        assert read(ours, nodes[1]) == ["A-0", "A-1"]
    with pytest.raises(ConfigError, match="neighbors"):
        read(ContextAssemblyPostprocessor(filter=mine, neighbors="filtered", docstore=docstore_of(nodes)), nodes[1])


@pytest.mark.parametrize("wrong", ["tenant = 'mine'", {"tenant": "mine"}, [MINE]])
def test_a_function_that_returns_no_filter_is_an_error(wrong: Any) -> None:
    nodes = tenants("mine")
    ours = ContextAssemblyPostprocessor(filter=lambda query: wrong, docstore=docstore_of(nodes))
    with pytest.raises(ConfigError, match=r"what filter\(query\) returns must be MetadataFilters or None, got"):
        read(ours, nodes[1])


# No filter, and filters that say nothing


@pytest.mark.parametrize(
    "empty", [None, NOTHING, MetadataFilters(filters=[NOTHING], condition=FilterCondition.OR), lambda query: NOTHING]
)
def test_a_filter_in_which_no_condition_stands_is_none(empty: Any) -> None:
    nodes = tenants("mine", "mine", "other")
    ours = ContextAssemblyPostprocessor(filter=empty, docstore=docstore_of(nodes))
    with pytest.warns(FilterNotSeenWarning, match="'tenant'"):
        assert read(ours, nodes[1]) == ["A-0", "A-1"]
    with pytest.raises(ConfigError, match="neighbors"):
        read(ContextAssemblyPostprocessor(filter=empty, neighbors="filtered", docstore=docstore_of(nodes)), nodes[1])


async def test_each_postprocessor_warns_once_by_whichever_way_it_is_called() -> None:
    nodes = tenants("mine", "mine", "other")
    ours, another = (ContextAssemblyPostprocessor(docstore=docstore_of(nodes)) for _ in range(2))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        ours.context(scored(nodes[1]))
        ours.postprocess_nodes(scored(nodes[1]))
        await ours.apostprocess_nodes(scored(nodes[1]))
        await another.apostprocess_nodes(scored(nodes[1]))
    assert [each.category for each in seen] == [FilterNotSeenWarning] * 2


# On top of a store's own filter


class Knowing:
    """A store of one's own that holds a filter of its own, and says so."""

    holds_filter = True

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._kept = MemoryStore(chunk for chunk in chunks if chunk.metadata["tenant"] == "mine")

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        return self._kept.fetch(refs)


def test_a_store_that_says_that_it_holds_the_filter_needs_no_other() -> None:
    nodes = tenants("mine", "mine", "other")
    ours = ContextAssemblyPostprocessor(store=Knowing(bare(nodes)), neighbors="filtered")
    assert read(ours, nodes[1]) == ["A-0", "A-1"]


def test_what_postgres_has_no_form_for_is_an_error_at_construction_whoever_made_the_store() -> None:
    table = PGVectorStore(connection_string="postgresql+psycopg2://", async_connection_string="", table_name="t")
    matching = MetadataFilters(filters=[MetadataFilter(key="min", value=None, operator=FilterOperator.TEXT_MATCH)])
    makers: list[Callable[[], Any]] = [
        lambda: ContextAssemblyPostprocessor(vector_store=table, filter=matching),
        lambda: ContextAssemblyPostprocessor(store=PGVectorNeighbors(table), filter=matching),
    ]
    for make in makers:
        with pytest.raises(ConfigError, match="TEXT_MATCH"):
            make()
    assert restrict_store(matching, DocstoreNeighbors(SimpleDocumentStore())).holds_filter is True
