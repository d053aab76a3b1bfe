"""ctxassembly for LlamaIndex: a node postprocessor, a retriever, query and chat engines, neighbours, and messages.

A name is imported when it is first used: `llama_index.core` takes seconds to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llamaindex_ctxassembly.chain.answer import AnswerQueryEngine
    from llamaindex_ctxassembly.chain.asked import chat_model
    from llamaindex_ctxassembly.chain.chat import AnswerChatEngine
    from llamaindex_ctxassembly.context_retriever import ContextRetriever
    from llamaindex_ctxassembly.convert.messages import to_messages
    from llamaindex_ctxassembly.convert.numbering import number_chunks
    from llamaindex_ctxassembly.events import ContextAssembledEvent, QuestionAnsweredEvent
    from llamaindex_ctxassembly.postprocessor import ContextAssemblyPostprocessor
    from llamaindex_ctxassembly.stores.docstore import DocstoreNeighbours
    from llamaindex_ctxassembly.stores.postgres import PGVectorNeighbours
    from llamaindex_ctxassembly.stores.stored import anumber_stored_chunks, number_stored_chunks
    from llamaindex_ctxassembly.stores.vectorstore import VectorStoreNeighbours

__all__ = [
    "AnswerChatEngine",
    "AnswerQueryEngine",
    "ContextAssembledEvent",
    "ContextAssemblyPostprocessor",
    "ContextRetriever",
    "DocstoreNeighbours",
    "PGVectorNeighbours",
    "QuestionAnsweredEvent",
    "VectorStoreNeighbours",
    "anumber_stored_chunks",
    "chat_model",
    "number_chunks",
    "number_stored_chunks",
    "to_messages",
]

_HOMES = {
    "AnswerChatEngine": "chain.chat",
    "AnswerQueryEngine": "chain.answer",
    "ContextAssembledEvent": "events",
    "ContextAssemblyPostprocessor": "postprocessor",
    "ContextRetriever": "context_retriever",
    "DocstoreNeighbours": "stores.docstore",
    "PGVectorNeighbours": "stores.postgres",
    "QuestionAnsweredEvent": "events",
    "VectorStoreNeighbours": "stores.vectorstore",
    "anumber_stored_chunks": "stores.stored",
    "chat_model": "chain.asked",
    "number_chunks": "convert.numbering",
    "number_stored_chunks": "stores.stored",
    "to_messages": "convert.messages",
}
_BROUGHT = frozenset({"llama_index", "llama_index_instrumentation", "pydantic", "sqlalchemy"})
"""Import names of the packages that the extras bring."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        from ctxassembly.errors import missing_extra

        extra = "llamaindex,postgres" if _HOMES[name].endswith(("postgres", "stored")) else "llamaindex"
        raise missing_extra(error, f"{__name__}.{name}", extra, _BROUGHT) from error


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
