"""Retrievers as searches: one that keeps the scores of a vector store, and any of LangChain's as a channel.

`VectorStoreRetriever` throws the scores away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from functools import partial
from itertools import pairwise
from typing import Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from pydantic import ConfigDict, Field, InstanceOf
from typing_extensions import override

from ctxassembly.data.chunks import Hit
from ctxassembly.data.filters import combine_filters, is_filter
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from langchain_ctxassembly.convert.documents import read_documents
from langchain_ctxassembly.stores.filters import and_filters
from langchain_ctxassembly.stores.identity import unwrap

SearchType = Literal["similarity", "similarity_score_threshold", "mmr"]

SEARCH_METHODS: dict[SearchType, str] = {
    "similarity": "similarity_search_with_score",
    "similarity_score_threshold": "similarity_search_with_relevance_scores",
    "mmr": "max_marginal_relevance_search",
}
SCORE_KEY = "relevance_score"
"""The metadata key under which LangChain's rerankers write their score."""

NON_FILTERING = frozenset({"k", "fetch_k", "lambda_mult", "score_threshold", "hybrid_search_config"})
"""Search arguments that exclude no documents by their metadata."""
KNOWN_ARGUMENTS = frozenset({"filter"}) | NON_FILTERING
"""Search arguments with a known effect."""

ScoredDocuments = Sequence[tuple[Document, float | None]]


class ScoredRetriever(BaseRetriever):
    """A retriever over a vector store that writes the score of each document into its metadata.

    A higher score is better, even if the store returns distances: `as_scores` distinguishes the two. The arguments of a
    call are added to the arguments of every search, as in `VectorStoreRetriever`.
    """

    vectorstore: InstanceOf[VectorStore]
    search_type: SearchType = "similarity"
    search_kwargs: dict[str, Any] = Field(default_factory=dict)
    keys: InstanceOf[MetadataKeys] = Field(default_factory=MetadataKeys)
    should_reject_unknown: bool = False
    """True if an argument that may filter in an unknown way is an error, whenever it is given."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        method, has_scores = self._search_method("")
        found = getattr(self.vectorstore, method)(query, **self._search_arguments(kwargs))
        return self._with_scores(found) if has_scores else found

    @override
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        method, has_scores = self._search_method("a")
        found = await getattr(self.vectorstore, method)(query, **self._search_arguments(kwargs))
        return self._with_scores(found) if has_scores else found

    def _search_method(self, prefix: str) -> tuple[str, bool]:
        """Return the name of the search method, and True if it gives scores."""
        kind = type(self.vectorstore)
        if self.search_type == "similarity" and all(
            getattr(kind, name) is getattr(VectorStore, name)
            for name in ("similarity_search_with_score", "asimilarity_search_with_score")
        ):
            # The store has none of its own; the base class only raises.
            return f"{prefix}similarity_search", False
        return prefix + SEARCH_METHODS[self.search_type], self.search_type != "mmr"

    def _search_arguments(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the search's arguments. A hybrid config keeps the first query it sees, so each search gets a copy."""
        options = self.search_kwargs | arguments
        if self.should_reject_unknown:
            check_arguments(options)
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


def unknown_arguments(arguments: Iterable[str]) -> list[str]:
    """Return the names of a search's arguments that might filter in a way unknown here."""
    return sorted(set(arguments) - KNOWN_ARGUMENTS)


def check_arguments(arguments: Iterable[str]) -> None:
    """Raise a ConfigError if any of a search's arguments might filter in a way unknown here."""
    if names := unknown_arguments(arguments):
        allowed = f"out of {', '.join(sorted(KNOWN_ARGUMENTS))} unless store= is given, since others may filter"
        raise ConfigError("search_kwargs", allowed, names)


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


def as_channel(channel: str, retriever: Any, keys: MetadataKeys) -> Callable[[str, int, Any], Any]:
    """Return the search of `retriever`: a function stays as it is, a retriever is asked by `invoke`.

    A vector store's retriever takes the number of chunks and the filter of the call, in addition to its own. Any
    other retriever gives as many as it was set up for, and is refused a filter: it would not apply it.

    Raises:
        ConfigError: `retriever` is neither.
    """
    if isinstance(retriever, BaseRetriever):
        return partial(_search, channel, retriever, keys)
    if not callable(retriever):
        raise ConfigError(f"channels[{channel!r}]", "a LangChain retriever or a function", retriever)
    return retriever  # type: ignore[no-any-return]


def _search(
    channel: str, retriever: BaseRetriever, keys: MetadataKeys, query: str, limit: int, condition: Any
) -> list[Hit]:
    options: dict[str, Any] = {}
    if isinstance(retriever, (VectorStoreRetriever, ScoredRetriever)):
        options["k"], own = limit, retriever.search_kwargs.get("filter")
        if is_filter(condition):
            # LangChain would put it in the place of the retriever's own.
            allowed = "without a filter of its own, where a call has another one"
            options["filter"] = combine_filters(own, condition, f"channels[{channel!r}]", allowed, and_filters, own)
    elif is_filter(condition):
        allowed = f"one whose search takes a filter, where a call has one; {type(retriever).__name__} would ignore it"
        raise ConfigError(f"channels[{channel!r}]", allowed, retriever)
    return read_documents(retriever.invoke(query, **options), keys).hits[:limit]
