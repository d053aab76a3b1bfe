"""The request to a scorer, made once before selection, where the query is used.

A scorer reads the query and a sentence, as an embedding model or a cross-encoder does. That takes a thousand times as
long as keyword matching, so only the sentences that are best without it are scored.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ctxassembly.assembly.scoring.relevance import Relevance
from ctxassembly.assembly.scoring.sentences import ScoredSentences
from ctxassembly.assembly.selection.select import fits_whole
from ctxassembly.data.candidates import Candidate, RenderedSupplement
from ctxassembly.data.requests import Request, ScoreTexts, TextScores
from ctxassembly.errors import StoreError
from ctxassembly.safe_repr import describe_error, pluralize
from ctxassembly.tracing import TraceRecorder

MAX_SENTENCES = 200
"""Maximum number of sentences that are scored."""


def request_scores(
    relevance: Relevance, supplement: RenderedSupplement, log: TraceRecorder
) -> Generator[Request, Any, Relevance]:
    """Return `relevance` with the scores of its best sentences; unchanged if there is nothing to choose.

    Raises:
        StoreError: the scorer failed and `on_store_error="raise"`.
    """
    candidates, config = relevance.candidates, relevance.config
    if not (relevance.decides and candidates):
        return relevance
    if fits_whole(relevance, supplement):
        return relevance
    yield from log.begin("score", len(candidates))
    texts = best_texts(relevance.sentences)
    request = ScoreTexts(relevance.query or "", texts, _vectors(candidates, frozenset(texts)))
    scores: dict[str, float] = {}
    counts = {"sentences": len(texts), "asked": 0}
    try:
        reply: TextScores = yield request
    except Exception as error:
        if config.on_store_error == "raise":
            raise StoreError(f"sentences could not be scored: {describe_error(error)}") from error
        log.notes.append(f"scorer: no scores ({describe_error(error)}), chosen by words alone")
    else:
        counts["asked"] = reply.scored_count
        scores = {text: score for text, score in zip(texts, reply.values, strict=True) if math.isfinite(score)}
        if missing := len(texts) - len(scores):
            missing_text = pluralize(missing, "sentence has", "sentences have")
            log.notes.append(f"scorer: {missing_text} no finite score, left to its words" if scores else _NO_SCORES)
    yield from log.end(len(candidates), counts=counts)
    return replace(relevance, scorer_scores=scores)


_NO_SCORES = "scorer: no score is finite, chosen by words alone"


def best_texts(sentences: ScoredSentences) -> tuple[str, ...]:
    """Return the texts of the best `MAX_SENTENCES` sentences, without duplicates."""
    texts: dict[str, None] = {}
    for index in sentences.ranking.order.tolist():
        if text := sentences.sentence_text(index):
            texts[text] = None
            if len(texts) == MAX_SENTENCES:
                break
    return tuple(texts)


def _vectors(candidates: Iterable[Candidate], texts: frozenset[str]) -> dict[str, Sequence[float]]:
    """Return the vectors of those `texts` that are whole chunks with a vector."""
    found = ((candidate.chunk.text.strip(), candidate.chunk.vector) for candidate in candidates)
    return {text: vector for text, vector in found if vector is not None and text in texts}
