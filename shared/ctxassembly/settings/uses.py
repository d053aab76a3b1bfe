"""The settings of each use that differ from the defaults. `ctxassembly.presets` gives the reasons."""

from collections.abc import Mapping
from typing import Any

USES: Mapping[str, Mapping[str, Any]] = {
    "factual_qa": {"order": "interleaved"},
    "summarisation": {"format": "grouped", "order": "document_order"},
    "citation_heavy": {"order": "relevance"},
    "conversational": {"format": "minimal", "order": "relevance", "cite": "passage"},
    "voice": {"format": "minimal"},
    "tight_budget": {"format": "minimal"},
}
PUBLISHED_RULES = (
    "FIVE_STAGE",
    "PUBLISHED_VOICE",
    "SOURCE_BLOCKS",
    "BOOKEND",
    "PUBLISHED_FACTUAL_QA",
    "PUBLISHED_SUMMARISATION",
    "PUBLISHED_CITATION_HEAVY",
    "PUBLISHED_CONVERSATIONAL",
    "PUBLISHED_TIGHT_BUDGET",
)
"""The names of the published rules in `ctxassembly.presets`."""
