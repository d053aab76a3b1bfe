"""Every awaited way through LlamaIndex leaves the event loop free while an assembly works."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from heartbeat import Slow
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import TextNode

from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
from llamaindex_ctxassembly import AnswerQueryEngine, ContextAssemblyPostprocessor, ContextRetriever
from llamaindex_samples import Answering, Fixed, scored

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")  # these nodes have no links

TEXTS = ("Drink water until two hours before.", "Then rest.")
NODES = scored(*(TextNode(text=text, metadata={"file_name": f"{at}.pdf"}) for at, text in enumerate(TEXTS)))
INDEX = MemoryIndex([Chunk(f"leaflet#{at}", "leaflet", text, at) for at, text in enumerate(TEXTS)])
QUESTION = "May I drink water?"
Way = Callable[[ContextAssemblyPostprocessor], Awaitable[Any]]


def _retriever(postprocessor: ContextAssemblyPostprocessor) -> ContextRetriever:
    return ContextRetriever(INDEX, config=RetrievalConfig(strategy="keyword"), postprocessor=postprocessor)


async def _queried(postprocessor: ContextAssemblyPostprocessor) -> Any:
    engine = RetrieverQueryEngine.from_args(Fixed(NODES), llm=Answering(), node_postprocessors=[postprocessor])
    return (await engine.aquery(QUESTION)).source_nodes


async def _answered(postprocessor: ContextAssemblyPostprocessor) -> Any:
    return (await AnswerQueryEngine(Answering(), _retriever(postprocessor)).aquery(QUESTION)).source_nodes


WAYS: dict[str, Way] = {
    "apostprocess_nodes": lambda postprocessor: postprocessor.apostprocess_nodes(NODES, query_str=QUESTION),
    "RetrieverQueryEngine": _queried,
    "ContextRetriever": lambda postprocessor: _retriever(postprocessor).aretrieve(QUESTION),
    "AnswerQueryEngine": _answered,
}


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    return Slow(monkeypatch)


@pytest.mark.parametrize("way", WAYS)
async def test_nodes_are_made_beside_the_loop(way: str, slow: Slow) -> None:
    postprocessor = ContextAssemblyPostprocessor(config=slow.config)
    assert await slow.leaves_the_loop_free(lambda: WAYS[way](postprocessor), "count", "trace_to_plain")


async def test_a_context_is_assembled_beside_the_loop(slow: Slow) -> None:
    postprocessor = ContextAssemblyPostprocessor(config=slow.config)
    assert await slow.leaves_the_loop_free(lambda: postprocessor.acontext(NODES, QUESTION), "count")
