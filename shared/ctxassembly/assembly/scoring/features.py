"""The signals of a sentence's score as arrays with one number per sentence: see `sentences.py`.

The text of each document's candidates is appended to one long text, so that one offset identifies a position in it:
the start of a sentence, the start and the end of a chunk. What was read of each chunk, which is cached, is merged by
these offsets. Where two chunks overlap, the first one is read up to the middle of the overlap and the second one from
there on: both ends of a chunk may be cut inside a word or a sentence, and the middle of the overlap isn't.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.assembly.rendering.excerpt import DocumentText
from ctxassembly.assembly.scoring.sentences import ScoredSentences
from ctxassembly.assembly.scoring.speakers import (
    SPEAKER_BONUS,
    labeled_lines,
    lines_by_mentioned_speaker,
    might_mention_speaker,
)
from ctxassembly.assembly.scoring.weights import SCORER_WEIGHT, WEIGHTS, Weights, normalize_scores, stop_word_weights
from ctxassembly.data.candidates import Candidate, CandidateSpan
from ctxassembly.text.lines import TextLines
from ctxassembly.text.query_terms import HEADING, Bm25, QueryTerms, TextIndex, index_texts
from ctxassembly.text.sentences import is_wrapped_line
from ctxassembly.text.words import words
from ctxassembly.tokens.cache import TextCache
from ctxassembly.wording.languages import referring_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    BoolArray = NDArray[np.bool_]
    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

CACHE_BYTES = 32 * 1024 * 1024
"""Size of the cache: about 6,000 texts of 1,500 characters. Least recently used entries are evicted first."""

_HEADING = re.compile(HEADING)

_CACHE = TextCache[TextIndex](CACHE_BYTES, attrgetter("nbytes"))


def get_text_indexes(texts: Sequence[str]) -> list[TextIndex]:
    """Return the sentences and words of `texts`, cached."""
    known = {text: _CACHE.get(text) for text in texts}
    new = [text for text, index in known.items() if index is None]
    indexes = {text: index for text, index in known.items() if index is not None}
    indexes |= {text: _CACHE.put(text, index) for text, index in zip(new, index_texts(new), strict=True)}
    return [indexes[text] for text in texts]


class ChunkParts(NamedTuple):
    """The chunks of all documents as parallel arrays; offsets are into the text of all candidates."""

    texts: Sequence[str]
    text_starts: IntArray
    """The offset of each chunk."""
    valid_from: IntArray
    """The start of the region for which the chunk is used; an overlap is split in the middle."""
    valid_to: IntArray
    """The end of that region."""


class CandidateText(NamedTuple):
    """The text of all candidates, its sentences, and the query's words in it."""

    text: str
    boundaries: IntArray
    """The start of each sentence, then the end of the text."""
    continues: BoolArray
    """Whether each sentence continues the one before it; the first one of a document's text doesn't."""
    section_starts: BoolArray
    """Whether each sentence begins a section."""
    document_ids: Sequence[str]
    """The document id of each sentence."""
    members: Sequence[tuple[int, Candidate]]
    """The candidates, each with the offset of its chunk."""
    term_ids: IntArray
    """The index of the query term of each occurrence."""
    term_offsets: IntArray
    """The offset of each occurrence."""


def join_candidates(lines: Iterable[DocumentText], query_terms: QueryTerms) -> CandidateText:
    """Return the text of `lines` with its sentences and the occurrences of `query_terms`."""
    texts: list[str] = []
    members: list[tuple[int, Candidate]] = []
    document_ids: list[str] = []
    line_starts: list[int] = []
    boundaries: list[int] = []
    chunks: list[str] = []
    chunk_starts: list[int] = []
    valid_from: list[int] = []
    valid_to: list[int] = []
    touching: list[tuple[int, int]] = []
    line_start = 0
    for line in lines:
        text, covered_to = line.text, 0
        line_starts.append(line_start)
        document_ids.append(line.last_chunk.document_id)
        for begin, candidate in line.members:
            members.append((line_start + begin, candidate))
            chunk = candidate.chunk.text
            end = begin + len(chunk)
            if end <= covered_to:  # contained in another chunk
                continue
            low = line_start + max(begin, (begin + covered_to + 1) // 2)
            if begin == covered_to and covered_to:
                touching.append((len(chunks) - 1, low))
            elif begin > covered_to and not is_wrapped_line(text, covered_to):  # a line break was put between them
                boundaries.append(low)
            if covered_to:
                valid_to[-1] = low
            chunks.append(chunk)
            chunk_starts.append(line_start + begin)
            valid_from.append(low)
            valid_to.append(line_start + end)
            covered_to = end
        texts.append(text)
        line_start += len(text)
    text_indexes = get_text_indexes(chunks)
    boundaries += [place for before, place in touching if text_indexes[before].is_ended]
    parts = ChunkParts(chunks, *(np.array(values, dtype=np.int64) for values in (chunk_starts, valid_from, valid_to)))
    full_text = "".join(texts)
    borders = [2 * start + (_HEADING.match(full_text, start) is not None) for start in (*line_starts, *boundaries)]
    sentence_starts, section_starts = _sentence_starts(parts, text_indexes, borders)
    line_numbers = np.searchsorted(line_starts, sentence_starts, "right") - 1
    term_ids, term_offsets = _term_occurrences(parts, text_indexes, query_terms)
    symbols = [
        (term_id, match.start())
        for term_id, pattern in query_terms.symbols.items()
        for match in pattern.finditer(full_text)
    ]
    return CandidateText(
        full_text,
        np.append(sentence_starts, len(full_text)),
        np.array(line_starts)[line_numbers] != sentence_starts,
        section_starts,
        [document_ids[number] for number in line_numbers.tolist()],
        members,
        np.append(term_ids, [term_id for term_id, _ in symbols]).astype(np.int64),
        np.append(term_offsets, [offset for _, offset in symbols]).astype(np.int64),
    )


def _sentence_starts(
    parts: ChunkParts, text_indexes: Sequence[TextIndex], borders: Sequence[int]
) -> tuple[IntArray, BoolArray]:
    """Return the starts of sentences, and whether each begins a section.

    `borders` are those between chunks, times two, plus 1 if a section begins there.
    """
    chunk_numbers = np.repeat(np.arange(len(text_indexes)), [len(index.sentence_starts) for index in text_indexes])
    # The lowest bit is the section flag, so that sorting keeps it with its sentence.
    encoded = 2 * parts.text_starts[chunk_numbers] + _concatenate([index.sentence_starts for index in text_indexes])
    own = encoded[(encoded >= 2 * parts.valid_from[chunk_numbers]) & (encoded < 2 * parts.valid_to[chunk_numbers])]
    encoded = np.sort(np.append(own, np.array(borders, dtype=np.int64)))
    return encoded >> 1, encoded & 1 > 0


def _concatenate(parts: Sequence[NDArray[np.integer]]) -> IntArray:
    """Return the numbers of all `parts`, one after the other."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts], dtype=np.int64)


def _term_occurrences(
    parts: ChunkParts, text_indexes: Sequence[TextIndex], query_terms: QueryTerms
) -> tuple[IntArray, IntArray]:
    """Return the term index and the offset of each occurrence of the query's words."""
    if not query_terms.terms:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    prefix_ids, key_numbers = query_terms.find_prefixes(_concatenate([index.keys for index in text_indexes]))
    chunk_numbers = np.searchsorted(np.cumsum([len(index.keys) for index in text_indexes]), key_numbers, "right")
    offsets = _concatenate([index.word_starts for index in text_indexes])[key_numbers]
    positions = parts.text_starts[chunk_numbers] + offsets
    is_valid = (positions >= parts.valid_from[chunk_numbers]) & (positions < parts.valid_to[chunk_numbers])
    prefix_ids, positions = prefix_ids[is_valid], positions[is_valid]
    is_term = prefix_ids < query_terms.prefix_count
    begins_whole = query_terms.begins_whole(prefix_ids)
    places = zip(chunk_numbers[is_valid][begins_whole].tolist(), offsets[is_valid][begins_whole].tolist(), strict=True)
    whole = [
        (term_id, position)
        for (chunk, offset), prefix_id, position in zip(
            places, prefix_ids[begins_whole].tolist(), positions[begins_whole].tolist(), strict=True
        )
        if (term_id := query_terms.find_whole(parts.texts[chunk], prefix_id, offset)) is not None
    ]
    return (
        np.append(prefix_ids[is_term], [term_id for term_id, _ in whole]).astype(np.int64),
        np.append(positions[is_term], [position for _, position in whole]).astype(np.int64),
    )


HEADING_SHARE = 0.5
"""How much nearer to the best sentence a section comes if its heading has the words of the query. Of sections of
documentation in Markdown the context has .03 to .05 more at 1,000 tokens, and as much in large ones."""
MAX_SECTION_CHARS = 4_000
"""Maximum length of a section, in characters, if no heading ends it earlier."""


def score_sentences(
    document_texts: Iterable[DocumentText],
    query: str,
    weights: Weights = WEIGHTS,
    scorer_scores: Mapping[str, float] = MappingProxyType({}),
) -> ScoredSentences:
    """Split `document_texts` into sentences and score them for `query`.

    `scorer_scores` are the scores of a scorer by sentence text.
    """
    query_terms = QueryTerms(query)
    candidate_text = join_candidates(document_texts, query_terms)
    boundaries, continues = candidate_text.boundaries.tolist(), candidate_text.continues.tolist()
    sentence_count = len(continues)
    candidate_spans = _candidate_spans(candidate_text)
    occurrences = _TermOccurrences(candidate_text, len(query_terms.terms))
    # Frequencies are by chunk: among sentences even a word that every chunk has is rare.
    begins, ends = ([getattr(span.sentence_range, bound) for span in candidate_spans] for bound in ("start", "stop"))
    chunk_counts = occurrences.count_between(np.array(begins, dtype=np.int64), np.array(ends, dtype=np.int64))
    bm25 = Bm25(query_terms.terms, chunk_counts, stop_word_weights(query), prefix_of=query_terms.prefix_of)
    term_scores = occurrences.weight_per_sentence(bm25)
    lengths = np.array([span.end - span.start for span in candidate_spans], dtype=np.int64)
    surroundings = _smooth(_smooth(term_scores, candidate_text), candidate_text)
    lexical_scores = weights.chunk * _max_normalize(
        _chunk_scores(candidate_spans, bm25.scores(chunk_counts, lengths), sentence_count)
    )
    lexical_scores += weights.section * _max_normalize(_section_scores(candidate_text, boundaries, occurrences, bm25))
    lexical_scores += weights.sentence * _max_normalize(term_scores)
    lexical_scores += weights.surroundings * _max_normalize(surroundings)
    lines = labeled_lines(candidate_text.text, candidate_text.boundaries[:-1][~candidate_text.continues].tolist())
    if might_mention_speaker(candidate_text.text, lines, np.sort(candidate_text.term_offsets), query):
        speaker_flags = lines_by_mentioned_speaker(candidate_text.text, lines, boundaries, continues, query)
        lexical_scores += SPEAKER_BONUS * np.array(speaker_flags or 0.0)
    max_lexical_score = weights.max_lexical_score
    if scorer_scores:
        texts = [candidate_text.text[begin:end].strip() for begin, end in pairwise(boundaries)]
        lexical_scores += SCORER_WEIGHT * _max_normalize(np.array(normalize_scores(texts, scorer_scores)))
        max_lexical_score += SCORER_WEIGHT
    scores = _rank_scores(candidate_spans, weights, sentence_count) + lexical_scores
    sentences = ScoredSentences(
        candidate_text.text,
        boundaries,
        continues,
        candidate_text.document_ids,
        scores,
        lexical_scores,
        term_scores,
        candidate_spans,
        TextLines(candidate_text.text, boundaries, continues, candidate_text.document_ids),
        max_lexical_score=max_lexical_score,
        referring_words=referring_words(words(query)),
    )
    distances = scores.max(initial=-math.inf) - scores
    return sentences.raised(HEADING_SHARE * _heading_shares(candidate_text, term_scores) * distances)


class _TermOccurrences:
    """Occurrences of the query's words in sentences, as one ascending array of term x sentence count + sentence."""

    def __init__(self, candidate_text: CandidateText, term_count: int) -> None:
        self._term_count, self._sentence_count = term_count, len(candidate_text.continues)
        indexes = np.searchsorted(candidate_text.boundaries, candidate_text.term_offsets, "right") - 1
        self._encoded = np.sort(candidate_text.term_ids * self._sentence_count + indexes)

    def count_between(self, begins: IntArray, ends: IntArray) -> IntArray:
        """Return how often each word occurs in each range of sentences: one row per word."""
        term_bases = self._sentence_count * np.arange(self._term_count)[:, None]
        counts_before = np.searchsorted(self._encoded, term_bases + np.concatenate([begins, ends])[None, :])
        counts: IntArray = counts_before[:, len(begins) :] - counts_before[:, : len(begins)]
        return counts

    def weight_per_sentence(self, bm25: Bm25) -> FloatArray:
        """Return the sum of the weights of the words in each sentence, each word counted once."""
        if not self._sentence_count:
            return np.zeros(0)
        term_ids, indexes = np.divmod(np.unique(self._encoded), self._sentence_count)
        return np.bincount(indexes, bm25.weights_of(term_ids), self._sentence_count).astype(np.float64)


def _candidate_spans(candidate_text: CandidateText) -> list[CandidateSpan]:
    begins = np.array([begin for begin, _ in candidate_text.members], dtype=np.int64)
    ends = begins + [len(candidate.chunk.text) for _, candidate in candidate_text.members]
    first = np.searchsorted(candidate_text.boundaries[1:], begins, "right").tolist()
    last = np.searchsorted(candidate_text.boundaries[:-1], ends).tolist()
    return [
        CandidateSpan(candidate, begin, end, range(*places))
        for (begin, candidate), end, *places in zip(candidate_text.members, ends.tolist(), first, last, strict=True)
    ]


def _max_normalize(scores: FloatArray) -> FloatArray:
    """Return `scores` divided by the highest."""
    return scores / (float(scores.max(initial=0.0)) or 1.0)


def _chunk_scores(candidate_spans: Sequence[CandidateSpan], scores: FloatArray, sentence_count: int) -> FloatArray:
    """Return for each sentence the highest BM25 score of the chunks that contain a part of it."""
    best = np.zeros(sentence_count)
    chunk_scores = scores.tolist()
    for number in np.argsort(scores, kind="stable").tolist():
        indexes = candidate_spans[number].sentence_range
        best[indexes.start : indexes.stop] = chunk_scores[number]
    return best


def _section_scores(
    candidate_text: CandidateText, boundaries: Sequence[int], occurrences: _TermOccurrences, bm25: Bm25
) -> FloatArray:
    """Return the BM25 score of each sentence's section: a heading applies to all the text below it."""
    sentence_count = len(boundaries) - 1
    section_starts: list[int] = []
    bounds = [*np.flatnonzero(~candidate_text.continues | candidate_text.section_starts).tolist(), sentence_count]
    for begin, end in pairwise(bounds):
        section_starts.append(begin)
        # A longer section is divided.
        while (begin := bisect_right(boundaries, boundaries[begin] + MAX_SECTION_CHARS)) < end:
            section_starts.append(begin)
    first, last = (
        np.array(section_starts, dtype=np.int64),
        np.array([*section_starts[1:], sentence_count][: len(section_starts)], dtype=np.int64),
    )
    scores = bm25.scores(
        occurrences.count_between(first, last), candidate_text.boundaries[last] - candidate_text.boundaries[first]
    )
    return np.repeat(scores, last - first)


def _heading_shares(candidate_text: CandidateText, term_scores: FloatArray) -> FloatArray:
    """Return the weight of the query's words in the heading of each sentence's section, from 0 to 1.

    It is 1 for as much as the best sentence has, and 0 for up to half of that. A heading is a section's first line.
    """
    is_start, starts = candidate_text.section_starts, candidate_text.boundaries[:-1]
    headings = np.maximum.accumulate(np.where(is_start | ~candidate_text.continues, np.arange(len(starts)), 0))
    applies = is_start[headings] & (starts - starts[headings] < MAX_SECTION_CHARS)
    shares: FloatArray = (2 * _max_normalize(term_scores)[headings] - 1).clip(min=0.0) * applies
    return shares


def _smooth(scores: FloatArray, candidate_text: CandidateText) -> FloatArray:
    """Return half of each sentence's score plus a quarter of the score of each adjacent sentence."""
    smooth, quarter = scores / 2, scores / 4
    linked = candidate_text.continues[1:]
    smooth[:-1] += quarter[1:] * linked
    smooth[1:] += quarter[:-1] * linked
    return smooth


def _rank_scores(candidate_spans: Sequence[CandidateSpan], weights: Weights, sentence_count: int) -> FloatArray:
    """Return the retriever's part of each score: the nearest hit's rank, and the good hits of the document."""
    document_scores: dict[str, float] = defaultdict(float)
    for candidate_span in candidate_spans:
        if candidate_span.candidate.is_hit:
            document_scores[candidate_span.candidate.chunk.document_id] += 1 / (2 + candidate_span.candidate.rank)
    max_document_score = max(document_scores.values(), default=1.0)
    scores = np.zeros(sentence_count)
    # Text that two chunks share gets the value of the chunk nearer to a hit, which is written last.
    for candidate_span in sorted(candidate_spans, key=attrgetter("candidate.distance", "candidate.rank"), reverse=True):
        candidate, indexes = candidate_span.candidate, candidate_span.sentence_range
        document_share = document_scores[candidate.chunk.document_id] / max_document_score
        value = weights.document * document_share - weights.rank * math.log1p(candidate.rank)
        if candidate.distance:
            value -= weights.neighbor + weights.distance * (candidate.distance - 1)
        scores[indexes.start : indexes.stop] = value
    return scores
