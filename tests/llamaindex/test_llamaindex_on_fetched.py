"""What masked or dropped nodes before the postprocessor holds for their neighbors by `transform_fetched`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore

from ctxassembly import AssemblyConfig, Chunk
from llamaindex_ctxassembly import ContextAssemblyPostprocessor
from llamaindex_samples import RecordingLLM, WordEmbedding, document

NAMES = ("Alida", "Berend", "Cornelis", "Dirkje", "Evert", "Femke", "Gerrit", "Hilda")
CRAFTS = ("weaver", "miller", "carder", "dyer", "smith", "ferryman", "potter", "cooper")
PEOPLE = [f"{name} was a {craft}, {craft} and nothing else." for name, craft in zip(NAMES, CRAFTS, strict=True)]
ANY_NAME = re.compile("|".join(NAMES))


def mask(text: str) -> str:
    return ANY_NAME.sub("[NAME]", text)


def mask_chunks(chunks: Sequence[Chunk]) -> list[Chunk]:
    return [replace(chunk, text=mask(chunk.text)) for chunk in chunks]


async def mask_chunks_by_a_service(chunks: Sequence[Chunk]) -> list[Chunk]:
    await asyncio.sleep(0)
    return mask_chunks(chunks)


class Mask(BaseNodePostprocessor):
    """Takes names out of what was retrieved, as PIINodePostprocessor does."""

    def _postprocess_nodes(self, nodes: list[NodeWithScore], query_bundle: Any = None) -> list[NodeWithScore]:
        copies = [each.model_copy(deep=True) for each in nodes]
        for each in copies:
            each.node.set_content(mask(each.text))
        return copies


def index() -> VectorStoreIndex:
    return VectorStoreIndex(document("A", PEOPLE, metadata={"file_name": "people.txt"}), embed_model=WordEmbedding())


def prompt_of(index: VectorStoreIndex, *postprocessors: Any, by: str = "query") -> str:
    """What the LLM read of a question whose hits are the fourth chunk and the fifth."""
    llm = RecordingLLM()
    retriever = index.as_retriever(similarity_top_k=2)
    engine = RetrieverQueryEngine.from_args(retriever, llm=llm, node_postprocessors=list(postprocessors))
    question = "dyer, smith"
    engine.query(question) if by == "query" else asyncio.run(engine.aquery(question))
    return llm.prompts[-1]


def assembling(index: VectorStoreIndex, **settings: Any) -> ContextAssemblyPostprocessor:
    return ContextAssemblyPostprocessor(
        docstore=index.docstore, config=AssemblyConfig(window=2), neighbors="unfiltered", **settings
    )


def named(prompt: str) -> list[str]:
    return ANY_NAME.findall(prompt)


@pytest.mark.parametrize(
    ("hook", "by"), [(mask_chunks, "query"), (mask_chunks, "aquery"), (mask_chunks_by_a_service, "aquery")]
)
def test_a_mask_holds_for_neighbors_too(hook: Callable[[Any], Any], by: str) -> None:
    people = index()
    assert named(prompt_of(people, Mask(), by=by)) == []
    undone = prompt_of(people, Mask(), assembling(people), by=by)
    assert len(named(undone)) == 4

    masked = prompt_of(people, Mask(), assembling(people, transform_fetched=hook), by=by)

    assert named(masked) == []
    assert masked.count("[NAME]") == 6  # of two hits with two neighbors on each side
