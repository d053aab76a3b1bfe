"""Stores and indexes, and the parts that an index of your own is made of: words, their counts, near words, filters.

I/O that both adapters need lives here: PostgreSQL, filtered stores, local embeddings. The engine never imports it. Each
public name is imported on first use. `ctxassembly.testing.index_cases` tests what you make of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxassembly.lazy import lazy_names

if TYPE_CHECKING:
    from ctxassembly.data.filters import Comparison, FilterGroup, parse_filter
    from ctxassembly.stores.filtered import chunk_predicate
    from ctxassembly.stores.simple_words import NearWords, lexemes, term_counts

    __all__ = ["Comparison", "FilterGroup", "NearWords", "chunk_predicate", "lexemes", "parse_filter", "term_counts"]
else:
    _HOMES = {
        "ctxassembly.data.filters": "Comparison FilterGroup parse_filter",
        "ctxassembly.stores.filtered": "chunk_predicate",
        "ctxassembly.stores.simple_words": "NearWords lexemes term_counts",
    }
    __all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
