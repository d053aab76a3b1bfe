"""ctxassembly for LangChain: a runnable, retrievers, a tool, an answer chain, stores of neighbors, and messages.

A name is imported when it is first used: LangChain's retriever base alone takes half a second to load.
"""

from __future__ import annotations

from ctxassembly.lazy import lazy_names

_EXTRAS = {
    f"{__name__}.agents.graph": ("agents", "langgraph"),
    f"{__name__}.agents.middleware": ("agents", "langgraph"),
    f"{__name__}.stores.postgres": ("langchain,postgres", "langchain_postgres"),
}
__all__, __getattr__, __dir__ = lazy_names(__name__, "langchain", _EXTRAS)
