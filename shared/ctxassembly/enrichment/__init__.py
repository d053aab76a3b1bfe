"""Enrichment of an index by a language model: titles, questions and summaries per chunk.

Experimental: the notes that a model is asked for may still change, and then every document is enriched again.
"""

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
