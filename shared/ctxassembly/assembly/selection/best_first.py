"""The parts of a context that is read best first: the best sentences, the best chunk, the next best chunks, the rest.

A reader who stops early, and a model that loses track in the middle, has what answers the question. The share of
questions whose whole evidence lies within the first tokens of a context of 4,000 (three sets, 20 hits, all questions;
the sizes are fitted on half of them; `make bench` reports it as sufficiency by depth):

| order | 125 | 250 | 500 | 1,000 | 2,000 | 4,000 | mean |
|---|---|---|---|---|---|---|---|
| auto | .403 | .485 | .586 | .699 | .773 | .810 | .626 |
| without the sentences | .190 | .440 | .582 | .701 | .772 | .810 | .583 |
| without the best chunk alone | .403 | .435 | .528 | .692 | .776 | .810 | .607 |
| chunks reranked by BM25 | .199 | .439 | .567 | .647 | .674 | .700 | .537 |
| documents by their best sentence | .042 | .091 | .221 | .442 | .680 | .810 | .381 |
| documents by their best hit | .033 | .066 | .159 | .342 | .584 | .810 | .332 |

It costs three more labels and gaps: recall is .846 instead of .847, and text that is contiguous in its source
has 914 characters on average instead of 1,790. More sentences find evidence earlier and leave shorter runs: with a
second part of sentences up to 300 tokens instead of the best chunk, the mean is .004 higher and runs have 775
characters. A part for each of the best chunks, and other ways to rank chunks, differ by less than .005.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from operator import itemgetter

from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.rendering.parts import Parts
from ctxassembly.assembly.scoring.relevance import Relevance
from ctxassembly.assembly.scoring.sentences import ScoredSentences
from ctxassembly.assembly.selection.knapsack import Companions, TokenCosts, indexes_by_candidate, pick_greedily
from ctxassembly.assembly.selection.shorten import merge_spans
from ctxassembly.data.chunks import Span

SENTENCE_TOKENS = 125
"""Tokens of the best sentences, headers included."""
TRIED_LENGTHS = 2
"""Sentences that are tried, in lengths of the first part: the ones after them hardly ever get into it."""
CHUNK_TOKENS = 1_000
"""Tokens of the best chunks."""
MAX_LIST_CHARS = 2_000
"""Length of the longest list of which no item is read later. A longer one could bury what answers the question."""
MAX_PARTS = 4
"""The best sentences, the best chunk, the next best chunks, and the rest."""
MIN_TOKENS = 2_000
"""A context with a lower limit has one part: more labels would take more of it than they are worth."""
MIN_TEXT_TOKENS = 1_000
"""So has one with less text that may be included."""


def divide_by_relevance(relevance: Relevance, layout: Layout) -> Parts:
    """Return the parts in which the candidates of `relevance` are read; `layout` is empty and counts their tokens.

    Documents are ordered by their best sentence.
    """
    config, sentences, chars_per_token = relevance.config, relevance.relevant_sentences, relevance.chars_per_token
    document_ranks = {document_id: rank for rank, document_id in enumerate(_rank_documents(sentences))}
    chars = sentences.lengths[sentences.ranking.order[: len(sentences.included)]].cumsum()
    max_tokens = min(layout.max_tokens, layout.max_characters / chars_per_token)
    text_tokens = float(chars[-1:].sum()) / chars_per_token  # none if the conversation has all that is relevant
    if max_tokens < MIN_TOKENS or text_tokens < MIN_TEXT_TOKENS:
        return Parts(document_ranks)
    included, companions = set(sentences.included), Companions(sentences)
    required_keys = relevance.required_keys
    whole = [span.sentence_range for span in sentences.candidate_spans if span.candidate.key in required_keys]

    def undivided(indexes: set[int]) -> set[int]:
        if config.cite != "chunk":  # a list may go on in another chunk
            indexes = _with_lists(indexes, included, sentences)
        return _with_whole_chunks(_without_divided_tables(indexes, included, sentences, companions), whole)

    max_chars = CHUNK_TOKENS * chars_per_token
    if config.cite == "chunk":
        best_chunks = _best_chunks(sentences, (), max_chars)
        # A table that goes on in another chunk is read with it. The first chunk has a part of its own.
        undivided_keys = [key for key, own in best_chunks if undivided(own) >= own]
        chunk_parts = {key: min(place, 1) for place, key in enumerate(undivided_keys)}
        return Parts(document_ranks, chunk_parts=chunk_parts)
    costs = TokenCosts(layout, sentences, chars_per_token)
    best = sentences.included[: int(chars.searchsorted(TRIED_LENGTHS * SENTENCE_TOKENS * chars_per_token)) + 1]
    first = undivided(pick_greedily(sentences, best, SENTENCE_TOKENS, costs, companions).indexes)
    chunks = [own for _, own in _best_chunks(sentences, first, max_chars)]
    parts = [first, *map(undivided, (*chunks[:1], set[int]().union(*chunks[1:])))]
    # A chunk that must be kept whole is in the first of them that has any of it.
    sentence_parts = {index: number for number in reversed(range(len(parts))) for index in parts[number]}
    # A header that isn't relevant itself is read with its rows.
    rows = [(index, number) for index, number in sentence_parts.items() if sentences.lines.is_row(index)]
    for index, number in sorted(rows, key=itemgetter(1), reverse=True):
        sentence_parts |= dict.fromkeys(set(companions[index]) - included, number)
    spans_by_part = _spans_by_part(sentences, sentence_parts, len(parts))
    return Parts(document_ranks, spans_by_part, sentence_parts)


def _rank_documents(sentences: ScoredSentences) -> list[str]:
    """Return the ids of the documents by their best sentence, best first; ties keep their order in the text."""
    best: dict[str, float] = {}
    scores = sentences.ranking.candidate_scores
    for candidate, _, _, _ in sentences.candidate_spans:
        if own := scores.get(candidate.key):
            document_id = candidate.chunk.document_id
            best[document_id] = max(best.get(document_id, own[1]), own[1])
    return sorted(best, key=best.__getitem__, reverse=True)


def _with_lists(indexes: set[int], included: set[int], sentences: ScoredSentences) -> set[int]:
    """Return `indexes`, and all that is `included` of the lists of which any is among them, unless they are long.

    An item needs the introduction of its list, which is read once.
    """
    found = set(indexes)
    for own in sentences.lines.lists(indexes):
        if sentences.boundaries[own.stop] - sentences.boundaries[own.start] <= MAX_LIST_CHARS:
            found |= included.intersection(own)
    return found


def _without_divided_tables(
    indexes: set[int], included: set[int], sentences: ScoredSentences, companions: Companions
) -> set[int]:
    """Return `indexes` without rows of which others come later, and without what needs these rows.

    A row needs the header of its table, which is read once.
    """
    divided: set[int] = set()
    for rows in sentences.lines.tables(indexes):
        if not included.intersection(rows) <= indexes:
            divided.update(rows)
    if not divided:
        return indexes
    return {index for index in indexes if index not in divided and divided.isdisjoint(companions[index])}


def _best_chunks(sentences: ScoredSentences, taken: Collection[int], max_chars: float) -> list[tuple[int, set[int]]]:
    """Return the key and the sentences of each of the best chunks, best first, that together have at most `max_chars`.

    Sentences that are `taken`, or in a better chunk, don't count; a chunk that has no other isn't one of them.
    """
    below_cutoff = sentences.below_cutoff()
    ranges = {span.candidate.key: span.sentence_range for span in sentences.candidate_spans}
    chunks: list[tuple[int, set[int]]] = []
    found = set(taken)
    for candidate in sentences.rank_candidates(span.candidate for span in sentences.candidate_spans):
        if candidate.key not in below_cutoff and (new := set(ranges[candidate.key]) - found):
            max_chars -= int(sentences.lengths[list(new)].sum())
            if max_chars < 0:
                break
            chunks.append((candidate.key, new))
            found |= new
    return chunks


def _with_whole_chunks(indexes: set[int], whole: Sequence[range]) -> set[int]:
    """Return the sentences at `indexes`, and all of a chunk that must be kept `whole` if any of it is among them."""
    found = set(indexes)
    for sentence_range in chain(whole, reversed(whole)):  # both ways: such chunks may overlap
        if not found.isdisjoint(sentence_range):
            found.update(sentence_range)
    return found


def _spans_by_part(
    sentences: ScoredSentences, sentence_parts: Mapping[int, int], count: int
) -> list[dict[int, Sequence[Span]]]:
    """Return for each of `count` parts the slices of each candidate in its sentences, by candidate key."""
    boundaries = sentences.boundaries
    found: list[dict[int, list[Span]]] = [{} for _ in range(count)]
    for (candidate, start, end, _), indexes in indexes_by_candidate(sentences, sentence_parts):
        for index in indexes:
            begin, stop = max(boundaries[index], start) - start, min(boundaries[index + 1], end) - start
            if begin < stop:
                found[sentence_parts[index]].setdefault(candidate.key, []).append((begin, stop))
    return [{key: merge_spans(spans) for key, spans in by_key.items()} for by_key in found]
