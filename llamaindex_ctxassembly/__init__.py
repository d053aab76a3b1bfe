"""ctxassembly for LlamaIndex: a node postprocessor, a retriever, query and chat engines, neighbors, and messages.

A name is imported when it is first used: `llama_index.core` takes seconds to load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxassembly.lazy import Extra, lazy_names

if TYPE_CHECKING:
    from llamaindex_ctxassembly.answering.chat_engine import AnswerChatEngine
    from llamaindex_ctxassembly.answering.llm import chat_model
    from llamaindex_ctxassembly.answering.query_engine import AnswerQueryEngine
    from llamaindex_ctxassembly.context_retriever import ContextRetriever
    from llamaindex_ctxassembly.conversation import MemoryConversation
    from llamaindex_ctxassembly.convert.models import to_messages
    from llamaindex_ctxassembly.convert.prompts import (
        CITATION_CONTEXT_PROMPT,
        CITATION_CONTEXT_REFINE_PROMPT,
        CITATION_QA_TEMPLATE,
        CITATION_REFINE_TEMPLATE,
        CitationTemplates,
        citation_templates,
        token_budget,
    )
    from llamaindex_ctxassembly.events import ContextAssembledEvent, ContextsLeftOutEvent, QuestionAnsweredEvent
    from llamaindex_ctxassembly.left_out import left_out_tool
    from llamaindex_ctxassembly.postprocessor import ContextAssemblyPostprocessor
    from llamaindex_ctxassembly.responses import citation_reader, resolve
    from llamaindex_ctxassembly.stores.neighbors import DocstoreNeighbors, VectorStoreNeighbors
    from llamaindex_ctxassembly.stores.numbering import number_chunks, number_stored_chunks
    from llamaindex_ctxassembly.stores.postgres import PGVectorNeighbors
    from llamaindex_ctxassembly.workflow import ContextEvent, RetrievedEvent, add_assembly_step

    __all__ = [
        "CITATION_CONTEXT_PROMPT",
        "CITATION_CONTEXT_REFINE_PROMPT",
        "CITATION_QA_TEMPLATE",
        "CITATION_REFINE_TEMPLATE",
        "AnswerChatEngine",
        "AnswerQueryEngine",
        "CitationTemplates",
        "ContextAssembledEvent",
        "ContextAssemblyPostprocessor",
        "ContextEvent",
        "ContextRetriever",
        "ContextsLeftOutEvent",
        "DocstoreNeighbors",
        "MemoryConversation",
        "PGVectorNeighbors",
        "QuestionAnsweredEvent",
        "RetrievedEvent",
        "VectorStoreNeighbors",
        "add_assembly_step",
        "chat_model",
        "citation_reader",
        "citation_templates",
        "left_out_tool",
        "number_chunks",
        "number_stored_chunks",
        "resolve",
        "to_messages",
        "token_budget",
    ]
else:
    _HOMES = {
        "llamaindex_ctxassembly.answering.chat_engine": "AnswerChatEngine",
        "llamaindex_ctxassembly.answering.llm": "chat_model",
        "llamaindex_ctxassembly.answering.query_engine": "AnswerQueryEngine",
        "llamaindex_ctxassembly.context_retriever": "ContextRetriever",
        "llamaindex_ctxassembly.conversation": "MemoryConversation",
        "llamaindex_ctxassembly.convert.models": "to_messages",
        "llamaindex_ctxassembly.convert.prompts": (
            "CITATION_CONTEXT_PROMPT CITATION_CONTEXT_REFINE_PROMPT CITATION_QA_TEMPLATE CITATION_REFINE_TEMPLATE "
            "CitationTemplates citation_templates token_budget"
        ),
        "llamaindex_ctxassembly.events": "ContextAssembledEvent ContextsLeftOutEvent QuestionAnsweredEvent",
        "llamaindex_ctxassembly.left_out": "left_out_tool",
        "llamaindex_ctxassembly.postprocessor": "ContextAssemblyPostprocessor",
        "llamaindex_ctxassembly.responses": "citation_reader resolve",
        "llamaindex_ctxassembly.stores.neighbors": "DocstoreNeighbors VectorStoreNeighbors",
        "llamaindex_ctxassembly.stores.numbering": "number_chunks number_stored_chunks",
        "llamaindex_ctxassembly.stores.postgres": "PGVectorNeighbors",
        "llamaindex_ctxassembly.workflow": "ContextEvent RetrievedEvent add_assembly_step",
    }
    _POSTGRES = Extra("llamaindex,postgres", ("llama_index.vector_stores.postgres", "sqlalchemy"))
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        _HOMES,
        base=Extra("llamaindex", ("llama_index.core", "llama_index_instrumentation", "pydantic")),
        extras={"llamaindex_ctxassembly.stores.postgres": _POSTGRES},
    )
