"""Packing of the best sentences into the budget, a greedy knapsack.

The sentences of all candidates compete. `pick_greedily` adds them by score up to a number of tokens; it closes gaps of
one sentence. The result is the candidates reduced to these sentences, which are joined, cited and traced like any
other.

Convergence: the tokens of a sentence are counted before it is picked; header and gap marker tokens are estimated.
So the whole is rendered and counted after each try, and if it exceeds the budget or leaves much of it, the next try
gets fewer or more tokens in proportion. A try that was too large or too small bounds all later ones; if the proportion
leads out of the bounds, the next try is half-way between them, until no sentence is short enough to make a difference.
Only a try that fits is used, so the budget is kept however wrong the estimates are.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from ctxassembly.assembly.rendering.excerpt import subtract_spans
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.rendering.parts import Parts
from ctxassembly.assembly.scoring.sentences import EVERY_SENTENCE, ScoredSentences
from ctxassembly.assembly.selection.fill import END_SHARE
from ctxassembly.assembly.selection.shorten import merge_spans
from ctxassembly.cached_property import cached_property
from ctxassembly.data.candidates import ALREADY_SENT, Candidate, CandidateSpan
from ctxassembly.data.chunks import Span

DOCUMENT_OVERHEAD, MARKER_COST = 2.0, 2.8
"""Estimated tokens of a label besides its header, and of a gap marker."""
LENGTH_TOLERANCE = 1.5
"""A sentence is skipped uncounted if it has more than this many times the characters that usually fit."""


class TokenCosts(dict[int, float]):
    """The tokens that each sentence adds next to others, by its index: counted when it is first looked up.

    Where token counts aren't additive, they are estimated by characters.
    """

    __slots__ = ("_counter", "_header_costs", "_layout", "_sentences", "chars_per_token", "is_joined", "parts")

    def __init__(self, layout: Layout, sentences: ScoredSentences, chars_per_token: float) -> None:
        super().__init__()
        self._layout, self._sentences, self.chars_per_token = layout, sentences, chars_per_token
        self._counter = layout.typesetter.counter
        parts = layout.typesetter.parts or Parts({})
        self.parts = [len(parts.spans)] * len(sentences.continues)
        """The part in which each sentence is read."""
        self.is_joined = [*sentences.continues, False, False]
        """Whether each sentence is read right after the one before it, with two more at the end."""
        for index, part in parts.sentence_parts.items():
            self.parts[index] = part
        for index in parts.sentence_parts:
            self.is_joined[index] &= self.parts[index] == self.parts[index - 1]
            self.is_joined[index + 1] = self.is_joined[index + 1] and self.parts[index + 1] == self.parts[index]
        self._header_costs: dict[str, float] = {}

    def __missing__(self, index: int) -> float:
        """Count or estimate the tokens of the sentence at `index`."""
        sentences, cost = self._sentences, 0.0
        if self._counter.additive:
            starts = sentences.token_starts
            cost = self._counter.count(sentences.text[starts[index] : starts[index + 1]])
        else:
            cost = (sentences.boundaries[index + 1] - sentences.boundaries[index]) / self.chars_per_token
        self[index] = cost
        return cost

    def header_cost(self, document_id: str) -> float:
        """Return the tokens of a document's header and of the text around it."""
        if document_id not in self._header_costs:
            spans = self._sentences.candidate_spans
            first = next(candidate for candidate, *_ in spans if candidate.chunk.document_id == document_id)
            header_tokens = self._layout.typesetter.header_tokens(first)
            self._header_costs[document_id] = header_tokens + DOCUMENT_OVERHEAD if header_tokens else 0.0
        return self._header_costs[document_id]


# The companions of a sentence are those that are picked with it, or it isn't picked: what its line needs to be
# understood (`text/lines.py`), and what they need in turn.

MAX_BEST = 10
"""Number of the best sentences: they are kept alone rather than not at all."""
MAX_COMPANIONS = 4
"""Most steps from a sentence to what it needs, such as from a heading to an introduction to an item."""


class Companions(dict[int, tuple[int, ...]]):
    """The indexes of each sentence's companions by its own, ascending, found when they are first looked up."""

    __slots__ = ("__dict__", "_lines", "_may_be_included", "_sentences")

    def __init__(self, sentences: ScoredSentences) -> None:
        super().__init__()
        self._sentences, self._lines = sentences, sentences.lines
        self._may_be_included = (sentences.scores >= EVERY_SENTENCE).tobytes()

    def __missing__(self, index: int) -> tuple[int, ...]:
        """Find the companions of the sentence at `index`."""
        all_needed: Sequence[int] = ()
        last = index
        for _ in range(1 + MAX_COMPANIONS):
            needed = self._lines.needed(last)
            if needed is None:
                needed = self._better_neighbor(last)
            all_needed = sorted({*all_needed, *needed}) if all_needed else needed
            if not needed or needed[-1] <= last or not self._lines.introduces(needed[-1]):
                break
            last = needed[-1]
        found = tuple([at for at in all_needed if at != index and self._may_be_included[at]]) if all_needed else ()
        self[index] = found
        return found

    def can_do_without(self, index: int) -> bool:
        """Return True if the sentence at `index` may be kept alone where its companions don't fit.

        It is one of the best, so that it may be the answer, and is a row, an item or prose: a part of an entry could
        pass for a part of another, and an introduction says nothing.
        """
        is_best = index in self._sentences.best(MAX_BEST)
        return is_best and not self._lines.introduces(index) and not self._lines.is_part(index)

    def _better_neighbor(self, index: int) -> Sequence[int]:
        """Return the one of the two sentences next to it in the same chunk that has the higher score."""
        flags, scores = self._continues_in_chunk, self._sentences.scores
        if flags[index] and flags[index + 1]:
            return [index - 1 if scores[index - 1] >= scores[index + 1] else index + 1]
        return [index - 1] * flags[index] + [index + 1] * flags[index + 1]

    @cached_property
    def _continues_in_chunk(self) -> Sequence[int]:
        """For each sentence 1 if it continues another one in the same chunk, else 0."""
        flags = bytearray(len(self._sentences.continues) + 1)
        for span in self._sentences.candidate_spans:
            first, stop = span.sentence_range.start + 1, span.sentence_range.stop
            flags[first:stop] = b"\x01" * (stop - first)
        return flags


# A gap of one sentence between two picked ones is closed, since a marker would say less. So the cost of a sentence
# includes the gaps that it closes, less the markers that it saves. When little room is left, nearly all sentences are
# too long, so checks run from cheapest to most expensive: the length, then the cost of the header, then the count.

MAX_SCRAP_CHARS = 12
"""Length of the longest sentence that says no more than a gap marker."""
MAX_MISSES = 100
"""Number of sentences whose companions don't fit after which the search ends: then nothing but their kind is left."""
MIN_TOKENS = 2.0
"""Tokens of the shortest sentence: the search ends when fewer are left."""


class Picked(NamedTuple):
    """The sentences that `pick_greedily` picks."""

    indexes: set[int]
    tokens: float
    """Their estimated tokens."""
    all_fit: bool
    """True if no sentence was left out for lack of room."""


def pick_greedily(
    sentences: ScoredSentences,
    order: Sequence[int],
    max_tokens: float,
    costs: TokenCosts,
    companions: Companions,
) -> Picked:
    """Pick sentences in `order`, best first, as long as their `costs` don't exceed `max_tokens`."""
    all_text, boundaries, document_ids = sentences.text, sentences.boundaries, sentences.document_ids
    free_tokens, max_chars, parts = max_tokens, costs.chars_per_token * LENGTH_TOLERANCE, costs.parts
    min_tokens = max(MIN_TOKENS, END_SHARE * max_tokens)
    picked: set[int] = set()
    open_labels: set[tuple[int, str]] = set()  # parts and documents: each has a header of its own
    picked_texts: set[str] = set()
    all_fit, misses = True, 0
    for index in order:
        if free_tokens < min_tokens or misses == MAX_MISSES:
            return Picked(picked, max_tokens - free_tokens, False)
        if index in picked:
            continue
        begin, end = boundaries[index], boundaries[index + 1]
        length = end - begin
        if length > (free_tokens + 1) * max_chars:
            all_fit = False
            continue
        label = parts[index], document_ids[index]
        is_adjacent, gaps, overhead = _joining_cost(index, label, picked, costs, open_labels)
        if length > (free_tokens - overhead + 1) * max_chars:
            all_fit = False
            continue
        text = all_text[begin:end].strip()
        if _adds_nothing(sentences, index, text, picked_texts, is_adjacent=is_adjacent):
            continue
        added = {index, *gaps}
        cost = overhead + (sum([costs[at] for at in added]) if gaps else costs[index])
        if cost > free_tokens:
            all_fit = False
            continue
        needed_cost = _add_companions(index, added, picked, free_tokens - cost, costs, companions)
        if needed_cost is None:
            all_fit = False
            misses += 1
            continue
        free_tokens -= cost + needed_cost
        picked |= added
        open_labels.add(label)
        picked_texts.add(text)
    return Picked(picked, max_tokens - free_tokens, all_fit)


def _joining_cost(
    index: int,
    label: tuple[int, str],
    picked: Collection[int],
    costs: TokenCosts,
    open_labels: Collection[tuple[int, str]],
) -> tuple[bool, Sequence[int], float]:
    """Return whether a sentence touches a picked one, the gaps that it closes, and its tokens besides text.

    A gap is a single sentence between it and a picked one of the same label. A sentence by itself needs a marker more,
    one that touches a picked one none; each gap that it closes saves one.
    """
    if label not in open_labels:
        return False, (), MARKER_COST + costs.header_cost(label[1])
    is_joined, is_adjacent = costs.is_joined, False
    gaps: list[int] = []
    if is_joined[index]:
        if index - 1 in picked:
            is_adjacent = True
        elif is_joined[index - 1] and index - 2 in picked:
            gaps.append(index - 1)
    if is_joined[index + 1]:
        if index + 1 in picked:
            is_adjacent = True
        elif is_joined[index + 2] and index + 2 in picked:
            gaps.append(index + 1)
    return is_adjacent, gaps, MARKER_COST * (1 - is_adjacent - len(gaps))


def _add_companions(
    index: int, added: set[int], picked: Collection[int], free_tokens: float, costs: TokenCosts, companions: Companions
) -> float | None:
    """Add the companions of the sentence at `index` to those `added` with it; return their tokens, with markers.

    None if they take more than `free_tokens` and it can't do without.
    """
    if not (own := companions[index]):
        return 0.0
    needed = {*own}.difference(picked, added)
    cost = sum([costs[at] + MARKER_COST * (abs(at - index) > len(needed)) for at in needed])
    if cost <= free_tokens:
        added |= needed
        return cost
    return 0.0 if companions.can_do_without(index) else None


def _adds_nothing(
    sentences: ScoredSentences, index: int, text: str, picked_texts: Collection[str], *, is_adjacent: bool
) -> bool:
    """Return whether the sentence at `index` repeats a picked one, or says less than a marker.

    Next to a picked sentence a short line may repeat another one: two cells of a table may be equal.
    """
    if text in picked_texts:
        return not (is_adjacent and len(text) <= MAX_SCRAP_CHARS and sentences.lines.is_whole_line(index))
    return not is_adjacent and _is_scrap(sentences, index, text)


def _is_scrap(sentences: ScoredSentences, index: int, text: str) -> bool:
    """Return whether the sentence at `index` says less than a marker: it is short and not one of several short lines.

    A sentence of the best hit isn't if the whole hit is as short: "Paid." may be the answer. Signs alone always are,
    such as the rule of a table.
    """
    has_words = text[:1].isalnum() or any(map(str.isalnum, text))
    if (has_words and len(text) > MAX_SCRAP_CHARS) or index in sentences.short_best_hit_range:
        return False
    if not has_words:
        return True
    neighbors = [index - 1] if sentences.continues[index] else []
    if index + 1 < len(sentences.continues) and sentences.continues[index + 1]:
        neighbors.append(index + 1)
    return bool(neighbors) and min(len(sentences.sentence_text(at)) for at in neighbors) > MAX_SCRAP_CHARS


def indexes_by_candidate(
    sentences: ScoredSentences, indexes: Iterable[int]
) -> Iterator[tuple[CandidateSpan, Sequence[int]]]:
    """Yield each candidate that has any of the sentences at `indexes`, with the indexes of these, ascending."""
    ascending = sorted(indexes)
    for candidate_span in sentences.candidate_spans:
        first = bisect_left(ascending, candidate_span.sentence_range.start)
        if own_indexes := ascending[first : bisect_left(ascending, candidate_span.sentence_range.stop, first)]:
            yield candidate_span, own_indexes


def restrict_to_sentences(sentences: ScoredSentences, indexes: Collection[int]) -> dict[int, Candidate]:
    """Return the candidates that have any of the sentences at `indexes`, by key, each reduced to them.

    Text that two chunks share is kept in the first one, except for a hit that has nothing else.
    """
    forms: dict[int, Candidate] = {}
    covered_to: dict[int, int] = {}
    for candidate_span, own_indexes in indexes_by_candidate(sentences, indexes):
        candidate = candidate_span.candidate
        if len(own_indexes) == len(candidate_span.sentence_range):
            forms[candidate.key] = candidate
            covered_to |= dict.fromkeys(own_indexes, candidate_span.end)
        elif (spans := _own_spans(candidate_span, own_indexes, sentences.boundaries, covered_to)) or (
            candidate.is_hit and (spans := _own_spans(candidate_span, own_indexes, sentences.boundaries, {}))
        ):
            forms[candidate.key] = candidate._replace(kept_spans=spans, shortened_by="sentence")
    return forms


def _own_spans(
    candidate_span: CandidateSpan, indexes: Sequence[int], boundaries: Sequence[int], covered_to: dict[int, int]
) -> tuple[Span, ...]:
    """Return the slices of the candidate's text in the sentences at `indexes`, without covered and blank ones."""
    candidate, offset, end, _ = candidate_span
    text = candidate.chunk.text
    spans: list[Span] = []
    for index in indexes:
        start, stop = boundaries[index], boundaries[index + 1]
        if start < offset or stop > end or index in covered_to:
            start, stop = max(start, offset, covered_to.get(index, 0)), min(stop, end)
        if start < stop and not text[start - offset : stop - offset].isspace():
            spans.append((start - offset, stop - offset))
            covered_to[index] = stop
    merged = merge_spans(spans)
    if candidate.shortened_by != ALREADY_SENT:
        return merged
    sent = [*subtract_spans((0, len(text)), candidate.spans)]
    return tuple(rest for span in merged for rest in subtract_spans(span, sent))


MAX_TRIES = 6
"""Maximum number of tries; the second or third one mostly succeeds."""
TARGET_SHARE = 0.995
CLOSE_ENOUGH = 0.98
"""Shares of the budget: the aim of a try, a little below it, and where another try would gain next to nothing."""


class PackResult(NamedTuple):
    """The candidates with any of the packed sentences, reduced to them."""

    layout: Layout
    """The layout with all of them."""
    forms: dict[int, Candidate]
    """By key."""


def pack_sentences(layout: Layout, sentences: ScoredSentences, chars_per_token: float) -> PackResult | None:
    """Pack the best sentences that fit; None if none fits. `chars_per_token` is an initial guess."""
    best: PackResult | None = None
    layout = layout.cut_at(sentences.token_starts_in)
    costs, companions = TokenCosts(layout, sentences, chars_per_token), Companions(sentences)
    free_tokens = layout.max_tokens - layout.token_count
    trial_tokens = min(float(free_tokens), layout.max_characters / chars_per_token)
    too_few, too_many = 0.0, math.inf
    for _ in range(MAX_TRIES):
        picked = pick_greedily(sentences, sentences.included, trial_tokens, costs, companions)
        forms = restrict_to_sentences(sentences, picked.indexes)
        if not forms:
            break
        candidates = list(forms.values())
        added_tokens = layout.token_count_with(candidates) - layout.token_count
        if layout.fits(candidates):
            best = PackResult(layout.with_candidates(candidates), forms)
            if free_tokens - added_tokens <= layout.max_tokens * (1 - CLOSE_ENOUGH) or picked.all_fit:
                break
            too_few = trial_tokens
        else:
            too_many = picked.tokens  # from there up to the limit the same sentences are picked
        # In proportion; half-way between the bounds if that was tried already, or if characters are the limit.
        trial_tokens *= TARGET_SHARE * free_tokens / max(added_tokens, 1)
        if not too_few < trial_tokens < too_many:
            trial_tokens = (too_few + too_many) / 2
        if too_many - too_few < MIN_TOKENS:
            break
    return best
