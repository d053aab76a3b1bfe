"""ctxassembly for LangChain: a runnable, retrievers, a tool, an answer chain, stores of neighbors, and messages.

A name is imported when it is first used: LangChain's retriever base alone takes half a second to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_ctxassembly.agents.evidence import contexts_in
    from langchain_ctxassembly.agents.middleware import ContextMiddleware
    from langchain_ctxassembly.agents.node import context_node
    from langchain_ctxassembly.agents.state import ContextChannel, add_contexts
    from langchain_ctxassembly.agents.tool import context_tool
    from langchain_ctxassembly.answering.chain import answer_chain
    from langchain_ctxassembly.answering.chat_model import chat_model
    from langchain_ctxassembly.answering.understanding import understanding_chain
    from langchain_ctxassembly.assembler import ContextAssembler
    from langchain_ctxassembly.context_retriever import ContextRetriever
    from langchain_ctxassembly.convert.citations import resolve_citations
    from langchain_ctxassembly.convert.documents import number_chunks, to_documents
    from langchain_ctxassembly.convert.outputs import to_messages, to_search_results, to_tool_output
    from langchain_ctxassembly.retriever import ContextAssemblyRetriever
    from langchain_ctxassembly.stores.numbering import anumber_stored_chunks, number_stored_chunks
    from langchain_ctxassembly.stores.postgres import PGVectorNeighbors
    from langchain_ctxassembly.stores.vectorstore import VectorStoreNeighbors

    __all__ = [
        "ContextAssembler",
        "ContextAssemblyRetriever",
        "ContextChannel",
        "ContextMiddleware",
        "ContextRetriever",
        "PGVectorNeighbors",
        "VectorStoreNeighbors",
        "add_contexts",
        "answer_chain",
        "anumber_stored_chunks",
        "chat_model",
        "context_node",
        "context_tool",
        "contexts_in",
        "number_chunks",
        "number_stored_chunks",
        "resolve_citations",
        "to_documents",
        "to_messages",
        "to_search_results",
        "to_tool_output",
        "understanding_chain",
    ]

_MODULES = {
    "ContextAssembler": "assembler",
    "ContextAssemblyRetriever": "retriever",
    "ContextChannel": "agents.state",
    "ContextMiddleware": "agents.middleware",
    "ContextRetriever": "context_retriever",
    "PGVectorNeighbors": "stores.postgres",
    "VectorStoreNeighbors": "stores.vectorstore",
    "add_contexts": "agents.state",
    "answer_chain": "answering.chain",
    "anumber_stored_chunks": "stores.numbering",
    "chat_model": "answering.chat_model",
    "context_node": "agents.node",
    "context_tool": "agents.tool",
    "contexts_in": "agents.evidence",
    "number_chunks": "convert.documents",
    "number_stored_chunks": "stores.numbering",
    "resolve_citations": "convert.citations",
    "to_documents": "convert.documents",
    "to_messages": "convert.outputs",
    "to_search_results": "convert.outputs",
    "to_tool_output": "convert.outputs",
    "understanding_chain": "answering.understanding",
}
_EXTRA_PACKAGES = frozenset(
    {"langchain", "langchain_core", "langchain_postgres", "langgraph", "pydantic", "sqlalchemy", "psycopg"}
)
"""Import names of the packages that the extras bring."""
_LANGGRAPH_MODULES = frozenset({"agents.middleware", "agents.node", "agents.state"})
"""The modules that need LangGraph, which the extra "agents" installs. Other modules need only langchain-core, except
the Postgres ones."""


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return _available_names()
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    except ModuleNotFoundError as error:
        from ctxassembly.errors import missing_extra

        extra = "langchain"
        if _MODULES[name] in _LANGGRAPH_MODULES:
            extra = "agents"
        elif _MODULES[name].endswith(("stores.postgres", "stores.numbering")):
            extra = "langchain,postgres"
        raise missing_extra(error, f"{__name__}.{name}", extra, _EXTRA_PACKAGES) from error


def __dir__() -> list[str]:
    # `help` reads all of these: it has to work with any extra.
    return sorted({*globals(), *_available_names()})


def _available_names() -> list[str]:
    """The public names that the installed extras have: `import *` reads them all."""
    from ctxassembly.errors import is_installed

    if not is_installed("langchain_core"):
        return []
    missing_modules = set() if is_installed("langchain", "langgraph") else set(_LANGGRAPH_MODULES)
    if not is_installed("langchain_postgres", "sqlalchemy"):
        missing_modules |= {
            home for home in _MODULES.values() if home.endswith(("stores.postgres", "stores.numbering"))
        }
    return [name for name, home in _MODULES.items() if home not in missing_modules]
