"""ctxassembly for LangChain: a runnable, retrievers, an answer chain, stores of neighbours, and messages.

A name is imported when it is first used: LangChain's retriever base alone takes half a second to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_ctxassembly.assembler import ContextAssembler
    from langchain_ctxassembly.chain.answer import answer_chain
    from langchain_ctxassembly.chain.asked import chat_model
    from langchain_ctxassembly.chain.understanding import understanding
    from langchain_ctxassembly.context_retriever import ContextRetriever
    from langchain_ctxassembly.convert.messages import to_messages
    from langchain_ctxassembly.convert.numbering import number_chunks
    from langchain_ctxassembly.retriever import ContextAssemblyRetriever
    from langchain_ctxassembly.stores.postgres import PGVectorNeighbours
    from langchain_ctxassembly.stores.stored import anumber_stored_chunks, number_stored_chunks
    from langchain_ctxassembly.stores.vectorstore import VectorStoreNeighbours

__all__ = [
    "ContextAssembler",
    "ContextAssemblyRetriever",
    "ContextRetriever",
    "PGVectorNeighbours",
    "VectorStoreNeighbours",
    "answer_chain",
    "anumber_stored_chunks",
    "chat_model",
    "number_chunks",
    "number_stored_chunks",
    "to_messages",
    "understanding",
]

_HOMES = {
    "ContextAssembler": "assembler",
    "ContextAssemblyRetriever": "retriever",
    "ContextRetriever": "context_retriever",
    "PGVectorNeighbours": "stores.postgres",
    "VectorStoreNeighbours": "stores.vectorstore",
    "answer_chain": "chain.answer",
    "anumber_stored_chunks": "stores.stored",
    "chat_model": "chain.asked",
    "number_chunks": "convert.numbering",
    "number_stored_chunks": "stores.stored",
    "to_messages": "convert.messages",
    "understanding": "chain.understanding",
}
_BROUGHT = frozenset({"langchain_core", "langchain_postgres", "pydantic", "sqlalchemy", "psycopg"})
"""Import names of the packages that the extras bring."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        from ctxassembly.errors import missing_extra

        extra = "langchain,postgres" if _HOMES[name].endswith(("postgres", "stored")) else "langchain"
        raise missing_extra(error, f"{__name__}.{name}", extra, _BROUGHT) from error


def __dir__() -> list[str]:
    return [*globals(), *__all__]
