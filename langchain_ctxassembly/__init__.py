"""ctxassembly for LangChain: a runnable, retrievers, a tool, an answer chain, stores of neighbors, and messages.

A name is imported when it is first used: LangChain's retriever base alone takes half a second to load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxassembly.lazy import Extra, lazy_names

if TYPE_CHECKING:
    from langchain_ctxassembly.agents.graph import ContextChannel, add_contexts, context_node
    from langchain_ctxassembly.agents.middleware import ContextMiddleware
    from langchain_ctxassembly.agents.tools import context_tool, left_out_tool
    from langchain_ctxassembly.agents.turn import contexts_in
    from langchain_ctxassembly.answering.chain import answer_chain, understanding_chain
    from langchain_ctxassembly.answering.chat_model import chat_model
    from langchain_ctxassembly.assembler import ContextAssembler
    from langchain_ctxassembly.context_retriever import ContextRetriever
    from langchain_ctxassembly.convert.documents import to_documents
    from langchain_ctxassembly.convert.messages import (
        resolve_citations,
        to_messages,
        to_search_results,
        to_tool_output,
    )
    from langchain_ctxassembly.retriever import ContextAssemblyRetriever
    from langchain_ctxassembly.stores.numbering import anumber_stored_chunks, number_chunks, number_stored_chunks
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
        "left_out_tool",
        "number_chunks",
        "number_stored_chunks",
        "resolve_citations",
        "to_documents",
        "to_messages",
        "to_search_results",
        "to_tool_output",
        "understanding_chain",
    ]
else:
    _HOMES = {
        "langchain_ctxassembly.agents.graph": "ContextChannel add_contexts context_node",
        "langchain_ctxassembly.agents.middleware": "ContextMiddleware",
        "langchain_ctxassembly.agents.tools": "context_tool left_out_tool",
        "langchain_ctxassembly.agents.turn": "contexts_in",
        "langchain_ctxassembly.answering.chain": "answer_chain understanding_chain",
        "langchain_ctxassembly.answering.chat_model": "chat_model",
        "langchain_ctxassembly.assembler": "ContextAssembler",
        "langchain_ctxassembly.context_retriever": "ContextRetriever",
        "langchain_ctxassembly.convert.documents": "to_documents",
        "langchain_ctxassembly.convert.messages": "resolve_citations to_messages to_search_results to_tool_output",
        "langchain_ctxassembly.retriever": "ContextAssemblyRetriever",
        "langchain_ctxassembly.stores.numbering": "anumber_stored_chunks number_chunks number_stored_chunks",
        "langchain_ctxassembly.stores.postgres": "PGVectorNeighbors",
        "langchain_ctxassembly.stores.vectorstore": "VectorStoreNeighbors",
    }
    _AGENTS = Extra("agents", ("langchain", "langgraph", "langchain_core"))
    _POSTGRES = Extra("langchain,postgres", ("langchain_core", "langchain_postgres", "sqlalchemy"))
    _EXTRAS = {
        **{f"{__name__}.agents.{module}": _AGENTS for module in ("graph", "middleware")},
        f"{__name__}.stores.postgres": _POSTGRES,
    }
    __all__, __getattr__, __dir__ = lazy_names(
        __name__, _HOMES, base=Extra("langchain", ("langchain_core", "pydantic")), extras=_EXTRAS
    )
