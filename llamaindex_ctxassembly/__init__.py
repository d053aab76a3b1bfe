"""ctxassembly for LlamaIndex: a node postprocessor, a retriever, query and chat engines, neighbors, and messages.

A name is imported when it is first used: `llama_index.core` takes seconds to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llamaindex_ctxassembly.answering.chat_engine import AnswerChatEngine
    from llamaindex_ctxassembly.answering.llm import chat_model
    from llamaindex_ctxassembly.answering.query_engine import AnswerQueryEngine
    from llamaindex_ctxassembly.context_retriever import ContextRetriever
    from llamaindex_ctxassembly.convert.models import to_messages
    from llamaindex_ctxassembly.convert.numbering import number_chunks
    from llamaindex_ctxassembly.convert.prompts import (
        CITATION_CONTEXT_PROMPT,
        CITATION_CONTEXT_REFINE_PROMPT,
        CITATION_QA_TEMPLATE,
        CITATION_REFINE_TEMPLATE,
        CitationTemplates,
        citation_templates,
        token_budget,
    )
    from llamaindex_ctxassembly.events import ContextAssembledEvent, QuestionAnsweredEvent
    from llamaindex_ctxassembly.postprocessor import ContextAssemblyPostprocessor
    from llamaindex_ctxassembly.responses import citation_reader, resolve
    from llamaindex_ctxassembly.stores.docstore import DocstoreNeighbors
    from llamaindex_ctxassembly.stores.numbering import anumber_stored_chunks, number_stored_chunks
    from llamaindex_ctxassembly.stores.postgres import PGVectorNeighbors
    from llamaindex_ctxassembly.stores.vectorstore import VectorStoreNeighbors
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
        "DocstoreNeighbors",
        "PGVectorNeighbors",
        "QuestionAnsweredEvent",
        "RetrievedEvent",
        "VectorStoreNeighbors",
        "add_assembly_step",
        "anumber_stored_chunks",
        "chat_model",
        "citation_reader",
        "citation_templates",
        "number_chunks",
        "number_stored_chunks",
        "resolve",
        "to_messages",
        "token_budget",
    ]

_MODULES = {
    "AnswerChatEngine": "answering.chat_engine",
    "AnswerQueryEngine": "answering.query_engine",
    "CITATION_CONTEXT_PROMPT": "convert.prompts",
    "CITATION_CONTEXT_REFINE_PROMPT": "convert.prompts",
    "CITATION_QA_TEMPLATE": "convert.prompts",
    "CITATION_REFINE_TEMPLATE": "convert.prompts",
    "CitationTemplates": "convert.prompts",
    "ContextAssembledEvent": "events",
    "ContextAssemblyPostprocessor": "postprocessor",
    "ContextEvent": "workflow",
    "ContextRetriever": "context_retriever",
    "DocstoreNeighbors": "stores.docstore",
    "PGVectorNeighbors": "stores.postgres",
    "QuestionAnsweredEvent": "events",
    "RetrievedEvent": "workflow",
    "VectorStoreNeighbors": "stores.vectorstore",
    "add_assembly_step": "workflow",
    "anumber_stored_chunks": "stores.numbering",
    "chat_model": "answering.llm",
    "citation_templates": "convert.prompts",
    "number_chunks": "convert.numbering",
    "number_stored_chunks": "stores.numbering",
    "citation_reader": "responses",
    "resolve": "responses",
    "to_messages": "convert.models",
    "token_budget": "convert.prompts",
}
_REQUIRED_PACKAGES = {
    "stores.postgres": ("sqlalchemy",),
    "stores.numbering": ("llama_index.vector_stores.postgres", "sqlalchemy"),
}
"""The packages that a module needs in addition to LlamaIndex's core."""
_EXTRA_PACKAGES = frozenset({"llama_index", "llama_index_instrumentation", "pydantic", "sqlalchemy"})
"""Import names of the packages that the extras bring."""


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return _available_names()
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    except ModuleNotFoundError as error:
        from ctxassembly.errors import missing_extra

        extra = (
            "llamaindex,postgres" if _MODULES[name].endswith(("stores.postgres", "stores.numbering")) else "llamaindex"
        )
        raise missing_extra(error, f"{__name__}.{name}", extra, _EXTRA_PACKAGES) from error


def __dir__() -> list[str]:
    # `help` reads all of these: it has to work with any extra.
    return sorted({*globals(), *_available_names()})


def _available_names() -> list[str]:
    """The public names that the installed extras have: `import *` reads them all."""
    from ctxassembly.errors import is_installed

    if not is_installed("llama_index.core"):
        return []
    missing_modules = {home for home, modules in _REQUIRED_PACKAGES.items() if not is_installed(*modules)}
    return [name for name, home in _MODULES.items() if home not in missing_modules]
