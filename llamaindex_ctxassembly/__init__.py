"""ctxassembly for LlamaIndex: a node postprocessor, a retriever, query and chat engines, neighbors, and messages.

A name is imported when it is first used: `llama_index.core` takes seconds to load.
"""

from __future__ import annotations

from ctxassembly.lazy import lazy_names

_EXTRAS = {"llamaindex_ctxassembly.postgres": ("llamaindex,postgres", "pgvector")}
__all__, __getattr__, __dir__ = lazy_names(__name__, "llamaindex", _EXTRAS)
