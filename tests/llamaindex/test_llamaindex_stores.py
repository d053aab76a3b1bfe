"""Neighbors from docstores and vector stores: which, in how many calls, and under whose filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.schema import BaseNode, NodeWithScore, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

from ctxassembly import AssemblyConfig, Chunk, ChunkRef
from ctxassembly.testing import store_cases
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, DocstoreNeighbors, VectorStoreNeighbors, number_chunks
from llamaindex_samples import TextVectorStore, document, scored

# They are about other things: nobody here has a filter.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning")


class CountingDocstore(SimpleDocumentStore):
    """Keeps what each `get_nodes` asked for."""

    def __init__(self, nodes: Sequence[BaseNode]) -> None:
        super().__init__()
        self.add_documents(nodes)
        self.asked: list[list[str]] = []

    def get_nodes(self, node_ids: list[str], raise_error: bool = True) -> list[BaseNode]:
        self.asked.append(node_ids)
        return super().get_nodes(node_ids, raise_error)

    async def aget_nodes(self, node_ids: list[str], raise_error: bool = True) -> list[BaseNode]:
        self.asked.append(node_ids)
        return await super().aget_nodes(node_ids, raise_error)


def text_store(nodes: Sequence[BaseNode]) -> TextVectorStore:
    store = TextVectorStore()
    store.add(nodes)
    return store


def ids(labeled: Sequence[NodeWithScore]) -> list[str]:
    return [chunk_id for each in labeled for chunk_id in each.metadata["chunk_ids"]]


STORES: dict[str, Any] = {
    "docstore": lambda nodes: {"docstore": CountingDocstore(nodes)},
    "vector_store": lambda nodes: {"vector_store": text_store(nodes)},
}


@pytest.fixture(params=STORES)
def kind(request: pytest.FixtureRequest) -> Any:
    return STORES[request.param]


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Any:
    async def call(postprocessor: ContextAssemblyPostprocessor, nodes: list[NodeWithScore]) -> list[NodeWithScore]:
        if request.param == "sync":
            return postprocessor.postprocess_nodes(nodes)
        return await postprocessor.apostprocess_nodes(nodes)

    return call


# Which neighbors, in how many calls


@pytest.mark.parametrize("window", [1, 2, 3])
async def test_links_take_one_call_a_step_for_all_hits_together(kind: Any, run: Any, window: int) -> None:
    a, b = document("A"), document("B", [f"{number} is a number." for number in range(8)])
    store = kind([*a, *b])
    (asked,) = (each.asked for each in store.values())

    labeled = await run(
        ContextAssemblyPostprocessor(config=AssemblyConfig(window=window), **store), scored(a[3], b[4], best=0.9)
    )

    assert len(asked) == window
    assert ids(labeled) == [
        *(f"A-{place}" for place in range(3 - window, 4 + window)),
        *(f"B-{place}" for place in range(4 - window, min(8, 5 + window))),
    ]


def test_a_vector_store_is_never_asked_for_no_ids_which_would_mean_all() -> None:
    store = text_store(document())

    assert len(store.get_nodes(node_ids=[])) == 8
    assert VectorStoreNeighbors(store).fetch([]) == []
    assert VectorStoreNeighbors(store).fetch([ChunkRef("none")]) == []
    assert all(node_ids != [] for node_ids, _ in store.asked[1:])


# The caller's filter


def tenants(*names: str) -> list[TextNode]:
    nodes = document("A")
    for place, node in enumerate(nodes):
        node.metadata["tenant"] = names[place % len(names)]
    return nodes


MINE = MetadataFilters(filters=[MetadataFilter(key="tenant", value="mine")])


@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")  # the filter excludes both links
async def test_nothing_excluded_comes_in_by_way_of_something_excluded(kind: Any, run: Any) -> None:
    nodes = tenants("mine", "other")

    labeled = await run(
        ContextAssemblyPostprocessor(filter=MINE, config=AssemblyConfig(window=3), **kind(nodes)), scored(nodes[2])
    )

    assert all(int(each[2:]) % 2 == 0 for each in ids(labeled))


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda nodes: DocstoreNeighbors(CountingDocstore(nodes)), id="docstore"),
        pytest.param(lambda nodes: VectorStoreNeighbors(text_store(nodes)), id="vector store"),
    ],
)
async def test_it_answers_as_every_store_has_to(make: Any) -> None:
    nodes = number_chunks([*document("A"), *document("B")])
    store = make(nodes)
    chunks = [
        Chunk(
            node.node_id, node.metadata["document_id"], node.text, node.metadata["chunk_index"], metadata=node.metadata
        )
        for node in nodes
    ]
    for case in store_cases(chunks):
        case.check(store.fetch(case.refs))
        case.check(await store.afetch(case.refs))
