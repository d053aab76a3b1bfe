"""Vector stores whose `get_nodes` raises: one warning says so."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryResult

from ctxassembly import NothingToJoinWarning
from llamaindex_ctxassembly import ContextAssemblyPostprocessor
from llamaindex_samples import Fixed, TextVectorStore, document, scored


class Broken(TextVectorStore):
    """Raises at every call but the search of the retriever."""

    def get_nodes(self, node_ids: Any = None, filters: Any = None) -> Any:
        raise ValueError("get_nodes is not supported")

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        nodes = TextVectorStore.get_nodes(self)[3:4]
        return VectorStoreQueryResult(nodes=nodes, similarities=[1.0], ids=[node.node_id for node in nodes])


def answered(store: Any, *, is_async: bool) -> tuple[list[Any], list[warnings.WarningMessage]]:
    """The chunk ids of two answers of a query engine, and the warnings."""
    made = ContextAssemblyPostprocessor(vector_store=store, neighbors="unfiltered")
    node = document("A")[3]
    engine = RetrieverQueryEngine(
        Fixed(scored(node)),
        response_synthesizer=get_response_synthesizer(llm=MockLLM()),
        node_postprocessors=[made],
    )
    found = []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(2):
            response = asyncio.run(engine.aquery("dye")) if is_async else engine.query("dye")
            found.append([name for each in response.source_nodes for name in each.metadata["chunk_ids"]])
    return found, [each for each in seen if issubclass(each.category, NothingToJoinWarning)]


@pytest.mark.parametrize("is_async", [False, True])
def test_where_get_nodes_raises_one_warning_says_so(is_async: bool) -> None:
    store = Broken()
    store.add(document("A"))
    found, seen = answered(store, is_async=is_async)
    assert found == [["A-3"]] * 2
    (warning,) = seen
    assert str(warning.message).startswith("The store failed (ValueError: get_nodes is not supp")
