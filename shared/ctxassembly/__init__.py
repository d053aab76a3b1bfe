"""Retrieved chunks in, the context that a language model reads out: joined, within budget, cited, explained.

Each name is loaded when it is first used, so importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ctxassembly import presets
    from ctxassembly.adapting.numbering import number_chunks, uuid_of
    from ctxassembly.answers.answer import AnswerReader, Resolved
    from ctxassembly.answers.quotes import Quote
    from ctxassembly.answers.references import Reference
    from ctxassembly.assembly.choosing.supplement import Supplement
    from ctxassembly.comparing.compared import Compared
    from ctxassembly.comparing.comparison import Comparison, compare
    from ctxassembly.context import Context
    from ctxassembly.conversations.labels import Labels
    from ctxassembly.conversations.resolve import resolve
    from ctxassembly.data.assembled import Block, Citation, Passage, Source
    from ctxassembly.data.chunks import Beside, Chunk, ChunkRef, Hit, Origin
    from ctxassembly.data.keys import MetadataKeys
    from ctxassembly.data.trace import Decision, Stage, Trace
    from ctxassembly.drivers.assemble import aassemble, assemble
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
    from ctxassembly.settings.config import AssemblyConfig
    from ctxassembly.testing import MemoryStore
    from ctxassembly.tokens.budget import TokenBudget
    from ctxassembly.tokens.history import History, trim_history
    from ctxassembly.wording.formats import Heading

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
    "AnswerReader": "answers.answer",
    "AssemblyConfig": "settings.config",
    "AsyncEmbeddings": "protocols",
    "AsyncLanguageModel": "protocols",
    "AsyncOnFetched": "protocols",
    "AsyncStore": "protocols",
    "Beside": "data.chunks",
    "Block": "data.assembled",
    "Chunk": "data.chunks",
    "ChunkRef": "data.chunks",
    "Citation": "data.assembled",
    "Compared": "comparing.compared",
    "Comparison": "comparing.comparison",
    "ConfigError": "errors",
    "Context": "context",
    "CtxAssemblyError": "errors",
    "Decision": "data.trace",
    "EmbeddedServerError": "errors",
    "Embeddings": "protocols",
    "FilterNotSeenWarning": "errors",
    "Heading": "wording.formats",
    "History": "tokens.history",
    "Hit": "data.chunks",
    "InputError": "errors",
    "Labels": "conversations.labels",
    "LanguageModel": "protocols",
    "MemoryStore": "testing",
    "MetadataKeys": "data.keys",
    "MissingExtraError": "errors",
    "NothingToJoinWarning": "errors",
    "OnFetched": "protocols",
    "Origin": "data.chunks",
    "Passage": "data.assembled",
    "Quote": "answers.quotes",
    "Reference": "answers.references",
    "Resolved": "answers.answer",
    "Source": "data.assembled",
    "Stage": "data.trace",
    "Store": "protocols",
    "StoreError": "errors",
    "Supplement": "assembly.choosing.supplement",
    "TokenBudget": "tokens.budget",
    "Trace": "data.trace",
    "VocabularyError": "errors",
    "aassemble": "drivers.assemble",
    "assemble": "drivers.assemble",
    "compare": "comparing.comparison",
    "number_chunks": "adapting.numbering",
    "resolve": "conversations.resolve",
    "trim_history": "tokens.history",
    "uuid_of": "adapting.numbering",
}


def __getattr__(name: str) -> Any:
    if name == "presets":
        return import_module("ctxassembly.presets")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"ctxassembly.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
