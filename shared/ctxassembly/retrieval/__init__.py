"""Retrieval: a query in, hits out, as one generator that asks for I/O instead of doing it.

The public types of retrieval are here; each is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxassembly.lazy import lazy_names

if TYPE_CHECKING:
    from ctxassembly.config.retrieval import Boost as Boost
    from ctxassembly.data.requests import FindTerms as FindTerms
    from ctxassembly.data.requests import SearchChunks as SearchChunks
    from ctxassembly.data.retrieval import Explanation as Explanation
    from ctxassembly.data.retrieval import QueryVocabulary as QueryVocabulary
    from ctxassembly.data.retrieval import RetrievalTrace as RetrievalTrace
    from ctxassembly.data.retrieval import RetrievedChunk as RetrievedChunk
    from ctxassembly.data.retrieval import ScoredChunk as ScoredChunk
    from ctxassembly.data.retrieval import Step as Step
    from ctxassembly.data.retrieval import TermStats as TermStats
    from ctxassembly.retrieval.explain import TuneResult as TuneResult
    from ctxassembly.retrieval.search import Question as Question
    from ctxassembly.retrieval.taxonomy import ListRule as ListRule
    from ctxassembly.retrieval.taxonomy import Node as Node
    from ctxassembly.retrieval.taxonomy import Relation as Relation
    from ctxassembly.retrieval.taxonomy import Taxonomy as Taxonomy
else:
    _HOMES = {
        "ctxassembly.config.retrieval": "Boost",
        "ctxassembly.data.requests": "FindTerms SearchChunks",
        "ctxassembly.data.retrieval": (
            "Explanation QueryVocabulary RetrievalTrace RetrievedChunk ScoredChunk Step TermStats"
        ),
        "ctxassembly.retrieval.search": "Question",
        "ctxassembly.retrieval.taxonomy": "ListRule Node Relation Taxonomy",
        "ctxassembly.retrieval.explain": "TuneResult",
    }
    __all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
