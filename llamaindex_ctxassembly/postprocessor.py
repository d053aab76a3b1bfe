"""The node postprocessor: retrieved nodes in, one node per label out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.storage.docstore.types import BaseDocumentStore
from llama_index.core.vector_stores.types import BasePydanticVectorStore, MetadataFilters
from llama_index_instrumentation import get_dispatcher
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from ctxassembly.ask import check_llm
from ctxassembly.config import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.drive import aassemble, assemble
from ctxassembly.errors import ConfigError
from ctxassembly.plain import plain, plain_trace
from ctxassembly.stores.filtered import FilteredStore
from ctxassembly.supplement import Given, supplement_for
from llamaindex_ctxassembly.docstore import DocstoreNeighbours
from llamaindex_ctxassembly.embeddings import as_embeddings
from llamaindex_ctxassembly.events import ContextAssembledEvent
from llamaindex_ctxassembly.filters import allowed
from llamaindex_ctxassembly.labelled import labelled_nodes, unread
from llamaindex_ctxassembly.llm import async_model, model
from llamaindex_ctxassembly.nodes import is_media, to_hit
from llamaindex_ctxassembly.vectorstore import VectorStoreNeighbours

dispatcher = get_dispatcher(__name__)


class ContextAssemblyPostprocessor(BaseNodePostprocessor):
    """Turns retrieved nodes into the context that the LLM reads: one node per label, in order.

    The label of a node is `node.metadata["citation"]["label"]`. `source_nodes[i - 1]` is label i, unless a supplement
    stands before the documents: its node is the first one then, and label i is `source_nodes[i]`.

    Joined by a blank line, as `compact` does it, the nodes are `Context.text` exactly, whatever their metadata, which
    hold the citation, the chunk ids, the scores and the trace. It must be the last postprocessor, and what splits or
    numbers nodes again (CitationQueryEngine) must not follow.

    Neighbours come from one of `docstore`, `vector_store` (which has to store text) and `store` (any object with
    fetch(refs) or afetch(refs)); without one of them the hits stand alone. `filter` is the retriever's: no neighbour
    that it excludes gets into the context, and from Postgres none is read.

    `supplement` is what no node holds, facts from a graph or a database: text, a `Supplement`, or a function from the
    query (None if there is none) to one of them or None.

    Nodes with an image, audio or video and no text follow the labelled ones, with their metadata kept out of the
    prompt; of an image with a caption the caption is read.

    `embeddings` is for `dedup="semantic"`: a LlamaIndex embedding model, anything with `embed_documents(texts)`, or a
    function. It gets the texts of the nodes without an embedding in one batch; those with one are not embedded again.

    `llm` is for `compress="llm"`, which needs it: a LlamaIndex LLM, or a function from a prompt to an answer.

    Stores, models and the supplement are left out of `to_dict` and `to_json`: hand them to `from_dict` again.

    Raises:
        ConfigError: more than one store, a store, embeddings or an llm that aren't, `compress="llm"` without `llm`, or
            a filter that can't be translated.
    """

    model_config = ConfigDict(extra="forbid")

    config: AssemblyConfig = Field(default_factory=AssemblyConfig, frozen=True)
    filter: MetadataFilters | None = Field(default=None, frozen=True)
    docstore: BaseDocumentStore | None = Field(default=None, exclude=True, frozen=True)
    vector_store: BasePydanticVectorStore | None = Field(default=None, exclude=True, frozen=True)
    store: Any = Field(default=None, exclude=True, frozen=True)
    embeddings: Any = Field(default=None, exclude=True, frozen=True)
    llm: Any = Field(default=None, exclude=True, frozen=True)
    supplement: Given = Field(default=None, exclude=True, frozen=True)

    _neighbours: Any = PrivateAttr()
    _embeddings: Any = PrivateAttr()

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._neighbours = self._store_of_neighbours()
        self._embeddings = as_embeddings(self.embeddings)
        check_llm(self.llm, self.config, BaseLLM, "a LlamaIndex LLM or a function from a prompt to an answer")

    @classmethod
    def class_name(cls) -> str:
        """The name under which it is serialized."""
        return "ContextAssemblyPostprocessor"

    def __getstate__(self) -> dict[Any, Any]:
        # LlamaIndex's own drops what can't be pickled: the copy would have the default config or no store.
        return BaseModel.__getstate__(self)

    def _store_of_neighbours(self) -> Any:
        given = [name for name in ("docstore", "vector_store", "store") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ConfigError("store, docstore and vector_store", "one of the three at most", " and ".join(given))
        if self.vector_store is not None and _is_postgres(self.vector_store):
            from llamaindex_ctxassembly.postgres import PGVectorNeighbours

            return PGVectorNeighbours(self.vector_store, filter=self.filter, keys=self.config.keys)
        store = self.store
        if self.docstore is not None:
            store = DocstoreNeighbours(self.docstore, keys=self.config.keys)
        elif self.vector_store is not None:
            store = VectorStoreNeighbours(self.vector_store, keys=self.config.keys)
        elif store is not None and not (hasattr(store, "fetch") or hasattr(store, "afetch")):
            raise ConfigError("store", "an object with fetch(refs) or afetch(refs)", store)
        return store if store is None or self.filter is None else FilteredStore(store, partial(allowed, self.filter))

    def context(self, nodes: Iterable[NodeWithScore], query_str: str | None = None) -> Context:
        """What `postprocess_nodes` makes its nodes of, with its decisions: for a look at them."""
        return assemble(**self._given(nodes, query_str), llm=model(self.llm))

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return _answer(nodes, self.context(nodes, _words(query_bundle)))

    @dispatcher.span
    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        given = self._given(nodes, _words(query_bundle))
        return _answer(nodes, await aassemble(**given, llm=async_model(self.llm)))

    def _given(self, nodes: Iterable[NodeWithScore], query: str | None) -> dict[str, Any]:
        return {
            "hits": [to_hit(each, self.config.keys) for each in nodes if not is_media(each)],
            "config": self.config,
            "query": query,
            "store": self._neighbours,
            "supplement": supplement_for(query, self.supplement),
            "embeddings": self._embeddings,
        }


def _words(query_bundle: QueryBundle | None) -> str | None:
    return None if query_bundle is None else query_bundle.query_str


def _answer(nodes: Sequence[NodeWithScore], context: Context) -> list[NodeWithScore]:
    dispatcher.event(
        ContextAssembledEvent(query=context.query, citations=plain(context.citations), trace=plain_trace(context.trace))
    )
    media = [NodeWithScore(node=unread(each.node), score=each.score) for each in nodes if is_media(each)]
    return labelled_nodes(context, [each.node for each in nodes]) + media


def _is_postgres(vector_store: BasePydanticVectorStore) -> bool:
    """Whether it is LlamaIndex's PGVectorStore, told by name: who doesn't use it needn't have its package."""
    kinds = {(kind.__module__, kind.__name__) for kind in type(vector_store).__mro__}
    return ("llama_index.vector_stores.postgres.base", "PGVectorStore") in kinds
