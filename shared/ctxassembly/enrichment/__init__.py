"""Enrichment of an index by a language model: titles, questions and summaries per chunk.

Experimental: the notes that a model is asked for may still change, and then every document is enriched again. Each
public name is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxassembly.lazy import lazy_names

if TYPE_CHECKING:
    from ctxassembly.config.enrichment import EnrichmentConfig
    from ctxassembly.enrichment.categories import classify_by_examples
    from ctxassembly.enrichment.questions import question_channel, question_chunks
    from ctxassembly.enrichment.run import EnrichmentEstimate, EnrichmentResult, aenrich, enrich, estimate_enrichment

    __all__ = [
        "EnrichmentConfig",
        "EnrichmentEstimate",
        "EnrichmentResult",
        "aenrich",
        "classify_by_examples",
        "enrich",
        "estimate_enrichment",
        "question_channel",
        "question_chunks",
    ]
else:
    _HOMES = {
        "ctxassembly.config.enrichment": "EnrichmentConfig",
        "ctxassembly.enrichment.categories": "classify_by_examples",
        "ctxassembly.enrichment.questions": "question_channel question_chunks",
        "ctxassembly.enrichment.run": "EnrichmentEstimate EnrichmentResult aenrich enrich estimate_enrichment",
    }
    __all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
