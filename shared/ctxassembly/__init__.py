"""Turn retrieved chunks into the context that a language model reads: joined, within budget, cited, explained.

The protocols of stores, indexes and models are in `ctxassembly.protocols`, the types of retrieval in
`ctxassembly.retrieval` and the types of answer chains in `ctxassembly.answering`. Each name is imported on first use,
so importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ctxassembly.lazy import Extra, lazy_names

if TYPE_CHECKING:
    from ctxassembly import presets
    from ctxassembly.assembly.selection.supplement import Supplement
    from ctxassembly.citations.quotes import Quote
    from ctxassembly.citations.reader import AnswerReader, Resolved
    from ctxassembly.citations.references import Reference
    from ctxassembly.comparison.compare import Comparison, Slider, compare, compare_budgets
    from ctxassembly.comparison.rows import ComparisonRow
    from ctxassembly.config.assembly import AssemblyConfig
    from ctxassembly.config.enrichment import EnrichmentConfig
    from ctxassembly.config.retrieval import RetrievalConfig
    from ctxassembly.context import Context
    from ctxassembly.conversations.labels import Labels
    from ctxassembly.conversations.resolve import resolve
    from ctxassembly.data.chunks import Chunk, ChunkOrigin, ChunkRef, Hit, OffsetRange
    from ctxassembly.data.citations import Block, Citation, Passage, Source
    from ctxassembly.data.metadata_keys import MetadataKeys
    from ctxassembly.data.trace import Decision, Stage, StageBegan, StageEnded, StageFailed, Trace
    from ctxassembly.enrichment.enrich import (
        EnrichmentEstimate,
        EnrichmentResult,
        aenrich,
        enrich,
        estimate_enrichment,
    )
    from ctxassembly.errors import (
        AnswerError,
        ConfigError,
        CtxAssemblyError,
        EmbeddedServerError,
        FilterNotSeenWarning,
        InputError,
        MissingExtraError,
        NothingToJoinWarning,
        SearchError,
        StoreError,
        VocabularyError,
    )
    from ctxassembly.integrations.numbering import number_chunks, uuid_of
    from ctxassembly.retrieved import Retrieved
    from ctxassembly.runtime.answer import AnswerChain, aunderstand, understand
    from ctxassembly.runtime.assemble import aassemble, assemble
    from ctxassembly.runtime.retrieve import aretrieve, explain, retrieve, tune
    from ctxassembly.stores.memory import MemoryIndex, MemoryStore
    from ctxassembly.stores.postgres.index import PostgresIndex as PostgresIndex
    from ctxassembly.tokens.budget import TokenBudget
    from ctxassembly.tokens.history import History, trim_history
    from ctxassembly.wording.formats import Heading

    __all__ = [
        "AnswerChain",
        "AnswerError",
        "AnswerReader",
        "AssemblyConfig",
        "Block",
        "Chunk",
        "ChunkOrigin",
        "ChunkRef",
        "Citation",
        "Comparison",
        "ComparisonRow",
        "ConfigError",
        "Context",
        "CtxAssemblyError",
        "Decision",
        "EmbeddedServerError",
        "EnrichmentConfig",
        "EnrichmentEstimate",
        "EnrichmentResult",
        "FilterNotSeenWarning",
        "Heading",
        "History",
        "Hit",
        "InputError",
        "Labels",
        "MemoryIndex",
        "MemoryStore",
        "MetadataKeys",
        "MissingExtraError",
        "NothingToJoinWarning",
        "OffsetRange",
        "Passage",
        "Quote",
        "Reference",
        "Resolved",
        "RetrievalConfig",
        "Retrieved",
        "SearchError",
        "Slider",
        "Source",
        "Stage",
        "StageBegan",
        "StageEnded",
        "StageFailed",
        "StoreError",
        "Supplement",
        "TokenBudget",
        "Trace",
        "VocabularyError",
        "aassemble",
        "aenrich",
        "aretrieve",
        "assemble",
        "aunderstand",
        "compare",
        "compare_budgets",
        "enrich",
        "estimate_enrichment",
        "explain",
        "number_chunks",
        "presets",
        "resolve",
        "retrieve",
        "trim_history",
        "tune",
        "understand",
        "uuid_of",
    ]
    __version__: str
else:
    _HOMES = {
        "ctxassembly.assembly.selection.supplement": "Supplement",
        "ctxassembly.citations.quotes": "Quote",
        "ctxassembly.citations.reader": "AnswerReader Resolved",
        "ctxassembly.citations.references": "Reference",
        "ctxassembly.comparison.compare": "Comparison Slider compare compare_budgets",
        "ctxassembly.comparison.rows": "ComparisonRow",
        "ctxassembly.config.assembly": "AssemblyConfig",
        "ctxassembly.config.enrichment": "EnrichmentConfig",
        "ctxassembly.config.retrieval": "RetrievalConfig",
        "ctxassembly.context": "Context",
        "ctxassembly.conversations.labels": "Labels",
        "ctxassembly.conversations.resolve": "resolve",
        "ctxassembly.data.chunks": "Chunk ChunkOrigin ChunkRef Hit OffsetRange",
        "ctxassembly.data.citations": "Block Citation Passage Source",
        "ctxassembly.data.metadata_keys": "MetadataKeys",
        "ctxassembly.data.trace": "Decision Stage StageBegan StageEnded StageFailed Trace",
        "ctxassembly.enrichment.enrich": "EnrichmentEstimate EnrichmentResult aenrich enrich estimate_enrichment",
        "ctxassembly.errors": (
            "AnswerError ConfigError CtxAssemblyError EmbeddedServerError FilterNotSeenWarning "
            "InputError MissingExtraError NothingToJoinWarning SearchError StoreError VocabularyError"
        ),
        "ctxassembly.integrations.numbering": "number_chunks uuid_of",
        "ctxassembly.retrieved": "Retrieved",
        "ctxassembly.runtime.answer": "AnswerChain aunderstand understand",
        "ctxassembly.runtime.assemble": "aassemble assemble",
        "ctxassembly.runtime.retrieve": "aretrieve explain retrieve tune",
        "ctxassembly.stores.memory": "MemoryIndex MemoryStore",
        "ctxassembly.stores.postgres.index": "PostgresIndex",
        "ctxassembly.tokens.budget": "TokenBudget",
        "ctxassembly.tokens.history": "History trim_history",
        "ctxassembly.wording.formats": "Heading",
        "ctxassembly.presets": "",
    }

    _EXTRAS = {"ctxassembly.stores.postgres.index": Extra("postgres", ("sqlalchemy",))}
    __all__, _get_name, __dir__ = lazy_names(__name__, _HOMES, extras=_EXTRAS)

    def __getattr__(name: str) -> Any:
        if name == "__version__":  # the version in pyproject.toml, which only an installed package knows
            return import_module("importlib.metadata").version("ctxassembly")
        return _get_name(name)
