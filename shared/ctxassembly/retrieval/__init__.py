"""Retrieval: a query in, hits out, as one generator that asks for I/O instead of doing it.

The public types of retrieval are here; each is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxassembly.lazy import lazy_names

if TYPE_CHECKING:
    from ctxassembly.config.retrieval import Boost
    from ctxassembly.data.requests import FindTerms, SearchChunks
    from ctxassembly.data.retrieval import (
        Explanation,
        QueryVocabulary,
        RetrievalTrace,
        RetrievedChunk,
        ScoredChunk,
        Step,
        TermStats,
    )
    from ctxassembly.retrieval.search import Question
    from ctxassembly.retrieval.taxonomy import ListRule, Node, Relation, Taxonomy

    __all__ = [
        "Boost",
        "Explanation",
        "FindTerms",
        "ListRule",
        "Node",
        "QueryVocabulary",
        "Question",
        "Relation",
        "RetrievalTrace",
        "RetrievedChunk",
        "ScoredChunk",
        "SearchChunks",
        "Step",
        "Taxonomy",
        "TermStats",
    ]
else:
    _HOMES = {
        "ctxassembly.config.retrieval": "Boost",
        "ctxassembly.data.requests": "FindTerms SearchChunks",
        "ctxassembly.data.retrieval": (
            "Explanation QueryVocabulary RetrievalTrace RetrievedChunk ScoredChunk Step TermStats"
        ),
        "ctxassembly.retrieval.search": "Question",
        "ctxassembly.retrieval.taxonomy": "ListRule Node Relation Taxonomy",
    }
    __all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
