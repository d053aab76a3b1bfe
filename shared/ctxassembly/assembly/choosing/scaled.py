"""A scorer's scores as a signal of sentences, and the sentences that it is asked about.

A scorer reads the query and a sentence, as an embedding model or a cross-encoder does. That takes a thousand times as
long as looking for words, so it is asked only about the sentences that are best without it.

It counts for its best sentences alone. Those are what words miss; the order of all others it knows no better than words
do, and a model that isn't at home in a language knows it worse (`tests/bench/README.md`, "A scorer").

Scores have any scale: cosines lie close together, logits have no bounds. So only their order and distances count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxassembly.assembly.choosing.units import Units

ASKED = 200
"""The most sentences that a scorer is asked about."""
BEST = 10
"""The scores that count: with 5 as much is found, with 20 or 40 less on some sets."""
WEIGHT = 2.0
"""The most that a scorer can make out between two sentences, beside the weights of `units.Weights`.

With 4 an English model loses .036 of the evidence in Dutch where hits are fused; with 2 it loses nothing beyond noise.
"""


def best_texts(units: Units) -> tuple[str, ...]:
    """The texts of the best sentences by what is known without a scorer, each once, at most `ASKED`."""
    texts: dict[str, None] = {}
    for place in units.best_first:
        if text := units.sentence(place):
            texts[text] = None
            if len(texts) == ASKED:
                break
    return tuple(texts)


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
