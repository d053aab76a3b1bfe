"""LangChain's retrievers as searches: with their scores, as a channel, and with the filter of a call.

`VectorStoreRetriever` drops the scores; `ScoredRetriever` keeps them. `search_filter` reads which filter either of them
applies: stores of neighbors get the same one, so that no chunk that it excludes is added as a neighbor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, cast

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from pydantic import ConfigDict, Field, InstanceOf
from typing_extensions import override

from ctxassembly.config.hints import raises_config_errors
from ctxassembly.data.chunks import Chunk, Hit
from ctxassembly.data.filters import check_size, combine_filters, is_filter
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.stores.filtered import FilteredStore
from langchain_ctxassembly.convert.documents import read_documents
from langchain_ctxassembly.stores.filters import and_filters, kind_of, predicate, unwrap

SearchType = Literal["similarity", "similarity_score_threshold", "mmr"]

SCORED_METHODS = {
    "similarity": "similarity_search_with_score",
    "similarity_score_threshold": "similarity_search_with_relevance_scores",
}
SCORE_KEY = "relevance_score"
"""The metadata key under which LangChain's rerankers write their score."""

ScoredDocuments = Sequence[tuple[Document, float | None]]


@raises_config_errors
class ScoredRetriever(VectorStoreRetriever):
    """A retriever over a vector store that writes the score of each document into its metadata.

    A higher score is better, even if the store returns distances: `as_scores` distinguishes the two.
    """

    keys: InstanceOf[MetadataKeys] = Field(default_factory=MetadataKeys)
    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        method, options = self._scored_method, self._search_arguments(kwargs)
        if method is None:
            return super()._get_relevant_documents(query, run_manager=run_manager, **options)
        return self._with_scores(getattr(self.vectorstore, method)(query, **options))

    @override
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        method, options = self._scored_method, self._search_arguments(kwargs)
        if method is None:
            return await super()._aget_relevant_documents(query, run_manager=run_manager, **options)
        return self._with_scores(await getattr(self.vectorstore, f"a{method}")(query, **options))

    @property
    def _scored_method(self) -> str | None:
        """The name of the search method that gives scores; None if the vector store has none for the type of search."""
        kind, method = type(self.vectorstore), SCORED_METHODS.get(self.search_type)
        if self.search_type == "similarity" and all(
            getattr(kind, f"{prefix}{method}") is getattr(VectorStore, f"{prefix}{method}") for prefix in ("", "a")
        ):
            return None  # the method of the base class only raises
        return method

    def _search_arguments(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the search's arguments. A hybrid config keeps the first query it sees, so each search gets a copy."""
        options = self.search_kwargs | arguments
        hybrid = getattr(unwrap(self.vectorstore), "hybrid_search_config", None)
        hybrid = options.get("hybrid_search_config", hybrid)
        return options | ({"hybrid_search_config": deepcopy(hybrid)} if hybrid else {})

    def _with_scores(self, found: ScoredDocuments) -> list[Document]:
        scores = as_scores([number for _, number in found])
        if scores is None:
            return [document for document, _ in found]
        key = SCORE_KEY if SCORE_KEY in self.keys.score else self.keys.score[0]
        return [
            document.model_copy(update={"metadata": {**document.metadata, key: score}})
            for (document, _), score in zip(found, scores, strict=True)
        ]


DIRECT_RETRIEVERS = (VectorStoreRetriever, ScoredRetriever)
"""The retrievers whose filter is read, as a plain setting. A class derived from one may filter by itself."""


def as_scores(numbers: Sequence[Any]) -> list[float] | None:
    """Return `numbers`, of results best first, as scores, higher is better. None if their order is ambiguous.

    Falling numbers are similarities and stay. Rising ones are distances and become 1 - distance, which for a cosine
    distance is the similarity. A single number, equal numbers and a mixed order are ambiguous: only the rank is used.
    """
    if any(number is None for number in numbers):
        return None
    values = [float(number) for number in numbers]
    is_falling = all(first >= second for first, second in pairwise(values))
    is_rising = all(first <= second for first, second in pairwise(values))
    if is_falling == is_rising:
        return None
    return values if is_falling else [1 - value for value in values]


def search_channel(
    retriever: BaseRetriever, query: str, limit: int, condition: Any, *, keys: MetadataKeys
) -> list[Hit]:
    """Return the hits of a retriever that is a channel of a retrieval.

    A vector store's retriever takes the number of chunks and the filter of the call, in addition to its own. Any
    other retriever gives as many as it was set up for, and is refused a filter: it would not apply it.
    """
    options = filter_arguments(retriever, condition) if is_filter(condition) else {}
    if type(retriever) in DIRECT_RETRIEVERS:
        options["k"] = limit
    return read_documents(retriever.invoke(query, **options), keys).hits[:limit]


class SearchFilter(NamedTuple):
    """The filter of the search that finds the hits: neighbors must pass it, too."""

    condition: Any
    """In the form of `vectorstore`."""
    vectorstore: Any


def search_filter(retriever: Any, arguments: Mapping[str, Any] = MappingProxyType({})) -> SearchFilter | None:
    """Return the filter of a vector store's retriever that is called with `arguments`, as it is now; None without one.

    Any other retriever, also one of LangChain's around a vector store's, has none here: the caller has to give it.
    """
    if type(retriever) not in DIRECT_RETRIEVERS:
        return None
    condition = {**cast(Any, retriever).search_kwargs, **arguments}.get("filter")
    check_size(condition)
    # A copy, since a later change is meant for another call.
    copied = deepcopy(condition) if isinstance(condition, (dict, list)) else condition
    return SearchFilter(copied, retriever.vectorstore) if is_filter(condition) else None


def filter_arguments(retriever: Any, condition: Any) -> dict[str, Any]:
    """Return the search arguments that apply the filter of a call in addition to the retriever's own; none without.

    Raises:
        ConfigError: the search would not apply a filter, or the two have no common form.
    """
    if condition is None:
        return {}
    if type(retriever) not in DIRECT_RETRIEVERS:
        raise ConfigError.worded(
            "filter",
            "filter= of a call needs a VectorStoreRetriever or ScoredRetriever directly inside, not "
            f"{type(retriever).__name__}: give the filter to the search in its own way, and to the assembler, "
            "ContextAssembler(filter=...)",
        )
    own = retriever.search_kwargs.get("filter")
    # LangChain would put the filter of the call in the place of the retriever's own.
    allowed = "without a filter of its own, where a call has another one"
    return {"filter": combine_filters(own, condition, "retriever", allowed, and_filters, own)}


@contextmanager
def ambient_config(config: RunnableConfig) -> Iterator[None]:
    """Set `config` for everything that runs inside; retrievers pass it to inner retrievers in no other way.

    The run's name and id are left out: they belong to one run only.
    """
    inner = {name: value for name, value in config.items() if name not in ("run_name", "run_id")}
    token = var_child_runnable_config.set(cast(RunnableConfig, inner))
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def apply_filter(store: Any, condition: Any, vectorstore: Any = None) -> Any:
    """Return `store` filtered by `condition`, in the form of `vectorstore`, in addition to its own filter.

    A dataclass with a field `filter`, over a vector store of the same kind, applies the condition in its own query. To
    the chunks of any other store it is applied after the fetch, as the vector store would.

    Raises:
        ConfigError: `condition` has a form that can't be applied.
    """
    if store is None or not is_filter(condition):
        return store
    names = {field.name for field in fields(store)} if is_dataclass(store) else ()
    is_same_kind = (
        "vectorstore" not in names or vectorstore is None or kind_of(store.vectorstore) is kind_of(vectorstore)
    )
    if "filter" in names and is_same_kind:
        combined = and_filters(store.filter, condition) if is_filter(store.filter) else condition
        if combined is not None:
            return replace(store, filter=combined)
    accepts = predicate(vectorstore, condition)

    def passes(chunk: Chunk) -> bool:
        return accepts(Document(id=chunk.id, page_content=chunk.text, metadata=dict(chunk.metadata)))

    return FilteredStore(store, filter_chunks=lambda chunks: list(filter(passes, chunks)))
