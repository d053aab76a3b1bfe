"""ctxassembly for LangChain: a runnable, retrievers, a tool, an answer chain, stores of neighbors, and messages.

A name is imported when it is first used: LangChain's retriever base alone takes half a second to load.
"""

from __future__ import annotations

from ctxassembly.lazy import Extra, lazy_names

_AGENTS = Extra("agents", ("langchain", "langgraph", "langchain_core"))
_POSTGRES = Extra("langchain,postgres", ("langchain_core", "langchain_postgres", "sqlalchemy"))
_EXTRAS = {
    **{f"{__name__}.agents.{module}": _AGENTS for module in ("graph", "middleware")},
    f"{__name__}.stores.postgres": _POSTGRES,
}
__all__, __getattr__, __dir__ = lazy_names(
    __name__, base=Extra("langchain", ("langchain_core", "pydantic")), extras=_EXTRAS
)
