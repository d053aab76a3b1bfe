"""Vector stores whose `get_nodes` raises: a query by document is used where it works; else one warning says so."""

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


class Lance(TextVectorStore):
    """As LanceDBVectorStore 0.6: `id in ("x")` names a column, and no result is a Warning that is raised.

    The package brings 180 MB, so it isn't installed for this.
    """

    def get_nodes(self, node_ids: Any = None, filters: Any = None) -> Any:
        if node_ids is not None:
            raise RuntimeError(f"lance error: No field named {node_ids[0]}.")
        return super().get_nodes(None, filters)


class Searching(TextVectorStore):
    """Has no `get_nodes`, and a search that knows filters."""

    def get_nodes(self, node_ids: Any = None, filters: Any = None) -> Any:
        raise NotImplementedError("get_nodes not implemented")

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        nodes = TextVectorStore.get_nodes(self)
        wanted = {each.value for each in query.filters.filters} if query.filters else None  # type: ignore[union-attr]
        found = [node for node in nodes if wanted is None or node.ref_doc_id in wanted]
        return VectorStoreQueryResult(nodes=found, similarities=[1.0] * len(found), ids=[n.node_id for n in found])


class Broken(TextVectorStore):
    """Raises at every call but the search of the retriever."""

    def get_nodes(self, node_ids: Any = None, filters: Any = None) -> Any:
        raise ValueError("get_nodes is not supported")

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        if query.filters is not None:
            raise ValueError("no filters either")
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
@pytest.mark.parametrize("kind", [Lance, Searching])
def test_a_query_by_document_is_used_where_get_nodes_raises(kind: Any, is_async: bool) -> None:
    store = kind()
    store.add([*document("A"), *document("B")])
    found, seen = answered(store, is_async=is_async)
    assert found == [["A-2", "A-3", "A-4"]] * 2
    assert seen == []


@pytest.mark.parametrize("is_async", [False, True])
def test_where_nothing_works_one_warning_says_so(is_async: bool) -> None:
    store = Broken()
    store.add(document("A"))
    found, seen = answered(store, is_async=is_async)
    assert found == [["A-3"]] * 2
    (warning,) = seen
    assert str(warning.message).startswith(
        "The store failed, so hits lack neighbors (ValueError: get_nodes is not supp"
    )
    assert warning.filename == __file__
