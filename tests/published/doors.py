"""The ways in: the engine, LangChain's assembler and LlamaIndex's postprocessor, sync and async."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.documents import Document
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from ctxassembly import Chunk, Context, Hit, MemoryStore, aassemble, assemble
from langchain_ctxassembly import ContextAssembler
from llamaindex_ctxassembly import ContextAssemblyPostprocessor

Door = Callable[..., Context]


def engine(
    system: Any, hits: Sequence[Hit], *, query: Any = None, stored: Sequence[Chunk] = (), **options: Any
) -> Context:
    store = MemoryStore(stored) if stored else None
    context = assemble(hits, system, query=query, store=store, **options)
    again = asyncio.run(aassemble(hits, system, query=query, store=store, **options))
    assert again.text == context.text
    return context


def langchain(
    system: Any,
    hits: Sequence[Hit],
    *,
    query: Any = None,
    stored: Sequence[Chunk] = (),
    supplement: Any = None,
    **models: Any,
) -> Context:
    documents = [
        Document(
            hit.chunk.text,
            id=hit.chunk.id,
            metadata={
                **hit.chunk.metadata,
                "document_id": hit.chunk.document_id,
                "chunk_index": hit.chunk.index,
                **({} if hit.score is None else {"score": hit.score}),
            },
        )
        for hit in hits
    ]
    neighbors: Any = {"store": MemoryStore(stored), "neighbors": "unfiltered"} if stored else {}
    assembler = ContextAssembler(config=system, **neighbors, **models)
    inputs = {"documents": documents, "query": query, "supplement": supplement}
    context = assembler.as_context().invoke(inputs)
    assert "\n\n".join(document.page_content for document in assembler.invoke(inputs)) == context.text
    assert asyncio.run(assembler.as_context().ainvoke(inputs)).text == context.text
    return context


def llamaindex(
    system: Any, hits: Sequence[Hit], *, query: Any = None, stored: Sequence[Chunk] = (), **options: Any
) -> Context:
    nodes = []
    for hit in hits:
        metadata = {**hit.chunk.metadata, "chunk_index": hit.chunk.index}
        node = TextNode(id_=hit.chunk.id, text=hit.chunk.text, metadata=metadata)
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=hit.chunk.document_id)
        nodes.append(NodeWithScore(node=node, score=hit.score))
    neighbors: Any = {"store": MemoryStore(stored), "neighbors": "unfiltered"} if stored else {}
    postprocessor = ContextAssemblyPostprocessor(config=system, **neighbors, **options)
    context = postprocessor.context(nodes, query)
    blocks = [scored.node.get_content() for scored in postprocessor.postprocess_nodes(nodes, query_str=query)]
    assert "\n\n".join(blocks) == context.text
    assert asyncio.run(postprocessor.acontext(nodes, query)).text == context.text
    return context


DOORS: dict[str, Door] = {"engine": engine, "langchain": langchain, "llamaindex": llamaindex}
