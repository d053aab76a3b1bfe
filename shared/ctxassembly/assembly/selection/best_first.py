"""The parts of a context that is read best first: the best sentences, then the best chunks, then the rest.

A reader who stops early, and a model that loses track in the middle, has what answers the question. The share of
questions whose whole evidence lies within the first tokens of a context of 4,000 (three sets, 20 hits, one question in
four; `make bench` reports it as sufficiency by depth):

| order | 125 | 250 | 500 | 1,000 | 2,000 | 4,000 | mean |
|---|---|---|---|---|---|---|---|
| auto | .205 | .493 | .561 | .688 | .761 | .795 | .584 |
| chunks reranked by BM25 | .230 | .468 | .586 | .665 | .676 | .711 | .556 |
| documents by their best sentence | .041 | .105 | .202 | .428 | .627 | .795 | .366 |
| documents by their best hit | .027 | .086 | .151 | .339 | .524 | .795 | .320 |

It costs two more labels and five more gaps: recall is .829 instead of .831, and text that is contiguous in its source
has 920 characters on average instead of 1,690. Chunks alone, without the sentences, have .172 .404 at 125 and 250
tokens; sentences alone leave runs of 750 characters, and find no more from 500 tokens on. Three or
four parts and other ways to rank documents differ by less than .01, other sizes of the first part by up to .045.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.rendering.parts import Parts
from ctxassembly.assembly.scoring.relevance import Relevance
from ctxassembly.assembly.scoring.sentences import ScoredSentences
from ctxassembly.assembly.selection.companions import Companions
from ctxassembly.assembly.selection.knapsack import TokenCosts, pick_greedily
from ctxassembly.assembly.selection.prefilter import must_keep_whole
from ctxassembly.assembly.selection.shorten import merge_spans
from ctxassembly.data.chunks import Span

SENTENCE_TOKENS = 220
"""Tokens of the best sentences, headers included."""
TRIED_LENGTHS = 2
"""Sentences that are tried, in lengths of the first part: the ones after them hardly ever get into it."""
CHUNK_TOKENS = 700
"""Tokens of the best chunks."""
MAX_PARTS = 3
"""Two parts of these, and the rest."""
MIN_TOKENS = 2_000
"""A context with a lower limit has one part: more labels would take more of it than they are worth."""
MIN_TEXT_TOKENS = 1_000
"""So has one with less text that may be included."""


def divide_by_relevance(relevance: Relevance, layout: Layout) -> Parts:
    """Return the parts in which the candidates of `relevance` are read; `layout` is empty and counts their tokens.

    Documents are ordered by their best sentence.
    """
    sentences, chars_per_token = relevance.relevant_sentences, relevance.chars_per_token
    documents = dict.fromkeys(sentences.document_ids[index] for index in sentences.indexes_by_score)
    document_ranks = {document_id: rank for rank, document_id in enumerate(documents)}
    ranked = sentences.indexes_by_score[: int((sentences.scores >= sentences.cutoff).sum())]
    chars = sentences.lengths[ranked].cumsum()
    max_tokens = min(layout.max_tokens, layout.max_characters / chars_per_token)
    if max_tokens < MIN_TOKENS or chars[-1] / chars_per_token < MIN_TEXT_TOKENS:
        return Parts(document_ranks)
    taken: set[int] = set()
    spans: list[Mapping[int, Sequence[Span]]] = []
    if relevance.config.cite != "chunk":  # where a label is a chunk, none is divided
        costs = TokenCosts(layout, sentences, chars_per_token)
        companions = Companions(sentences)
        best = ranked[: int(chars.searchsorted(TRIED_LENGTHS * SENTENCE_TOKENS * chars_per_token)) + 1]
        picked = pick_greedily(sentences, best, SENTENCE_TOKENS, costs, companions).indexes
        taken = _with_whole_chunks(relevance, _without_divided_tables(picked, set(ranked), companions))
        spans.append(_spans_by_key(sentences, taken))
    chunks = _best_chunks(sentences, taken, CHUNK_TOKENS * chars_per_token)
    rest = _with_whole_chunks(relevance, chunks) - taken
    sentence_parts = dict.fromkeys(rest, len(spans)) | dict.fromkeys(taken, 0)
    return Parts(document_ranks, (*spans, _spans_by_key(sentences, rest)), sentence_parts)


def _without_divided_tables(indexes: Collection[int], included: set[int], companions: Companions) -> set[int]:
    """Return `indexes` without rows of which others come later, and without what needs these rows.

    A row needs the header of its table, which is read once.
    """
    divided: set[int] = set()
    checked: set[int] = set()
    for index in indexes:
        if index not in checked:
            rows = companions.table(index)
            checked.update(rows)
            if not included.intersection(rows) <= set(indexes):
                divided.update(rows)
    return {index for index in indexes if index not in divided and divided.isdisjoint(companions.of(index))}


def _best_chunks(sentences: ScoredSentences, taken: Collection[int], max_chars: float) -> set[int]:
    """Return the sentences of the best chunks that together have at most `max_chars`, besides `taken` ones."""
    below_cutoff = sentences.below_cutoff()
    ranges = {span.candidate.key: span.sentence_range for span in sentences.candidate_spans}
    found: set[int] = set()
    for candidate in sentences.rank_candidates(span.candidate for span in sentences.candidate_spans):
        if candidate.key not in below_cutoff:
            new = {index for index in ranges[candidate.key] if index not in found and index not in taken}
            max_chars -= int(sentences.lengths[list(new)].sum())
            if max_chars < 0:
                break
            found |= new
    return found


def _with_whole_chunks(relevance: Relevance, indexes: Collection[int]) -> set[int]:
    """Return the sentences at `indexes`, and all of a chunk that must be kept whole if any of it is among them."""
    found = set(indexes)
    spans = relevance.sentences.candidate_spans
    whole = [span.sentence_range for span in spans if must_keep_whole(span.candidate, relevance.config)]
    for sentence_range in chain(whole, reversed(whole)):  # both ways: such chunks may overlap
        if not found.isdisjoint(sentence_range):
            found.update(sentence_range)
    return found


def _spans_by_key(sentences: ScoredSentences, indexes: Collection[int]) -> dict[int, Sequence[Span]]:
    """Return the slices of each candidate in the sentences at `indexes`, by candidate key."""
    ascending, found = sorted(indexes), dict[int, Sequence[Span]]()
    for candidate, start, end, sentence_range in sentences.candidate_spans:
        first = bisect_left(ascending, sentence_range.start)
        own = ascending[first : bisect_left(ascending, sentence_range.stop, first)]
        slices = (
            (max(sentences.boundaries[index], start) - start, min(sentences.boundaries[index + 1], end) - start)
            for index in own
        )
        if spans := merge_spans([(begin, stop) for begin, stop in slices if begin < stop]):
            found[candidate.key] = spans
    return found
