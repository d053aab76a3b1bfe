"""The limit of a context in tokens, where it depends on what was retrieved."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.chunks import Hit, ReadHit
from ctxassembly.data.late import LateTuple

MAX_COUNTED_CHARS = 500_000
"""Characters of the hits that are counted; more are estimated."""


def token_limit(config: AssemblyConfig, hits: Sequence[Hit], query: str | None, count: Callable[[str], int]) -> int:
    """Return the limit of a context of `hits`: by default it never has more tokens than they have."""
    return config.limit_for(LateTuple(lambda: [joined_tokens(hits, count)]), query)


def joined_tokens(hits: Sequence[Hit], count: Callable[[str], int]) -> int:
    """Return the tokens of the texts of `hits` joined by blank lines; of megabytes, an estimate by their beginning."""
    texts = [hit.given if isinstance(hit, ReadHit) else hit.chunk.text for hit in hits]
    joined = "\n\n".join([text for text in texts if text])
    counted = joined[:MAX_COUNTED_CHARS]
    return round(count(counted) * len(joined) / max(len(counted), 1))
