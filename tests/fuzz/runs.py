"""One case through the engine and both adapters, awaited and not."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

from langchain_core.documents import Document
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

from ctxassembly import Chunk, Context, Hit, aassemble, assemble
from ctxassembly.errors import FilterNotSeenWarning, NothingToJoinWarning, StoreError
from fuzz import invariants
from fuzz.cases import Case, case
from langchain_ctxassembly import ContextAssembler
from llamaindex_ctxassembly import ContextAssemblyPostprocessor

loop = asyncio.new_event_loop()


def run(seed: int) -> int:
    """How many assemblies were made of the case with that number.

    Raises:
        AssertionError: something doesn't hold.
    """
    given = case(seed)
    before = invariants.fingerprint(given)
    try:
        context = assemble(given.hits, given.config, **given.arguments)
    except StoreError:
        assert given.may_raise
        return 1
    invariants.check(context, given)
    assert invariants.fingerprint(given) == before, "the input was changed"
    again = case(seed)
    awaited = loop.run_until_complete(aassemble(again.hits, again.config, **again.arguments))
    invariants.the_same(context, awaited)
    if seed % 5 == 0:
        invariants.shows(context)
    assemblies = 2
    for through in (_through_langchain, _through_llamaindex):
        try:
            assemblies += through(seed)
        except StoreError:  # their hits have no links, or fewer of them: they may ask for other neighbors
            assert given.may_raise
    return assemblies


def _through_langchain(seed: int) -> int:
    given = case(seed)
    documents = [found for hit in given.hits if (found := _document(hit)) is not None]
    config = given.config
    if not all(given.odd) or (config.dedup == "semantic" and given.embeddings is None):
        return 0
    assembler = ContextAssembler(config=config, store=given.store, embeddings=given.embeddings, llm=given.llm)
    put = {"documents": documents, "query": given.query, "supplement": given.supplement}
    plain = assembler.as_context().invoke(put)
    _is_the_same("\n\n".join(each.page_content for each in assembler.invoke(put)), plain)
    made = loop.run_until_complete(assembler.ainvoke(put))
    _is_the_same("\n\n".join(each.page_content for each in made), plain)
    assert all(("trace" in each.metadata) == (each is made[0]) for each in made)
    assert not made or made[0].metadata["trace"]["summary"] == plain.trace.summary
    if _is_bare(given):
        bare = [Hit(_unlinked(hit.chunk), hit.score) for hit in given.hits]
        _is_the_same(assemble(bare, config, **given.arguments).text, plain)
    return 4


def _through_llamaindex(seed: int) -> int:
    given = case(seed)
    nodes = [found for hit in given.hits if (found := _node(hit)) is not None]
    config = given.config
    postprocessor = ContextAssemblyPostprocessor(
        config=config, store=given.store, embeddings=given.embeddings, llm=given.llm, supplement=given.supplement
    )
    query = None if given.query is None else QueryBundle(given.query)
    plain = postprocessor.context(nodes, given.query)
    _is_the_same("\n\n".join(each.node.get_content() for each in postprocessor.postprocess_nodes(nodes, query)), plain)
    made = loop.run_until_complete(postprocessor.apostprocess_nodes(nodes, query))
    _is_the_same("\n\n".join(each.node.get_content() for each in made), plain)
    if _is_bare(given) and len(nodes) == len(given.hits):
        _is_the_same(assemble(given.hits, config, **given.arguments).text, plain)
    return 4


def _is_the_same(text: str, context: Context) -> None:
    assert text == context.text, "an adapter says something else"


def _document(hit: Hit) -> Document | None:
    """The document that LangChain would have retrieved; None if it refuses one of that kind."""
    chunk = hit.chunk
    places = {"document_id": chunk.document_id, "chunk_index": chunk.index, "start_index": chunk.start}
    try:
        return Document(
            id=chunk.id,
            page_content=chunk.text,
            metadata={**_held(chunk.metadata), **places, "rerank_score": hit.score},
        )
    except (RuntimeError, ValueError):  # of pydantic and of the values themselves
        return None


def _node(hit: Hit) -> NodeWithScore | None:
    """The node that LlamaIndex would have retrieved; None if it refuses one of that kind."""
    chunk = hit.chunk
    linked = (
        (NodeRelationship.SOURCE, chunk.document_id),
        (NodeRelationship.PREVIOUS, chunk.prev_id),
        (NodeRelationship.NEXT, chunk.next_id),
    )
    try:
        node = TextNode(
            id_=chunk.id,
            text=chunk.text,
            metadata={**_held(chunk.metadata), "chunk_index": chunk.index, "start_index": chunk.start},
            relationships={
                relation: RelatedNodeInfo(node_id=node_id)
                for relation, node_id in linked
                if isinstance(node_id, str) and node_id
            },
            embedding=chunk.vector,
        )
        return NodeWithScore(node=node, score=hit.score)
    except (RuntimeError, ValueError):  # of pydantic and of the values themselves
        return None


def _held(metadata: Any) -> Any:
    return metadata if type(metadata) is dict else {"odd": metadata}


def _is_bare(given: Case) -> bool:
    """True if the adapter knows no more of the chunks than the engine: what loaders write of pages, it reads."""
    return not given.odd and not any(hit.chunk.metadata for hit in given.hits)


def _unlinked(chunk: Chunk) -> Chunk:
    return Chunk(chunk.id, chunk.document_id, chunk.text, chunk.index, chunk.start)


def quietly() -> None:
    """Whatever warns is a failure, as in the other tests."""
    warnings.simplefilter("error")
    for each in (FilterNotSeenWarning, NothingToJoinWarning):  # what they say is drawn, too
        warnings.simplefilter("ignore", each)
