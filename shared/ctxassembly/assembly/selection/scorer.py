"""The request to a scorer: asked once, before anything is selected, where a query chooses.

A scorer reads the query and a sentence, as an embedding model or a cross-encoder does. That takes a thousand times as
long as looking for words, so it is asked only about the sentences that are best without it.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

from ctxassembly.assembly.scoring.sentences import Units
from ctxassembly.assembly.selection.selector import Selector
from ctxassembly.assembly.selection.supplement import Supplemented
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.requests import Request, ScoreTexts, TextScores
from ctxassembly.errors import StoreError
from ctxassembly.safe_repr import counted, failure
from ctxassembly.tracing.recorder import Log

ASKED = 200
"""The most sentences that a scorer is asked about."""


def scores_for(
    usable: Sequence[Candidate], selector: Selector, beside: Supplemented, log: Log
) -> Generator[Request, Any, Mapping[str, float]]:
    """The scores of the best sentences of `usable`, by their text; none where there is nothing to choose by them.

    Raises:
        StoreError: the scorer failed and `on_store_error="raise"`.
    """
    units = selector.sentences(usable, beside)
    if units is None:
        return {}
    yield from log.begin("score", len(usable))
    texts = best_texts(units)
    request = ScoreTexts(selector.query or "", texts, _vectors(usable, frozenset(texts)))
    scores: dict[str, float] = {}
    counts = {"sentences": len(texts), "asked": 0}
    try:
        reply: TextScores = yield request
    except Exception as error:
        if selector.config.on_store_error == "raise":
            raise StoreError(f"sentences could not be scored: {failure(error)}") from error
        log.notes.append(f"scorer: no scores ({failure(error)}), chosen by words alone")
    else:
        counts["asked"] = reply.asked
        scores = {text: score for text, score in zip(texts, reply.values, strict=True) if math.isfinite(score)}
        if missing := len(texts) - len(scores):
            which = counted(missing, "sentence has", "sentences have")
            log.notes.append(f"scorer: {which} no finite score, left to its words" if scores else _NO_SCORES)
    yield from log.end(len(usable), counts=counts)
    return scores


_NO_SCORES = "scorer: no score is finite, chosen by words alone"


def best_texts(units: Units) -> tuple[str, ...]:
    """The texts of the best sentences by what is known without a scorer, each once, at most `ASKED`."""
    texts: dict[str, None] = {}
    for place in units.best_first:
        if text := units.sentence(place):
            texts[text] = None
            if len(texts) == ASKED:
                break
    return tuple(texts)


def _vectors(candidates: Iterable[Candidate], texts: frozenset[str]) -> dict[str, Sequence[float]]:
    """The vectors of those `texts` that are whole chunks with one."""
    found = ((candidate.chunk.text.strip(), candidate.chunk.vector) for candidate in candidates)
    return {text: vector for text, vector in found if vector is not None and text in texts}
