"""ctxassembly for LlamaIndex: a node postprocessor, a retriever, query and chat engines, neighbors, and messages.

A name is imported when it is first used: `llama_index.core` takes seconds to load.
"""

from __future__ import annotations

from ctxassembly.lazy import Extra, lazy_names

_POSTGRES = Extra("llamaindex,postgres", ("llama_index.vector_stores.postgres", "sqlalchemy"))
__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    base=Extra("llamaindex", ("llama_index.core", "llama_index_instrumentation", "pydantic")),
    extras={"llamaindex_ctxassembly.stores.postgres": _POSTGRES},
)
