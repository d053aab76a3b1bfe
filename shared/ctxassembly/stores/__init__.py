"""Stores and indexes, and the parts that an index of your own is made of: words, their counts, near words, filters.

I/O that both adapters need lives here: PostgreSQL, Qdrant, filtered stores, local embeddings. The engine never imports
it. Each public name is imported on first use.
"""

from __future__ import annotations

from ctxassembly.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
