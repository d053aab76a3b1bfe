"""Retrieved chunks in, the context that a language model reads out: joined, within budget, cited, explained.

Each name is loaded when it is first used, so importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ctxassembly import presets
    from ctxassembly.answer import AnswerReader, Resolved
    from ctxassembly.comparing.compared import Compared
    from ctxassembly.comparing.comparison import Comparison, compare
    from ctxassembly.config import AssemblyConfig
    from ctxassembly.context import Context
    from ctxassembly.conversation import resolve
    from ctxassembly.drive import aassemble, assemble
    from ctxassembly.errors import (
        ConfigError,
        CtxAssemblyError,
        EmbeddedServerError,
        FilterNotSeenWarning,
        InputError,
        MissingExtraError,
        NothingToJoinWarning,
        StoreError,
        VocabularyError,
    )
    from ctxassembly.formats import Heading
    from ctxassembly.history import History, trim_history
    from ctxassembly.keys import MetadataKeys
    from ctxassembly.labels import Labels
    from ctxassembly.numbering import number_chunks, uuid_of
    from ctxassembly.protocols import (
        AsyncEmbeddings,
        AsyncLanguageModel,
        AsyncOnFetched,
        AsyncStore,
        Embeddings,
        LanguageModel,
        OnFetched,
        Store,
    )
    from ctxassembly.quotes import Quote
    from ctxassembly.references import Reference
    from ctxassembly.supplement import Supplement
    from ctxassembly.testing import MemoryStore
    from ctxassembly.token_budget import TokenBudget
    from ctxassembly.types import (
        Beside,
        Block,
        Chunk,
        ChunkRef,
        Citation,
        Decision,
        Hit,
        Origin,
        Passage,
        Source,
        Stage,
        Trace,
    )

__all__ = [
    "AnswerReader",
    "AssemblyConfig",
    "AsyncEmbeddings",
    "AsyncLanguageModel",
    "AsyncOnFetched",
    "AsyncStore",
    "Beside",
    "Block",
    "Chunk",
    "ChunkRef",
    "Citation",
    "Compared",
    "Comparison",
    "ConfigError",
    "Context",
    "CtxAssemblyError",
    "Decision",
    "EmbeddedServerError",
    "Embeddings",
    "FilterNotSeenWarning",
    "Heading",
    "History",
    "Hit",
    "InputError",
    "Labels",
    "LanguageModel",
    "MemoryStore",
    "MetadataKeys",
    "MissingExtraError",
    "NothingToJoinWarning",
    "OnFetched",
    "Origin",
    "Passage",
    "Quote",
    "Reference",
    "Resolved",
    "Source",
    "Stage",
    "Store",
    "StoreError",
    "Supplement",
    "TokenBudget",
    "Trace",
    "VocabularyError",
    "aassemble",
    "assemble",
    "compare",
    "number_chunks",
    "presets",
    "resolve",
    "trim_history",
    "uuid_of",
]

_HOMES = {
    "AnswerReader": "answer",
    "AssemblyConfig": "config",
    "AsyncEmbeddings": "protocols",
    "AsyncLanguageModel": "protocols",
    "AsyncOnFetched": "protocols",
    "AsyncStore": "protocols",
    "Beside": "types",
    "Block": "types",
    "Chunk": "types",
    "ChunkRef": "types",
    "Citation": "types",
    "Compared": "comparing.compared",
    "Comparison": "comparing.comparison",
    "ConfigError": "errors",
    "Context": "context",
    "CtxAssemblyError": "errors",
    "Decision": "types",
    "EmbeddedServerError": "errors",
    "Embeddings": "protocols",
    "FilterNotSeenWarning": "errors",
    "Heading": "formats",
    "History": "history",
    "Hit": "types",
    "InputError": "errors",
    "Labels": "labels",
    "LanguageModel": "protocols",
    "MemoryStore": "testing",
    "MetadataKeys": "keys",
    "MissingExtraError": "errors",
    "NothingToJoinWarning": "errors",
    "OnFetched": "protocols",
    "Origin": "types",
    "Passage": "types",
    "Quote": "quotes",
    "Reference": "references",
    "Resolved": "answer",
    "Source": "types",
    "Stage": "types",
    "Store": "protocols",
    "StoreError": "errors",
    "Supplement": "supplement",
    "TokenBudget": "token_budget",
    "Trace": "types",
    "VocabularyError": "errors",
    "aassemble": "drive",
    "assemble": "drive",
    "compare": "comparing.comparison",
    "number_chunks": "numbering",
    "resolve": "conversation",
    "trim_history": "history",
    "uuid_of": "numbering",
}


def __getattr__(name: str) -> Any:
    if name == "presets":
        return import_module("ctxassembly.presets")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"ctxassembly.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
