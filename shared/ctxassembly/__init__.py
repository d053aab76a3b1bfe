"""Retrieved chunks in, the context that a language model reads out: joined, within budget, cited, explained.

Each name is loaded when it is first used, so importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ctxassembly import presets
    from ctxassembly.answering.answer import Answer, AnswerPiece, AnswerStep, Quality
    from ctxassembly.answering.requests import AskModel, Exchange, ModelReply
    from ctxassembly.assembly.selection.supplement import Supplement
    from ctxassembly.citations.quotes import Quote
    from ctxassembly.citations.reader import AnswerReader, Resolved
    from ctxassembly.citations.references import Reference
    from ctxassembly.comparison.budgets import compare_budgets
    from ctxassembly.comparison.compare import Comparison, compare
    from ctxassembly.comparison.row import ComparisonRow
    from ctxassembly.comparison.slider import Slider
    from ctxassembly.config.answering import AnswerConfig, Intent, Mode
    from ctxassembly.config.assembly import AssemblyConfig
    from ctxassembly.config.enrichment import EnrichmentConfig
    from ctxassembly.config.retrieval import Boost, RetrievalConfig
    from ctxassembly.context import Context
    from ctxassembly.conversations.labels import Labels
    from ctxassembly.conversations.resolve import resolve
    from ctxassembly.data.chunks import Chunk, ChunkOrigin, ChunkRef, Hit, OffsetRange
    from ctxassembly.data.citations import Block, Citation, Passage, Source
    from ctxassembly.data.metadata_keys import MetadataKeys
    from ctxassembly.data.requests import FindTerms, SearchChunks
    from ctxassembly.data.retrieval import (
        Explanation,
        QueryUnderstanding,
        QueryVocabulary,
        RetrievalTrace,
        RetrievedChunk,
        ScoredChunk,
        Step,
        TermStats,
    )
    from ctxassembly.data.trace import Decision, Stage, StageBegan, StageEnded, StageFailed, Trace
    from ctxassembly.enrichment.enrich import aenrich, enrich, estimate_enrichment
    from ctxassembly.enrichment.run import EnrichmentEstimate, EnrichmentResult
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
    from ctxassembly.protocols import (
        AnswerCache,
        AsyncEmbeddings,
        AsyncIndex,
        AsyncLanguageModel,
        AsyncOnStage,
        AsyncScorer,
        AsyncStore,
        AsyncTransformFetched,
        ChatModel,
        Embeddings,
        Index,
        LanguageModel,
        ModelClient,
        OnStage,
        Scorer,
        Store,
        TransformFetched,
    )
    from ctxassembly.retrieval.search import Question
    from ctxassembly.retrieval.taxonomy import ListRule, Node, Relation, Taxonomy
    from ctxassembly.retrieval.tune import TuneResult
    from ctxassembly.retrieved import Retrieved
    from ctxassembly.runtime.answer import AnswerChain, aunderstand, understand
    from ctxassembly.runtime.assemble import aassemble, assemble
    from ctxassembly.runtime.explain import aexplain, atune, explain, tune
    from ctxassembly.runtime.retrieve import aretrieve, retrieve
    from ctxassembly.stores.memory.index import MemoryIndex
    from ctxassembly.stores.memory.store import MemoryStore
    from ctxassembly.stores.postgres.index import PostgresIndex as PostgresIndex
    from ctxassembly.tokens.budget import TokenBudget
    from ctxassembly.tokens.history import History, trim_history
    from ctxassembly.wording.formats import Heading

__all__ = [
    "Answer",
    "AnswerCache",
    "AnswerChain",
    "AnswerConfig",
    "AnswerError",
    "AnswerPiece",
    "AnswerReader",
    "AnswerStep",
    "AskModel",
    "AssemblyConfig",
    "AsyncEmbeddings",
    "AsyncIndex",
    "AsyncLanguageModel",
    "AsyncOnStage",
    "AsyncScorer",
    "AsyncStore",
    "AsyncTransformFetched",
    "Block",
    "Boost",
    "ChatModel",
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
    "Embeddings",
    "EnrichmentConfig",
    "EnrichmentEstimate",
    "EnrichmentResult",
    "Exchange",
    "Explanation",
    "FilterNotSeenWarning",
    "FindTerms",
    "Heading",
    "History",
    "Hit",
    "Index",
    "InputError",
    "Intent",
    "Labels",
    "LanguageModel",
    "ListRule",
    "MemoryIndex",
    "MemoryStore",
    "MetadataKeys",
    "MissingExtraError",
    "Mode",
    "ModelClient",
    "ModelReply",
    "Node",
    "NothingToJoinWarning",
    "OffsetRange",
    "OnStage",
    "Passage",
    "Quality",
    "QueryUnderstanding",
    "QueryVocabulary",
    "Question",
    "Quote",
    "Reference",
    "Relation",
    "Resolved",
    "RetrievalConfig",
    "RetrievalTrace",
    "Retrieved",
    "RetrievedChunk",
    "ScoredChunk",
    "Scorer",
    "SearchChunks",
    "SearchError",
    "Slider",
    "Source",
    "Stage",
    "StageBegan",
    "StageEnded",
    "StageFailed",
    "Step",
    "Store",
    "StoreError",
    "Supplement",
    "Taxonomy",
    "TermStats",
    "TokenBudget",
    "Trace",
    "TransformFetched",
    "TuneResult",
    "VocabularyError",
    "aassemble",
    "aenrich",
    "aexplain",
    "aretrieve",
    "assemble",
    "atune",
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

# Not among them is PostgresIndex, which needs an extra: `from ctxassembly import *` has to work without it.

_MODULES = {
    "Answer": "answering.answer",
    "AnswerCache": "protocols",
    "AnswerChain": "runtime.answer",
    "AnswerConfig": "config.answering",
    "AnswerError": "errors",
    "AnswerPiece": "answering.answer",
    "AnswerReader": "citations.reader",
    "AnswerStep": "answering.answer",
    "AskModel": "answering.requests",
    "ModelClient": "protocols",
    "AssemblyConfig": "config.assembly",
    "AsyncEmbeddings": "protocols",
    "AsyncIndex": "protocols",
    "AsyncLanguageModel": "protocols",
    "AsyncTransformFetched": "protocols",
    "AsyncOnStage": "protocols",
    "AsyncScorer": "protocols",
    "AsyncStore": "protocols",
    "OffsetRange": "data.chunks",
    "Block": "data.citations",
    "Boost": "config.retrieval",
    "ChatModel": "protocols",
    "Chunk": "data.chunks",
    "ChunkRef": "data.chunks",
    "Citation": "data.citations",
    "ComparisonRow": "comparison.row",
    "Comparison": "comparison.compare",
    "ConfigError": "errors",
    "Context": "context",
    "CtxAssemblyError": "errors",
    "Decision": "data.trace",
    "EmbeddedServerError": "errors",
    "Embeddings": "protocols",
    "EnrichmentResult": "enrichment.run",
    "EnrichmentConfig": "config.enrichment",
    "EnrichmentEstimate": "enrichment.run",
    "Exchange": "answering.requests",
    "Explanation": "data.retrieval",
    "FilterNotSeenWarning": "errors",
    "FindTerms": "data.requests",
    "RetrievedChunk": "data.retrieval",
    "Heading": "wording.formats",
    "History": "tokens.history",
    "Hit": "data.chunks",
    "Index": "protocols",
    "InputError": "errors",
    "Intent": "config.answering",
    "Labels": "conversations.labels",
    "LanguageModel": "protocols",
    "ListRule": "retrieval.taxonomy",
    "MemoryIndex": "stores.memory.index",
    "MemoryStore": "stores.memory.store",
    "MetadataKeys": "data.metadata_keys",
    "MissingExtraError": "errors",
    "Mode": "config.answering",
    "ModelReply": "answering.requests",
    "Node": "retrieval.taxonomy",
    "NothingToJoinWarning": "errors",
    "TransformFetched": "protocols",
    "OnStage": "protocols",
    "ChunkOrigin": "data.chunks",
    "Passage": "data.citations",
    "PostgresIndex": "stores.postgres",
    "Quality": "answering.answer",
    "Question": "retrieval.search",
    "Quote": "citations.quotes",
    "Reference": "citations.references",
    "Relation": "retrieval.taxonomy",
    "Resolved": "citations.reader",
    "RetrievalConfig": "config.retrieval",
    "RetrievalTrace": "data.retrieval",
    "Retrieved": "retrieved",
    "ScoredChunk": "data.retrieval",
    "Scorer": "protocols",
    "SearchChunks": "data.requests",
    "SearchError": "errors",
    "Slider": "comparison.slider",
    "Source": "data.citations",
    "Stage": "data.trace",
    "StageBegan": "data.trace",
    "StageEnded": "data.trace",
    "StageFailed": "data.trace",
    "Step": "data.retrieval",
    "Store": "protocols",
    "StoreError": "errors",
    "Supplement": "assembly.selection.supplement",
    "Taxonomy": "retrieval.taxonomy",
    "TermStats": "data.retrieval",
    "TokenBudget": "tokens.budget",
    "Trace": "data.trace",
    "TuneResult": "retrieval.tune",
    "QueryUnderstanding": "data.retrieval",
    "QueryVocabulary": "data.retrieval",
    "VocabularyError": "errors",
    "aassemble": "runtime.assemble",
    "aenrich": "enrichment.enrich",
    "aexplain": "runtime.explain",
    "aretrieve": "runtime.retrieve",
    "assemble": "runtime.assemble",
    "atune": "runtime.explain",
    "aunderstand": "runtime.answer",
    "compare": "comparison.compare",
    "compare_budgets": "comparison.budgets",
    "enrich": "enrichment.enrich",
    "estimate_enrichment": "enrichment.enrich",
    "explain": "runtime.explain",
    "number_chunks": "integrations.numbering",
    "resolve": "conversations.resolve",
    "retrieve": "runtime.retrieve",
    "trim_history": "tokens.history",
    "tune": "runtime.explain",
    "understand": "runtime.answer",
    "uuid_of": "integrations.numbering",
}


def __getattr__(name: str) -> Any:
    if name == "presets":
        return import_module("ctxassembly.presets")
    if name == "__version__":  # that of pyproject.toml, which only an installed package can tell
        return import_module("importlib.metadata").version("ctxassembly")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"ctxassembly.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    from ctxassembly.errors import is_installed

    # `help` reads all of these: it has to work without extras.
    of_postgres = () if is_installed("sqlalchemy") else ("PostgresIndex",)
    return sorted({*globals(), *__all__, *_MODULES}.difference(of_postgres))
