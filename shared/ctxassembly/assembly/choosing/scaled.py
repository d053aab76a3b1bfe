"""A scorer's scores as a signal of sentences.

They count for its best sentences alone. Those are what words miss; the order of all others it knows no better than
words do, and a model that isn't at home in a language knows it worse (`tests/bench/README.md`, "A scorer").

Scores have any scale: cosines lie close together, logits have no bounds. So only their order and distances count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import nlargest

BEST = 10
"""The scores that count: with 5 as much is found, with 20 or 40 less on some sets."""
WEIGHT = 2.0
"""The most that a scorer can make out between two sentences, beside the weights of `weights.Weights`.

With 4 an English model loses .036 of the evidence in Dutch where hits are fused; with 2 it loses nothing beyond noise.
"""


def scaled(sentences: Sequence[str], scores: Mapping[str, float]) -> list[float]:
    """From 1 for the best of `scores` to 0 for the one after the `BEST` highest and all below, for each of `sentences`.

    Equal scores count as one. Of fewer scores than that the lowest has 0; one that is missing has 0, too.
    """
    highest = nlargest(BEST + 1, set(scores.values()))
    best, least = highest[0], highest[-1]
    # Halved before the difference is taken: that of two finite numbers may be infinite.
    span = best / 2 - least / 2 or 1.0
    above = {text: (score / 2 - least / 2) / span for text, score in scores.items() if score > least}
    return [above.get(sentence, 0.0) for sentence in sentences]
