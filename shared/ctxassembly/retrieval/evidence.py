"""Evidence: how much the best chunk speaks for it that the question has an answer here.

No fixed cosine tells: answerable questions have medians of .64, .61 and .48 in three corpora with the same embedder.
What tells is the sum, for one chunk, of its cosine and the share of the query's words that it has, weighted by
rareness. Against questions of a foreign field it parts the answerable ones with an AUC of .98 to 1.00, the cosine alone
with .96 to 1.00.
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxassembly.data.retrieval import Found, Vocabulary

LOOKED_AT = 10
"""The best chunks that are looked at."""


def evidence(found: Sequence[Found], vocabulary: Vocabulary | None) -> float | None:
    """The best sum of similarity and share of the query's words among the best of `found`, 0 to 2.

    None if nothing is known of either: no vectors were searched, and no words by our own index.
    """
    weights = vocabulary.weights if vocabulary else {}
    total = sum(weights.values())
    sums = [
        max(one.similarity or 0.0, 0.0) + (sum(weights.get(term, 0.0) for term in one.terms) / total if total else 0.0)
        for one in found[:LOOKED_AT]
        if one.similarity is not None or total
    ]
    return max(sums, default=None)
