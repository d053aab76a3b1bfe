"""The signals of a sentence's score as arrays with one number per sentence: see `sentences.py`.

The text of each document's candidates is appended to one long text, so that one offset identifies a position in it:
the start of a sentence, the start and the end of a chunk. What was read of each chunk, which is cached, is merged by
these offsets. Where two chunks overlap, the first one is read up to the middle of the overlap and the second one from
there on: both ends of a chunk may be cut inside a word or a sentence, and the middle of the overlap isn't.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise, repeat
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from ctxassembly.assembly.rendering.excerpt import DocumentText
from ctxassembly.assembly.scoring.sentences import Ranking, ScoredSentences
from ctxassembly.assembly.scoring.speakers import SPEAKER_BONUS, mentioned_turns
from ctxassembly.assembly.scoring.weights import SCORER_WEIGHT, WEIGHTS, Weights, normalize_scores, stop_word_weights
from ctxassembly.data.candidates import Candidate, CandidateSpan
from ctxassembly.text.lines import TextLines
from ctxassembly.text.query_terms import Bm25, QueryTerms
from ctxassembly.text.sentence_rules import is_wrapped_line
from ctxassembly.text.text_index import HEADING, TextIndex, index_texts
from ctxassembly.tokens.cache import TextCache

if TYPE_CHECKING:
    from numpy.typing import NDArray

    BoolArray = NDArray[np.bool_]
    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]
    T = TypeVar("T", np.int64, np.float64)

CACHE_BYTES = 32 * 1024 * 1024
"""Size of the cache: about 6,000 texts of 1,500 characters. Least recently used entries are evicted first."""

_CACHE = TextCache[TextIndex](CACHE_BYTES, attrgetter("nbytes"))


def get_text_indexes(texts: Sequence[str]) -> list[TextIndex]:
    """Return the sentences and words of `texts`, cached."""
    recent = _CACHE.recent
    known = [recent.get(text) or _CACHE.get(text) for text in texts]
    new = [*dict.fromkeys([text for text, index in zip(texts, known, strict=True) if index is None])]
    found = {text: _CACHE.put(text, index) for text, index in zip(new, index_texts(new), strict=True)}
    return [index or found[text] for text, index in zip(texts, known, strict=True)]


class ChunkParts(NamedTuple):
    """The chunks of all documents as parallel sequences; offsets are into the text of all candidates."""

    texts: Sequence[str]
    indexes: Sequence[TextIndex]
    text_starts: IntArray
    """The offset of each chunk."""
    bounds: IntArray
    """Where each chunk begins to count, then the end of the text; an overlap is split in the middle."""

    def positions(
        self, chunk_numbers: IntArray, offsets: NDArray[np.integer], unit: int = 1
    ) -> tuple[IntArray, BoolArray]:
        """Return the offset in the text for each of `offsets` in chunks, and whether the chunk counts there.

        Offsets are in parts of a character, of which it has `unit`.
        """
        positions, bounds = (unit * self.text_starts)[chunk_numbers] + offsets, unit * self.bounds
        is_valid = (positions >= bounds[chunk_numbers]) & (positions < bounds[chunk_numbers + 1])
        return positions, is_valid


class CandidateText(NamedTuple):
    """The text of all candidates, its sentences, and the query's words in it."""

    text: str
    text_starts: Sequence[int]
    """Where the text of each document begins."""
    boundaries: IntArray
    """The start of each sentence, then the end of the text."""
    continues: BoolArray
    """Whether each sentence continues the one before it; the first one of a document's text doesn't."""
    section_starts: BoolArray
    """Whether each sentence begins a section."""
    document_ids: Sequence[str]
    """The document id of each sentence."""
    candidate_spans: Sequence[CandidateSpan]
    sentence_ranges: IntArray
    """The sentences of each candidate, in two rows: the first one, and the one after the last."""
    offered: IntArray
    """The indexes of the sentences of each candidate, one candidate after the other."""
    offered_counts: IntArray
    """The number of the sentences of each candidate."""
    term_ids: IntArray
    """The index of the query term of each occurrence."""
    term_offsets: IntArray
    """The offset of each occurrence."""


def join_candidates(lines: Iterable[DocumentText], query_terms: QueryTerms) -> CandidateText:
    """Return the text of `lines` with its sentences and the occurrences of `query_terms`."""
    texts: list[str] = []
    placed: list[tuple[Candidate, int, int]] = []
    document_ids: list[str] = []
    text_starts: list[int] = []
    boundaries: list[int] = []
    part_texts: list[str] = []
    part_starts: list[int] = []
    bounds: list[int] = []
    touching: list[tuple[int, int]] = []
    text_start = 0
    for line in lines:
        text, covered_to = line.text, text_start
        text_starts.append(text_start)
        document_ids.append(line.last_chunk.document_id)
        for begin, candidate in line.members:
            chunk, start = candidate.chunk.text, text_start + begin
            end = start + len(chunk)
            placed.append((candidate, start, end))
            if end <= covered_to:  # contained in another chunk
                continue
            low = start if start >= covered_to else (start + covered_to + 1) // 2
            if start == covered_to > text_start:
                touching.append((len(bounds) - 1, low))
            elif start > covered_to and not is_wrapped_line(text, covered_to - text_start):  # a line break was put here
                boundaries.append(low)
            part_texts.append(chunk)
            part_starts.append(start)
            bounds.append(low)
            covered_to = end
        texts.append(text)
        text_start += len(text)
    full_text = "".join(texts)
    starts, ends = _integers(part_starts), _integers([*bounds, text_start])
    parts = ChunkParts(part_texts, get_text_indexes(part_texts), starts, ends)
    boundaries += [place for before, place in touching if parts.indexes[before].is_ended]
    borders = [2 * start + (HEADING.match(full_text, start) is not None) for start in (*text_starts, *boundaries)]
    sentence_starts, section_starts = _sentence_starts(parts, borders)
    firsts = np.searchsorted(sentence_starts, text_starts)
    continues = np.ones(len(sentence_starts), dtype=bool)
    continues[firsts] = False
    counts = np.diff(firsts, append=len(sentence_starts)).tolist()
    sentence_boundaries = np.append(sentence_starts, text_start)
    chunk_starts, chunk_ends = _integers([(start, end) for _, start, end in placed]).reshape(-1, 2).T
    starts = np.searchsorted(sentence_boundaries[1:], chunk_starts, "right")
    stops = np.searchsorted(sentence_starts, chunk_ends)
    sentence_ranges = map(range, starts.tolist(), stops.tolist())
    offered_counts = stops - starts
    return CandidateText(
        full_text,
        text_starts,
        sentence_boundaries,
        continues,
        section_starts,
        [*chain.from_iterable(map(repeat, document_ids, counts))],
        [CandidateSpan(*span, sentences) for span, sentences in zip(placed, sentence_ranges, strict=True)],
        np.array([starts, stops]),
        np.repeat(stops - offered_counts.cumsum(), offered_counts) + np.arange(offered_counts.sum()),
        offered_counts,
        *_term_occurrences(parts, full_text, query_terms),
    )


def _integers(values: Sequence[int | tuple[int, int]]) -> IntArray:
    return np.array(values, dtype=np.int64)


def _sentence_starts(parts: ChunkParts, borders: Sequence[int]) -> tuple[IntArray, BoolArray]:
    """Return the starts of sentences, and whether each begins a section.

    `borders` are those between chunks, times two, plus 1 if a section begins there.
    """
    chunk_starts = [index.sentence_starts for index in parts.indexes]
    chunk_numbers = np.repeat(np.arange(len(chunk_starts)), [len(starts) // 4 for starts in chunk_starts])
    # The lowest bit is the section flag, so that sorting keeps it with its sentence.
    encoded, is_valid = parts.positions(chunk_numbers, np.frombuffer(b"".join(chunk_starts), dtype=np.uint32), unit=2)
    encoded = np.sort(np.concatenate([encoded[is_valid], _integers(borders)]))
    return encoded >> 1, encoded & 1 > 0


def _term_occurrences(parts: ChunkParts, text: str, query_terms: QueryTerms) -> tuple[IntArray, IntArray]:
    """Return the term index and the offset of each occurrence of the query's words and symbols."""
    found = [
        (term_id, match.start()) for term_id, pattern in query_terms.symbols.items() for match in pattern.finditer(text)
    ]
    keys = np.frombuffer(b"".join([index.keys for index in parts.indexes]), dtype=np.int64)
    word_starts = np.frombuffer(b"".join([index.word_starts for index in parts.indexes]), dtype=np.uint32)
    prefix_ids, key_numbers = query_terms.find_prefixes(keys)
    chunk_ends = np.cumsum([len(index.keys) // 8 for index in parts.indexes])
    chunk_numbers = np.searchsorted(chunk_ends, key_numbers, "right")
    positions, is_valid = parts.positions(chunk_numbers, word_starts[key_numbers])
    prefix_ids, positions, chunk_numbers = prefix_ids[is_valid], positions[is_valid], chunk_numbers[is_valid]
    for number in query_terms.begins_whole(prefix_ids).tolist():
        chunk, position = int(chunk_numbers[number]), int(positions[number])
        offset = position - int(parts.text_starts[chunk])
        if (term_id := query_terms.find_whole(parts.texts[chunk], int(prefix_ids[number]), offset)) is not None:
            found.append((term_id, position))
    is_term = prefix_ids < query_terms.prefix_count
    ids, places = _integers(found).reshape(-1, 2).T
    return np.concatenate([prefix_ids[is_term], ids]), np.concatenate([positions[is_term], places])


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
    factors = stop_word_weights(query_terms)
    candidate_text = join_candidates(document_texts, query_terms)
    text, candidate_spans = candidate_text.text, candidate_text.candidate_spans
    occurrences = _TermOccurrences(candidate_text, len(query_terms.terms))
    # Frequencies are by chunk: among sentences even a word that every chunk has is rare.
    counts_before = occurrences.count_before(candidate_text.sentence_ranges.ravel())
    chunk_counts = counts_before[:, len(candidate_spans) :] - counts_before[:, : len(candidate_spans)]
    bm25 = Bm25(query_terms.terms, chunk_counts, factors, prefix_of=query_terms.prefix_of)
    term_scores = occurrences.weight_per_sentence(bm25)
    lengths = _integers([end - start for _, start, end, _ in candidate_spans])
    boundaries, continues = candidate_text.boundaries.tolist(), candidate_text.continues.tolist()
    sections = np.flatnonzero(~candidate_text.continues | candidate_text.section_starts)
    signals = np.array(
        [
            _best_of_chunks(candidate_text, bm25.scores(chunk_counts, lengths)),
            _section_scores(candidate_text, boundaries, sections.tolist(), occurrences, bm25),
            term_scores,
            _smooth(_smooth(term_scores, candidate_text), candidate_text),
        ]
    )
    signals /= _positive(signals.max(axis=1, initial=0.0, keepdims=True))
    signal_weights = (weights.chunk, weights.section, weights.sentence, weights.surroundings)
    lexical_scores = (np.array(signal_weights)[:, None] * signals).sum(axis=0)
    is_content = np.array([term not in factors for term in query_terms.terms], dtype=bool)
    content_offsets = candidate_text.term_offsets[is_content[candidate_text.term_ids]].tolist()
    for turn in mentioned_turns(text, candidate_text.text_starts, content_offsets, query):
        begin, end = np.searchsorted(candidate_text.boundaries, turn, "right") - 1
        lexical_scores[begin:end] += SPEAKER_BONUS
    max_lexical_score = weights.max_lexical_score
    if scorer_scores:
        texts = [text[begin:end].strip() for begin, end in pairwise(boundaries)]
        scorer_signal = np.array(normalize_scores(texts, scorer_scores))
        lexical_scores += SCORER_WEIGHT * (scorer_signal / _positive(scorer_signal.max(initial=0.0)))
        max_lexical_score += SCORER_WEIGHT
    scores = _rank_scores(candidate_text, weights) + lexical_scores
    distances = scores.max(initial=-math.inf) - scores
    heading_bonuses = HEADING_SHARE * _heading_shares(candidate_text, sections, signals[2]) * distances
    return ScoredSentences(
        text,
        boundaries,
        candidate_text.boundaries[1:] - candidate_text.boundaries[:-1],
        continues,
        candidate_text.document_ids,
        Ranking(scores + heading_bonuses, candidate_spans, candidate_text.offered, candidate_text.offered_counts),
        lexical_scores + heading_bonuses,
        term_scores,
        TextLines(text, boundaries, continues, candidate_text.document_ids),
        max_lexical_score=max_lexical_score,
    )


class _TermOccurrences:
    """Occurrences of the query's words in sentences, as one ascending array of term x sentence count + sentence."""

    def __init__(self, candidate_text: CandidateText, term_count: int) -> None:
        self._sentence_count = len(candidate_text.continues)
        self._term_bases = self._sentence_count * np.arange(term_count)[:, None]
        indexes = np.searchsorted(candidate_text.boundaries, candidate_text.term_offsets, "right") - 1
        self._encoded = np.sort(candidate_text.term_ids * self._sentence_count + indexes)

    def count_before(self, indexes: IntArray) -> IntArray:
        """Return how often each word occurs before each of the sentences at `indexes`: one row per word.

        The differences count, since the occurrences of other words are counted, too.
        """
        counts: IntArray = np.searchsorted(self._encoded, self._term_bases + indexes)
        return counts

    def weight_per_sentence(self, bm25: Bm25) -> FloatArray:
        """Return the sum of the weights of the words in each sentence, each word counted once."""
        if not self._sentence_count:
            return np.zeros(0)
        is_first = np.ones(len(self._encoded), dtype=bool)
        is_first[1:] = self._encoded[1:] != self._encoded[:-1]
        term_ids, indexes = np.divmod(self._encoded[is_first], self._sentence_count)
        return np.bincount(indexes, bm25.weights_of(term_ids), self._sentence_count).astype(np.float64)


def _positive(maximum: FloatArray) -> FloatArray:
    """Return the maximum of a signal, or 1 for 0, by which all of it can be divided."""
    return np.where(maximum > 0, maximum, 1.0)


def _best_of_chunks(candidate_text: CandidateText, values: NDArray[T]) -> NDArray[T]:
    """Return for each sentence the highest of the `values`, all from 0, of the chunks that have a part of it."""
    best = np.zeros(len(candidate_text.continues), dtype=values.dtype)
    np.maximum.at(best, candidate_text.offered, np.repeat(values, candidate_text.offered_counts))
    return best


def _section_scores(
    candidate_text: CandidateText,
    boundaries: Sequence[int],
    sections: Sequence[int],
    occurrences: _TermOccurrences,
    bm25: Bm25,
) -> FloatArray:
    """Return the BM25 score of each sentence's section: a heading applies to all the text below it."""
    sentence_count = len(boundaries) - 1
    starts: list[int] = []
    for begin, end in pairwise([*sections, sentence_count]):
        starts.append(begin)
        # A longer section is divided.
        while (begin := bisect_right(boundaries, boundaries[begin] + MAX_SECTION_CHARS)) < end:
            starts.append(begin)
    bounds = _integers([*starts, sentence_count])
    counts, offsets = occurrences.count_before(bounds), candidate_text.boundaries[bounds]
    scores = bm25.scores(counts[:, 1:] - counts[:, :-1], offsets[1:] - offsets[:-1])
    return np.repeat(scores, bounds[1:] - bounds[:-1])


def _heading_shares(candidate_text: CandidateText, sections: IntArray, term_signal: FloatArray) -> FloatArray:
    """Return the weight of the query's words in the heading of each sentence's section, from 0 to 1.

    It is 1 for as much as the best sentence has, and 0 for up to half of that. A heading is a section's first line.
    """
    starts = candidate_text.boundaries[:-1]
    firsts = np.zeros(len(starts), dtype=np.int64)
    firsts[sections] = sections
    headings = np.maximum.accumulate(firsts)
    applies = candidate_text.section_starts[headings] & (starts - starts[headings] < MAX_SECTION_CHARS)
    shares: FloatArray = (2 * term_signal[headings] - 1).clip(min=0.0) * applies
    return shares


def _smooth(scores: FloatArray, candidate_text: CandidateText) -> FloatArray:
    """Return half of each sentence's score plus a quarter of the score of each adjacent sentence."""
    smooth, quarter = scores / 2, scores / 4
    linked = candidate_text.continues[1:]
    smooth[:-1] += quarter[1:] * linked
    smooth[1:] += quarter[:-1] * linked
    return smooth


def _rank_scores(candidate_text: CandidateText, weights: Weights) -> FloatArray:
    """Return the retriever's part of each score: the nearest hit's rank, and the good hits of the document."""
    rows = [(own.rank, own.distance, own.chunk.document_id) for own, _, _, _ in candidate_text.candidate_spans]
    document_scores: dict[str, float] = defaultdict(float)
    for rank, distance, document_id in rows:
        if distance == 0:
            document_scores[document_id] += 1 / (2 + rank)
    best = max(document_scores.values(), default=1.0)
    values: list[float] = []
    for rank, distance, document_id in rows:
        value = weights.document * (document_scores[document_id] / best) - weights.rank * math.log1p(rank)
        if distance:
            value -= weights.neighbor + weights.distance * (distance - 1)
        values.append(value)
    # Text that two chunks share gets the value of the chunk nearer to a hit.
    nearest_last = np.lexsort(([rank for rank, _, _ in rows], [distance for _, distance, _ in rows]))[::-1]
    scores: FloatArray = np.array(values)[nearest_last][_best_of_chunks(candidate_text, nearest_last.argsort())]
    return scores
