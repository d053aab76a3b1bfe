"""`explain` and `tune`: why a chunk isn't among the hits, and the weight with the best recall.

Both take the arguments of `retrieve`, and search the same index.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.data.retrieval import Channel, Explanation
from ctxassembly.errors import InputError
from ctxassembly.protocols import AsyncIndex, EmbedQuery, Index, Reranker, SearchFunction
from ctxassembly.retrieval.explain import explain_flow
from ctxassembly.retrieval.fusion import Classifier
from ctxassembly.retrieval.search import Question
from ctxassembly.retrieval.taxonomy import Taxonomy
from ctxassembly.retrieval.tune import LabeledQuestions, TuneResult, tune_flow
from ctxassembly.runtime.search_services import SearchServices, check_config, to_question
from ctxassembly.safe_repr import safe_repr


def explain(
    query: str | Question,
    expect: str,
    config: RetrievalConfig | None = None,
    *,
    index: Index | None = None,
    embed: EmbedQuery | None = None,
    taxonomy: Taxonomy | None = None,
    filter: Any = None,
    channels: Mapping[Channel, SearchFunction] | None = None,
    rerankers: Sequence[Reranker] = (),
    category_of: Classifier | None = None,
) -> Explanation:
    """Retrieve, and return what became of the chunk whose id or part of whose text is `expect`.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
    >>> texts = ("Ferritin is measured in the morning.", "Ferritin, and iron.", "Iron.")
    >>> index = MemoryIndex([Chunk(f"lab#{at}", "lab", text, at) for at, text in enumerate(texts)])
    >>> one = RetrievalConfig(strategy="keyword", limit=1)
    >>> print(explain("When is ferritin measured?", "and iron", one, index=index))
    lab#1: place 2 after fuse, where 1 are kept
    <BLANKLINE>
    step    place  of
    search      2   2
    fuse        2   2
    limit       -   1
    In its stead: lab#0

    The other arguments are as for `retrieve`.

    Raises:
        InputError: `expect` is empty, or as with `retrieve`.
    """
    question, config = to_question(query, filter), check_config(config)
    services = SearchServices.from_arguments(index, embed, channels, rerankers)
    capabilities = services.capabilities(taxonomy, category_of)
    return services.drive(
        explain_flow(question, _check_expected(expect), config, capabilities, time.perf_counter), config.timeout_seconds
    )


async def aexplain(
    query: str | Question,
    expect: str,
    config: RetrievalConfig | None = None,
    *,
    index: AsyncIndex | Index | None = None,
    embed: EmbedQuery | None = None,
    taxonomy: Taxonomy | None = None,
    filter: Any = None,
    channels: Mapping[Channel, SearchFunction] | None = None,
    rerankers: Sequence[Reranker] = (),
    category_of: Classifier | None = None,
) -> Explanation:
    """Async version of `explain`.

    >>> import asyncio
    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin."), Chunk("lab#1", "lab", "Ferritin, and iron.")])
    >>> one = RetrievalConfig(strategy="keyword", limit=1)
    >>> asyncio.run(aexplain("ferritin", "lab#1", one, index=index)).lost_at
    'limit'
    """
    question, config = to_question(query, filter), check_config(config)
    services = SearchServices.from_arguments(index, embed, channels, rerankers)
    flow = explain_flow(
        question, _check_expected(expect), config, services.capabilities(taxonomy, category_of), time.perf_counter
    )
    return await services.adrive(flow, config.timeout_seconds)


def tune(
    labeled_questions: LabeledQuestions,
    config: RetrievalConfig | None = None,
    *,
    index: Index | None = None,
    embed: EmbedQuery | None = None,
    taxonomy: Taxonomy | None = None,
    channels: Mapping[Channel, SearchFunction] | None = None,
) -> TuneResult:
    """Fit `keyword_weight` on questions of your own.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
    >>> index = MemoryIndex([Chunk("a", "d", "Iron."), Chunk("b", "d", "Ferritin.")], [[1.0, 0.0], [0.8, 0.6]])
    >>> best_one = RetrievalConfig(limit=1, keyword_weight=0.1)
    >>> tuned = tune({"ferritin": "b"}, best_one, index=index, embed=lambda _: [1, 0])
    >>> tuned.config.keyword_weight
    0.2

    Args:
        labeled_questions: questions, each with the id of the chunk that answers it or a part of its text, or a list of
            several. A few dozen separate a weight of .3 from one of .7; .6 from .65 needs hundreds.
        config: the other settings, `limit` among them; None means the defaults.
        index: as with `retrieve`, and so are the others.
        embed: see there.
        taxonomy: see there.
        channels: see there.

    Raises:
        ConfigError: the strategy isn't "hybrid".
        InputError: a question has nothing that is expected; or as with `retrieve`.
        SearchError: a channel failed: a weight fitted without it would be none.
    """
    config, services = check_config(config), SearchServices.from_arguments(index, embed, channels, ())
    flow = tune_flow(labeled_questions, config, services.capabilities(taxonomy, None), time.perf_counter)
    return services.drive(flow, config.timeout_seconds)


async def atune(
    labeled_questions: LabeledQuestions,
    config: RetrievalConfig | None = None,
    *,
    index: AsyncIndex | Index | None = None,
    embed: EmbedQuery | None = None,
    taxonomy: Taxonomy | None = None,
    channels: Mapping[Channel, SearchFunction] | None = None,
) -> TuneResult:
    """Async version of `tune`.

    >>> import asyncio
    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
    >>> index = MemoryIndex([Chunk("a", "d", "Iron."), Chunk("b", "d", "Ferritin.")], [[1.0, 0.0], [0.8, 0.6]])
    >>> best_one = RetrievalConfig(limit=1, keyword_weight=0.1)
    >>> asyncio.run(atune({"ferritin": "b"}, best_one, index=index, embed=lambda _: [1, 0])).config.keyword_weight
    0.2
    """
    config, services = check_config(config), SearchServices.from_arguments(index, embed, channels, ())
    flow = tune_flow(labeled_questions, config, services.capabilities(taxonomy, None), time.perf_counter)
    return await services.adrive(flow, config.timeout_seconds)


def _check_expected(expect: str) -> str:
    if not isinstance(expect, str) or not expect.strip():
        raise InputError(f"expect must be an id or a part of a text, got {safe_repr(expect)}")
    return expect
