"""A number -> one context, through the engine, LangChain or LlamaIndex, of what a user with an index would hand in."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Sequence
from random import Random
from typing import Any

from langchain_core.documents import Document
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from builders import split
from ctxassembly import AssemblyConfig, Chunk, Context, Conversation, Hit, MemoryStore, assemble, presets
from frozen.texts import DOCUMENTS
from langchain_ctxassembly import ContextAssembler
from llamaindex_ctxassembly import ContextAssemblyPostprocessor
from strategies import effective

CASES = 1_000
PARTS = ("text", "citations", "provenance", "fates")
OPTIONS: dict[str, tuple[Any, ...]] = {
    "window": (0, 2, 3),
    "max_tokens": (12, 40, 90, 150, 250, 400, 700, 1_500),
    "fill": (True,),
    "granularity": ("passage", "chunk", "sentence"),
    "dedup": ("near", "none"),
    "compress": ("extractive",),
    "order": ("documents", "relevance", "edges", "interleaved", "document_order", "reverse"),
    "format": ("source", "xml", "grouped", "minimal"),
    "language": ("nl", "de", "fr", "es"),
    "cite": ("document", "chunk"),
    "min_relevance": (0.0, 0.5),
    "min_overlap_chars": (5,),
    "first_label": (8,),
    "enabled": (False,),
    "neighbors": ("unfiltered",),
}
SYSTEMS = tuple(presets.PUBLISHED.values())


def parts(number: int) -> dict[str, Any]:
    """The text, citations, provenance and fates of case `number`, in values of JSON."""
    rng = Random(number)
    names = rng.sample(sorted(DOCUMENTS), rng.randint(1, 4))
    chunks = [chunk for name in names for chunk in _index(rng, name)]
    found = rng.sample(chunks, min(len(chunks), rng.randint(1, 12)))
    hits = [Hit(chunk, round(0.9 - 0.04 * rank, 2)) for rank, chunk in enumerate(found)]
    store = MemoryStore(chunks) if rng.random() < 0.8 else None
    query = None if rng.random() < 0.15 else rng.choice(DOCUMENTS[rng.choice(names)][1])
    shares = {"max_tokens": 0.6}
    options = {name: rng.choice(values) for name, values in OPTIONS.items() if rng.random() < shares.get(name, 0.15)}
    config: Any = AssemblyConfig(**effective(options)) if rng.random() < 0.9 else rng.choice(SYSTEMS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context = (_engine, _langchain, _llamaindex)[number % 3](hits, config, query, store)
    return {
        "text": context.text,
        "citations": context.to_dict()["citations"],
        "provenance": [
            [*source.span, source.chunk_id, source.document_id, source.start, source.end]
            for source in context.provenance
        ],
        "fates": [[each.chunk_id, each.outcome, each.reason, each.because_of] for each in context.trace.decisions],
    }


def hashed(number: int) -> tuple[str, ...]:
    """A short hash of each part."""
    made = parts(number)
    return tuple(
        hashlib.sha256(json.dumps(made[part], ensure_ascii=True, default=str).encode()).hexdigest()[:8]
        for part in PARTS
    )


def _index(rng: Random, name: str) -> list[Chunk]:
    """The chunks of a document as an index has them."""
    text = DOCUMENTS[name][0]
    size = rng.choice((120, 200, 350, 500))
    kind = rng.choice(("numbers", "numbers", "offsets", "links", "nothing"))
    chunks = split(
        name,
        text,
        size=size,
        overlap=rng.choice((0, 20, 50)),
        indexed=kind in ("numbers", "offsets"),
        offsets=kind == "offsets",
        links="pn" if kind == "links" else "",
        metadata={"source": name},
    )
    paged = rng.random() < 0.5
    for at, chunk in enumerate(chunks):
        chunk.metadata.update({"page": at // 2 + 1} if paged else {})
    return chunks


def _engine(hits: Sequence[Hit], config: Any, query: str | None, store: Any) -> Context:
    if len(hits) % 4 or not isinstance(config, AssemblyConfig):
        return assemble(hits, config, query=query, store=store)
    conversation = Conversation()
    first = assemble(hits[: len(hits) // 2], config, query=query, store=store, conversation=conversation)
    return assemble(hits, config, query=query, store=store, conversation=conversation.after(first))


def _langchain(hits: Sequence[Hit], config: Any, query: str | None, store: Any) -> Context:
    documents = []
    for hit in hits:
        chunk = hit.chunk
        known = {
            "document_id": chunk.document_id,
            "chunk_index": chunk.index,
            "start_index": chunk.start,
            "score": hit.score,
        }
        metadata = {**chunk.metadata, **{name: value for name, value in known.items() if value is not None}}
        documents.append(Document(id=chunk.id, page_content=chunk.text, metadata=metadata))
    return ContextAssembler(config=config, store=store).as_context().invoke({"documents": documents, "query": query})


def _llamaindex(hits: Sequence[Hit], config: Any, query: str | None, store: Any) -> Context:
    nodes = []
    for hit in hits:
        chunk = hit.chunk
        relationships = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=chunk.document_id)}
        if chunk.prev_id:
            relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=chunk.prev_id)
        if chunk.next_id:
            relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=chunk.next_id)
        numbered = {} if chunk.index is None else {"chunk_index": chunk.index}
        node = TextNode(
            id_=chunk.id,
            text=chunk.text,
            metadata={**chunk.metadata, **numbered},
            relationships=relationships,
            start_char_idx=chunk.start,
        )
        nodes.append(NodeWithScore(node=node, score=hit.score))
    return ContextAssemblyPostprocessor(config=config, store=store).context(nodes, query)
