"""dsRAG's relevant segment extraction, re-implemented from its description.

Every chunk has a value, and what is chosen are the contiguous runs of the highest sum: a chunk that wasn't retrieved
costs a little, so it stands only between chunks that were. The settings are those of its preset "balanced". All hits
have the relevance that dsRAG gives them where no reranker makes one: its own formula needs relevances between 0 and 1
that use that range, which cosines don't.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import mean

from ctxassembly import Chunk, Hit
from quality.data import QuestionSet, Span
from quality.filling import Answer, Case, Fill, Strategy, count, cut

MAX_LENGTH, OVERALL_MAX_LENGTH = 15, 30
"""Chunks of a segment, and of all together."""
MINIMUM_VALUE = 0.5
PENALTY = 0.18
DECAY = 30
RELEVANCE = 0.8
REFERENCE_CHARS = 700
"""Longer chunks are worth more by as much as they are longer."""

Segment = tuple[str, int, int]
"""A document and the indices of its chunks, half-open."""


def segments(questions: QuestionSet) -> Strategy:
    """Segments of no more chunks than the budget has room for, best first, then cut."""
    chunk_tokens = mean(count(chunk.text) for chunk in list(questions.chunks.values())[:100])

    def strategy(case: Case) -> Fill:
        def fill(budget: int) -> Answer:
            room = max(1, int(budget / chunk_tokens))
            chosen = best_segments(case.hits, questions.places, min(MAX_LENGTH, room), min(OVERALL_MAX_LENGTH, room))
            return cut([_text(questions, segment) for segment in chosen])(budget)

        return fill

    return strategy


def best_segments(
    hits: tuple[Hit, ...], places: Mapping[tuple[str, int], Chunk], max_length: int, overall: int
) -> list[Segment]:
    """Segments in the order in which they are chosen, no two of them overlapping."""
    ranks = {(hit.chunk.document_id, hit.chunk.index or 0): rank for rank, hit in reversed(list(enumerate(hits)))}

    def value(document_id: str, index: int) -> float:
        place = document_id, index
        relevance = math.exp(-ranks[place] / DECAY) * RELEVANCE if place in ranks else 0.0
        # The length of a chunk that wasn't retrieved isn't looked at.
        characters = len(places[place].text) if place in ranks else 0
        return (relevance - PENALTY) * max(characters, REFERENCE_CHARS) / REFERENCE_CHARS

    ends = [place for place in ranks if value(*place) >= 0]
    worth: dict[Segment, float] = {}
    for document_id, first in ends:
        for other, last in ends:
            if other == document_id and first <= last < first + max_length:
                segment = document_id, first, last + 1
                worth[segment] = sum(value(document_id, index) for index in range(first, last + 1))
    chosen: list[Segment] = []
    while worth:
        best = max(worth, key=lambda segment: worth[segment])
        if worth[best] < MINIMUM_VALUE:
            break
        chosen.append(best)
        overall -= best[2] - best[1]
        worth = {
            segment: each
            for segment, each in worth.items()
            if segment[2] - segment[1] <= overall and not _overlap(segment, best)
        }
    return chosen


def _overlap(one: Segment, other: Segment) -> bool:
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2]


def _text(questions: QuestionSet, segment: Segment) -> Answer:
    """As the document has it: the chunks here overlap, dsRAG's own don't."""
    document_id, first, end = segment
    begin, last = questions.places[document_id, first], questions.places[document_id, end - 1]
    run = Span(document_id, begin.start or 0, (last.start or 0) + len(last.text))
    return Answer(questions.documents[document_id].text[run.start : run.end], (run,))
