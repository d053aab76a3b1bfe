"""LangChain's retrievers as searches: with their scores, as a channel, and with the filter of a call.

`VectorStoreRetriever` drops the scores; `ScoredRetriever` keeps them. `current_search` reads from outside which filter
the search of a call applies, as far as it can be seen: stores of neighbors get the same one, so that no chunk that it
excludes is added as a neighbor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, cast

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableBinding, RunnableConfig
from langchain_core.runnables.config import merge_configs, var_child_runnable_config
from langchain_core.runnables.configurable import RunnableConfigurableAlternatives, RunnableConfigurableFields
from langchain_core.runnables.retry import RunnableRetry
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from pydantic import ConfigDict, Field, InstanceOf
from typing_extensions import override

from ctxassembly.data.chunks import Chunk, Hit
from ctxassembly.data.filters import check_size, combine_filters, is_filter
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.stores.filtered import FilteredStore, ScopedStore
from langchain_ctxassembly.convert.documents import read_documents
from langchain_ctxassembly.stores.filters import Predicate, and_filters, kind_of, predicate
from langchain_ctxassembly.stores.identity import has_same_documents, is_langchain_class, unwrap

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


def search_channel(
    channel: str, retriever: BaseRetriever, query: str, limit: int, condition: Any, *, keys: MetadataKeys
) -> list[Hit]:
    """Return the hits of a retriever that is a channel of a retrieval.

    A vector store's retriever takes the number of chunks and the filter of the call, in addition to its own. Any
    other retriever gives as many as it was set up for, and is refused a filter: it would not apply it.
    """
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


class SearchCall(NamedTuple):
    """A search as it is found inside of whatever wraps it."""

    vectorstore: Any
    arguments: Mapping[str, Any]
    """The arguments of the search."""
    compressors: tuple[Any, ...] = ()
    """The compressors that its documents go through, and that may leave out some."""


NO_ARGUMENTS: Mapping[str, Any] = MappingProxyType({})
WRAPPERS: Mapping[str, tuple[str, bool]] = {
    "ContextualCompressionRetriever": ("base_retriever", True),
    "MultiQueryRetriever": ("retriever", False),
}
"""LangChain's retrievers that search by one other: the field it is in, and True if it gets a call's arguments."""


@dataclass(frozen=True)
class VisibleSearch:
    """A vector store's search, by what it excludes."""

    vectorstore: Any
    filter: Any = None
    """In the vector store's own form; None says that there is none."""
    is_exhaustive: bool = True
    """True if nothing but the filter is known to exclude documents."""

    @property
    def has_no_filter(self) -> bool:
        """True if it is known to search all documents of its vector store."""
        return self.is_exhaustive and not is_filter(self.filter)


def current_search(
    retriever: Any, config: RunnableConfig | None = None, arguments: Mapping[str, Any] = NO_ARGUMENTS
) -> VisibleSearch | None:
    """Return the one search that `retriever` makes if it is called now under `config` with `arguments`.

    Only what LangChain itself calls to resolve configs is called. A vector store's retriever is found behind retries,
    bound arguments, configurable fields and alternatives, and behind `WRAPPERS`. Returns None if the search can't be
    determined: for any other runnable, or a custom retriever, which may filter by itself. A custom vector store or an
    unknown argument may filter, too: the filter returned is then not the only one.
    """
    found = _find_search(retriever, config, arguments)
    if found is None:
        return None
    vectorstore, search_arguments, _ = found
    condition = search_arguments.get("filter")
    check_size(condition)
    is_exhaustive = is_langchain_class(type(vectorstore)) and not unknown_arguments(search_arguments)
    if not is_filter(condition):
        return VisibleSearch(vectorstore, None, is_exhaustive)
    # A copy, since a later change is meant for another call.
    return VisibleSearch(
        vectorstore, deepcopy(condition) if isinstance(condition, (dict, list)) else condition, is_exhaustive
    )


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


def bound_config(binding: Any, config: RunnableConfig | None) -> RunnableConfig:
    """Return the config of the runnable in `binding`, merged in LangChain's order."""
    merged = merge_configs(binding.config, config)
    return merge_configs(merged, *(factory(merged) for factory in binding.config_factories))


def _find_search(runnable: Any, config: RunnableConfig | None, arguments: Mapping[str, Any]) -> SearchCall | None:
    kind = type(runnable)
    for known in (VectorStoreRetriever, ScoredRetriever):
        if isinstance(runnable, known) and _inherits_search(known, kind):
            return SearchCall(runnable.vectorstore, {**runnable.search_kwargs, **arguments})
    if kind in (RunnableBinding, RunnableRetry):
        return _find_search(runnable.bound, bound_config(runnable, config), {**runnable.kwargs, **arguments})
    if kind in (RunnableConfigurableFields, RunnableConfigurableAlternatives):
        prepared, config = runnable.prepare(config)
        return _find_search(prepared, config, arguments)
    if kind.__name__ in WRAPPERS and kind.__module__.partition(".")[0] in ("langchain", "langchain_classic"):
        name, takes_arguments = WRAPPERS[kind.__name__]
        # A filter among the arguments would not reach the search.
        if arguments and not takes_arguments:
            return None
        inner = _find_stable_search(getattr(runnable, name), config, arguments)
        compressor = getattr(runnable, "base_compressor", None)
        if inner is None or compressor is None:
            return inner
        return inner._replace(compressors=(*inner.compressors, compressor))
    return None


def _inherits_search(kind: type, derived: type) -> bool:
    """Return True if the class `derived` leaves the search to `kind`: it overrides none of the methods that search."""
    names = ("invoke", "ainvoke", "_get_relevant_documents", "_aget_relevant_documents")
    return all(getattr(derived, name) is getattr(kind, name) for name in names)


def _find_stable_search(
    runnable: Any, config: RunnableConfig | None, arguments: Mapping[str, Any]
) -> SearchCall | None:
    """Return the search of `runnable` if it is the same under `config` and under the ambient one; else None.

    A retriever inside another gets only the ambient config, so the config of the call may not reach it.
    """
    found, other = (_find_search(runnable, given, arguments) for given in (config, None))
    if found is None or other is None or found.vectorstore is not other.vectorstore:
        return None
    if found.arguments.keys() != other.arguments.keys():
        return None
    is_same = all(value is other.arguments[name] for name, value in found.arguments.items())
    return found if is_same else None


def restrict_store(store: Any, condition: Any, search: VisibleSearch | None) -> Any:
    """Return `store` with its own filter, `condition` and the filter of `search`, all three.

    Without a `search` the caller's filter is unknown, and only `condition` applies. A search without a
    filter says nothing about a store over other documents: the search may be in the collection of one tenant, and the
    store hold everybody's.

    Raises:
        ConfigError: a filter has a form that can't be applied. The filter of `search` is ignored if the store has its
            own filter, which then replaces it.
    """
    original, store = store, apply_filter(store, condition, getattr(store, "vectorstore", None))
    if (
        store is None
        or search is None
        or (search.has_no_filter and not has_same_documents(original, search.vectorstore))
    ):
        return store
    has_own_filter = getattr(store, "holds_filter", None) is True
    try:
        restricted = apply_filter(store, search.filter, search.vectorstore)
    except ConfigError:
        if has_own_filter:
            return store
        raise
    if has_own_filter:
        return restricted
    return ScopedStore(restricted, holds_filter=is_filter(search.filter) if search.is_exhaustive else None)


def apply_filter(store: Any, condition: Any, vectorstore: Any = None) -> Any:
    """Return `store` filtered by `condition`, in the form of `vectorstore`, in addition to its own filter.

    A dataclass with a field `filter`, over a vector store of the same kind, applies the condition in its own query. To
    the chunks of any other store it is applied after the fetch, as the vector store would.

    Raises:
        ConfigError: `condition` has a form that can't be applied.
    """
    if store is None or not is_filter(condition):
        return store
    if _can_apply_filter(store, vectorstore):
        combined = and_filters(store.filter, condition) if is_filter(store.filter) else condition
        if combined is not None:
            return replace(store, filter=combined)
    return FilteredStore(store, filter_chunks=partial(_filter_chunks, predicate(vectorstore, condition)))


def _can_apply_filter(store: Any, vectorstore: Any) -> bool:
    names = {field.name for field in fields(store)} if is_dataclass(store) else set()
    if "filter" not in names:
        return False
    return "vectorstore" not in names or vectorstore is None or kind_of(store.vectorstore) is kind_of(vectorstore)


def _filter_chunks(accepts: Predicate, chunks: Iterable[Chunk]) -> list[Chunk]:
    return [
        chunk
        for chunk in chunks
        if accepts(Document(id=chunk.id, page_content=chunk.text, metadata=dict(chunk.metadata)))
    ]
