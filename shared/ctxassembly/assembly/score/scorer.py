"""The request to a scorer of the caller, made once, for the sentences that are best by words.

A scorer reads the query and a sentence, as an embedding model or a cross-encoder does. That takes a thousand times as
long as matching words. Only its best scores count: those sentences are the ones that words miss, and a model that
doesn't know the language ranks all others worse than words do.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from typing import Any

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.render.page import Page
from ctxassembly.assembly.score.weights import WEIGHTS
from ctxassembly.assembly.units import Units, best_first
from ctxassembly.data.requests import Request, ScoreTexts, TextScores
from ctxassembly.errors import StoreError
from ctxassembly.safe_repr import describe_error, pluralize
from ctxassembly.tracing import TraceRecorder

MAX_SENTENCES = 200
"""The most sentences that are scored."""
TOP_SCORES = 10
"""Scores that count: 5 find as much, 20 or 40 less on some sets."""


def request_scores(page: Page, units: Units, log: TraceRecorder) -> Generator[Request, Any, Units]:
    """Return `units` with what the scorer says of the best sentences.

    Raises:
        StoreError: the scorer failed and `on_store_error="raise"`.
    """
    pool, config, query = page.pool, page.config, page.query or ""
    yield from log.begin("score", len(pool.candidates))
    texts = _best_texts(page.text, units)
    given = ((one.chunk.text.strip(), one.chunk.vector) for one in pool.candidates)
    request = ScoreTexts(
        query, tuple(texts), {said: vector for said, vector in given if vector is not None and said in texts}
    )
    known: dict[str, float] = {}
    counts = {"sentences": len(texts), "asked": 0}
    try:
        reply: TextScores = yield request
    except Exception as error:
        if config.on_store_error == "raise":
            raise StoreError(f"sentences could not be scored: {describe_error(error)}") from error
        log.notes.append(f"scorer: no scores ({describe_error(error)}), chosen by words alone")
    else:
        counts["asked"] = reply.scored_count
        known = {said: value for said, value in zip(texts, reply.values, strict=True) if math.isfinite(value)}
        if missing := len(texts) - len(known):
            unscored = pluralize(missing, "sentence has", "sentences have")
            one = f"scorer: {unscored} no finite score, left to its words"
            log.notes.append(one if known else "scorer: no score is finite, chosen by words alone")
    yield from log.end(len(pool.candidates), counts=counts)
    return _with_scores(units, texts, known)


def _best_texts(text: Text, units: Units) -> dict[str, list[int]]:
    """Return the texts of the best sentences, each with the numbers of the sentences that have it."""
    texts: dict[str, list[int]] = {}
    for number in best_first(units).tolist():
        said = text.text[units.starts[number] : units.ends[number]].strip()
        if said in texts:
            texts[said].append(number)
        elif said and len(texts) < MAX_SENTENCES:
            texts[said] = [number]
    return texts


def _with_scores(units: Units, texts: Mapping[str, list[int]], known: Mapping[str, float]) -> Units:
    """Return `units` with the `known` scores of `texts`: from 1 for the best to 0 for the one after the best ten."""
    if not known:
        return units
    highest = sorted({*known.values()}, reverse=True)[: TOP_SCORES + 1]
    # Halved first: the difference of two finite numbers may be infinite.
    lowest, span = highest[-1] / 2, highest[0] / 2 - highest[-1] / 2 or 1.0
    values = units.values.copy()
    for said, value in known.items():
        values[texts[said]] += WEIGHTS.scorer * max((value / 2 - lowest) / span, 0.0)
    relevance = 1 - (values.max() - values) / (WEIGHTS.lexical + WEIGHTS.scorer)
    return units._replace(values=values, relevance=relevance)
