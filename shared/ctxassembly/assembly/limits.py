"""What the texts of the hits have, which by default limits the context: it never costs more."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxassembly.data.chunks import Hit, ReadHit
from ctxassembly.lazy import LateTuple
from ctxassembly.tokens.counter import counter_for

MAX_COUNTED_CHARS = 500_000
"""Characters of the hits that are counted; more are estimated."""


def hit_counts(hits: Sequence[Hit], encoding: str | Callable[[str], int]) -> Sequence[int]:
    """Return the tokens of the texts of `hits`, joined by blank lines, as one number that is counted when it is read.

    A function of the caller is called now, while its assembly runs.
    """
    count = counter_for(encoding)
    counts = LateTuple(lambda: [_joined_tokens(hits, count)])
    if not isinstance(encoding, str):
        len(counts)
    return counts


def _joined_tokens(hits: Sequence[Hit], count: Callable[[str], int]) -> int:
    """Return the tokens of the texts of `hits`; of megabytes, an estimate by their beginning."""
    texts = [hit.given if isinstance(hit, ReadHit) else hit.chunk.text for hit in hits]
    joined = "\n\n".join([text for text in texts if text])
    counted = joined[:MAX_COUNTED_CHARS]
    return round(count(counted) * len(joined) / max(len(counted), 1))
