"""Turn retrieved chunks into the context that a language model reads: joined, within budget, cited, explained.

What a caller uses is here. The protocols of stores, indexes and models are in `ctxassembly.protocols`, the types of
retrieval in `ctxassembly.retrieval`, of answer chains in `ctxassembly.answering`, of labels and quotes in
`ctxassembly.citations`; all errors and warnings are in `ctxassembly.errors`. `ctxassembly.comparison` compares
configurations, and `ctxassembly.enrichment` has a model write notes on chunks. Each name is imported on first use, so
importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ctxassembly.lazy import Extra, lazy_names

if TYPE_CHECKING:
    from ctxassembly import presets
    from ctxassembly.assembly.selection.supplement import Supplement
    from ctxassembly.config.assembly import AssemblyConfig
    from ctxassembly.config.retrieval import RetrievalConfig
    from ctxassembly.context import Context
    from ctxassembly.conversations.conversation import Conversation, Labels
    from ctxassembly.conversations.sources import resolve
    from ctxassembly.data.chunks import Chunk, ChunkRef, Hit
    from ctxassembly.data.citations import Block, Citation, Passage, Source
    from ctxassembly.data.metadata_keys import MetadataKeys
    from ctxassembly.data.trace import Decision, Trace
    from ctxassembly.errors import (
        AnswerError,
        ConfigError,
        CtxAssemblyError,
        FilterNotSeenWarning,
        InputError,
        NothingToJoinWarning,
        SearchError,
        StoreError,
    )
    from ctxassembly.integrations.numbering import number_chunks, uuid_of
    from ctxassembly.retrieved import Retrieved
    from ctxassembly.runtime.answer import AnswerChain, aunderstand, understand
    from ctxassembly.runtime.assemble import aassemble, assemble
    from ctxassembly.runtime.retrieve import aretrieve, explain, retrieve
    from ctxassembly.stores.memory import MemoryIndex, MemoryStore
    from ctxassembly.stores.milvus.index import MilvusIndex as MilvusIndex
    from ctxassembly.stores.postgres.index import PostgresIndex as PostgresIndex
    from ctxassembly.stores.qdrant.index import QdrantIndex as QdrantIndex
    from ctxassembly.tokens.budget import TokenBudget
    from ctxassembly.tokens.history import History, trim_history
    from ctxassembly.tokens.shares import Share
    from ctxassembly.wording.formats import Heading

    __all__ = [
        "AnswerChain",
        "AnswerError",
        "AssemblyConfig",
        "Block",
        "Chunk",
        "ChunkRef",
        "Citation",
        "ConfigError",
        "Context",
        "Conversation",
        "CtxAssemblyError",
        "Decision",
        "FilterNotSeenWarning",
        "Heading",
        "History",
        "Hit",
        "InputError",
        "Labels",
        "MemoryIndex",
        "MemoryStore",
        "MetadataKeys",
        "NothingToJoinWarning",
        "Passage",
        "RetrievalConfig",
        "Retrieved",
        "SearchError",
        "Share",
        "Source",
        "StoreError",
        "Supplement",
        "TokenBudget",
        "Trace",
        "aassemble",
        "aretrieve",
        "assemble",
        "aunderstand",
        "explain",
        "number_chunks",
        "presets",
        "resolve",
        "retrieve",
        "trim_history",
        "understand",
        "uuid_of",
    ]
    __version__: str
else:
    _HOMES = {
        "ctxassembly.assembly.selection.supplement": "Supplement",
        "ctxassembly.config.assembly": "AssemblyConfig",
        "ctxassembly.config.retrieval": "RetrievalConfig",
        "ctxassembly.context": "Context",
        "ctxassembly.conversations.conversation": "Conversation Labels",
        "ctxassembly.conversations.sources": "resolve",
        "ctxassembly.data.chunks": "Chunk ChunkRef Hit",
        "ctxassembly.data.citations": "Block Citation Passage Source",
        "ctxassembly.data.metadata_keys": "MetadataKeys",
        "ctxassembly.data.trace": "Decision Trace",
        "ctxassembly.errors": (
            "AnswerError ConfigError CtxAssemblyError FilterNotSeenWarning InputError NothingToJoinWarning "
            "SearchError StoreError"
        ),
        "ctxassembly.integrations.numbering": "number_chunks uuid_of",
        "ctxassembly.retrieved": "Retrieved",
        "ctxassembly.runtime.answer": "AnswerChain aunderstand understand",
        "ctxassembly.runtime.assemble": "aassemble assemble",
        "ctxassembly.runtime.retrieve": "aretrieve explain retrieve",
        "ctxassembly.stores.memory": "MemoryIndex MemoryStore",
        "ctxassembly.stores.milvus.index": "MilvusIndex",
        "ctxassembly.stores.postgres.index": "PostgresIndex",
        "ctxassembly.stores.qdrant.index": "QdrantIndex",
        "ctxassembly.tokens.budget": "TokenBudget",
        "ctxassembly.tokens.history": "History trim_history",
        "ctxassembly.tokens.shares": "Share",
        "ctxassembly.wording.formats": "Heading",
        "ctxassembly.presets": "",
    }

    _EXTRAS = {
        "ctxassembly.stores.milvus.index": Extra("milvus", ("numpy", "pymilvus")),
        "ctxassembly.stores.postgres.index": Extra("postgres", ("sqlalchemy",)),
        "ctxassembly.stores.qdrant.index": Extra("qdrant", ("numpy", "qdrant_client")),
    }
    __all__, _get_name, __dir__ = lazy_names(__name__, _HOMES, extras=_EXTRAS)

    def __getattr__(name: str) -> Any:
        if name == "__version__":  # the version in pyproject.toml, which only an installed package knows
            return import_module("importlib.metadata").version("ctxassembly")
        return _get_name(name)
