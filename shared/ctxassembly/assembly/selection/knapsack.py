"""Sentences packed into the budget: the best ones for the query, in contiguous passages.

The sentences of all candidates compete, wherever they stand. `pick_greedily` takes them by value within a room in
tokens; it closes a gap of one sentence, and may let a sentence that continues what is taken come sooner. The result is
candidates of which only these sentences are kept, which are joined, cited and traced like any other.

How it converges. A sentence is counted when it is about to be taken; what is written around it is a guess. So the whole
is rendered and counted once in the end, and where that is over the budget, or leaves much of it, another try has less
or more room, in proportion. A guess that was too much or too little bounds all later ones, and where the proportion
leads out of the bounds the next try is half-way between them, until no sentence is short enough to make a difference.
Only a try that fits is kept, so the budget holds whatever the guesses are.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ctxassembly.assembly.rendering.excerpt import subtract_spans
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.scoring.sentences import ScoredSentences
from ctxassembly.assembly.selection.shorten import merge_spans
from ctxassembly.data.candidates import Candidate, CandidateSpan
from ctxassembly.data.chunks import Span

# The tokens of units, counted once: to choose by, and again for what is written of those that are chosen.
#
# A unit is counted from the blanks before it to the blanks after it. These are safe places (`tokens/counter.py`), so
# the counts of units in a row add up, and none of the text that they make together is encoded again: its tokens are the
# sum of the units', less those of the word that begins it and of the one that ends it, which may merge with what is
# written around. Where a place is not safe, as before a line that begins with a slash, the sum is but a guess, and
# nothing is kept of it.


DOCUMENT_OVERHEAD, MARKER_COST, BOUNDARY_COST = 2.0, 2.8, 0.12
"""Guesses at tokens: of what a document takes besides its header and of a marker, and how many more a unit takes where
it meets what comes next."""
LENGTH_TOLERANCE = 1.5
"""How many times as many characters as usual the tokens of a unit may have: a longer one is not counted in vain."""


class TokenCosts:
    """What units take of a layout; where counts don't add up, a guess by their characters."""

    def __init__(self, layout: Layout, sentences: ScoredSentences, chars_per_token: float) -> None:
        self._layout, self._sentences, self._chars_per_token = layout, sentences, chars_per_token
        self._counter = layout.typesetter.counter
        self._token_counts: dict[int, int] = {}
        self._header_costs: dict[str, float] = {}
        self._first_candidates = {
            share.candidate.chunk.document_id: share.candidate for share in reversed(sentences.candidate_spans)
        }

    def max_length(self, free_tokens: float) -> float:
        """The characters of the longest unit that may fit into so many tokens."""
        return (free_tokens + 1) * self._chars_per_token * LENGTH_TOLERANCE

    def estimate(self, index: int) -> float:
        """The tokens of a unit beside others."""
        if not self._counter.additive:
            boundaries = self._sentences.boundaries
            return (boundaries[index + 1] - boundaries[index]) / self._chars_per_token
        return self._token_count(index) + BOUNDARY_COST

    def header_cost(self, document_id: str) -> float:
        """The tokens of a document's header and of what is around it."""
        if document_id not in self._header_costs:
            header_tokens = self._layout.header_tokens(self._first_candidates[document_id])
            self._header_costs[document_id] = header_tokens + DOCUMENT_OVERHEAD if header_tokens else 0.0
        return self._header_costs[document_id]

    def _token_count(self, index: int) -> int:
        tokens = self._token_counts
        if index not in tokens:
            tokens[index] = self._counter.count(
                self._sentences.text[self._token_start(index) : self._token_start(index + 1)]
            )
        return tokens[index]

    def _token_start(self, index: int) -> int:
        """Return where the tokens of a sentence begin: before the blanks between it and the one that it continues."""
        sentences = self._sentences
        start = sentences.boundaries[index]
        if index < len(sentences.continues) and sentences.continues[index]:
            previous_start = sentences.boundaries[index - 1]
            return previous_start + len(sentences.text[previous_start:start].rstrip(" "))
        return start


# Units taken by value, one after the other, within a room in tokens.
#
# A gap of one unit between two that are taken is closed, since a marker would say less; so a unit costs what it adds
# with the gaps that it closes, and what it saves in markers. Where little room is left, nearly all units are too much
# for it. So what tells that is asked in the order of its price: the length, then what is written around, and then the
# count.


MAX_SCRAP_CHARS = 12
"""Length of the longest sentence that says no more than a marker does."""
MIN_TOKENS = 2.0
"""Tokens of the shortest sentence that is sought: with less room the search is over."""


class Picked(NamedTuple):
    """The units that `pick_greedily` takes."""

    indexes: set[int]
    tokens: float
    """The tokens that they take, by estimate."""
    all_fit: bool
    """True if none was left out for lack of room."""


def pick_greedily(
    sentences: ScoredSentences,
    order: Sequence[int],
    max_tokens: float,
    costs: TokenCosts,
    adjacency_ranks: Mapping[int, float] = MappingProxyType({}),
) -> Picked:
    """Take units in `order`, best first, as long as they have `max_tokens`, which is in tokens, as `costs` are.

    Beside one that is taken a unit has the rank that `adjacency_ranks` gives it, if any.
    """
    boundaries, document_ids = sentences.boundaries, sentences.document_ids
    free_tokens, max_length = max_tokens, costs.max_length(max_tokens)
    picked: set[int] = set()
    open_documents: set[str] = set()
    picked_texts: set[str] = set()
    promoted: list[tuple[float, int]] = []
    all_fit = True
    for index in _merge_promoted(order, promoted):
        if free_tokens < MIN_TOKENS:
            return Picked(picked, max_tokens - free_tokens, False)
        if index in picked:
            continue
        length = boundaries[index + 1] - boundaries[index]
        if length > max_length:
            all_fit = False
            continue
        is_adjacent, gaps, overhead = _joining_cost(sentences, index, picked, costs, open_documents)
        if length > costs.max_length(free_tokens - overhead):
            all_fit = False
            continue
        text = sentences.sentence_text(index)
        if text in picked_texts or (len(text) <= MAX_SCRAP_CHARS and not is_adjacent and _is_scrap(sentences, index)):
            continue
        added = (index, *gaps)
        cost = overhead + sum([costs.estimate(at) for at in added])
        if cost > free_tokens:
            all_fit = False
            continue
        free_tokens -= cost
        max_length = costs.max_length(free_tokens)
        picked.update(added)
        open_documents.add(document_ids[index])
        picked_texts.add(text)
        for neighbor in (min(added) - 1, max(added) + 1) if adjacency_ranks else ():
            if neighbor in adjacency_ranks and _touches_picked(sentences, neighbor, picked):
                insort(promoted, (-adjacency_ranks[neighbor], neighbor))
    return Picked(picked, max_tokens - free_tokens, all_fit)


def _merge_promoted(order: Sequence[int], promoted: list[tuple[float, int]]) -> Iterator[int]:
    """The places in `order`, and at their rank those that have `promoted`, which are sorted from the last one on."""
    for rank, index in enumerate(order):
        while promoted and -promoted[-1][0] < rank:
            yield promoted.pop()[1]
        yield index
    while promoted:
        yield promoted.pop()[1]


def _joining_cost(
    sentences: ScoredSentences, index: int, picked: Collection[int], costs: TokenCosts, open_documents: Collection[str]
) -> tuple[bool, Sequence[int], float]:
    """How a unit joins those that are taken: whether it is linked, the gaps that it closes, and its tokens beside text.

    Alone it needs a marker more, beside one that is taken none; each gap that it closes saves one.
    """
    document_id = sentences.document_ids[index]
    if document_id not in open_documents:
        return False, (), MARKER_COST + costs.header_cost(document_id)
    is_adjacent, gaps = _touches_picked(sentences, index, picked), _closed_gaps(sentences, index, picked)
    return is_adjacent, gaps, MARKER_COST * (1 - is_adjacent - len(gaps))


def _closed_gaps(sentences: ScoredSentences, index: int, picked: Collection[int]) -> list[int]:
    """The units, at most one on each side, that alone stand between the one at `index` and one that is taken."""
    continues = sentences.continues
    gaps: list[int] = []
    if index - 2 in picked and index - 1 not in picked and continues[index] and continues[index - 1]:
        gaps.append(index - 1)
    if index + 2 in picked and index + 1 not in picked and continues[index + 1] and continues[index + 2]:
        gaps.append(index + 1)
    return gaps


def _touches_picked(sentences: ScoredSentences, index: int, picked: Collection[int]) -> bool:
    """True if the unit at `index` continues one that is taken, or is continued by one."""
    continues = sentences.continues
    return (index - 1 in picked and continues[index]) or (index + 1 in picked and continues[index + 1])


def _is_scrap(sentences: ScoredSentences, index: int) -> bool:
    """True if the short unit at `index` says less than a marker: it is no line among others of its length.

    It is none if the best hit says no more than that: "Paid." may be the answer.
    """
    if index in sentences.short_best_hit_range:
        return False
    neighbors = [index - 1] if sentences.continues[index] else []
    if index + 1 < len(sentences.continues) and sentences.continues[index + 1]:
        neighbors.append(index + 1)
    return bool(neighbors) and min(len(sentences.sentence_text(at)) for at in neighbors) > MAX_SCRAP_CHARS


def restrict_to_sentences(
    sentences: ScoredSentences, indexes: Collection[int], protected: Collection[int] = frozenset()
) -> dict[int, Candidate]:
    """The candidates that have the chosen units, by key, each reduced to its share of them.

    Text that two chunks share is the first one's, but for a hit that has nothing else: what is `protected` of it, no
    other one has.
    """
    forms: dict[int, Candidate] = {}
    covered_to: dict[int, int] = {}
    shared_hits: list[CandidateSpan] = []
    ascending = sorted(indexes)
    for candidate_span in sentences.candidate_spans:
        first = bisect_left(ascending, candidate_span.sentence_range.start)
        own_indexes = ascending[first : bisect_left(ascending, candidate_span.sentence_range.stop, first)]
        if not own_indexes:
            continue
        if len(own_indexes) == len(candidate_span.sentence_range):
            forms[candidate_span.candidate.key] = candidate_span.candidate
            covered_to |= dict.fromkeys(own_indexes, candidate_span.end)
        elif spans := _own_spans(candidate_span, own_indexes, sentences.boundaries, covered_to):
            forms[candidate_span.candidate.key] = _with_spans(candidate_span, spans)
        elif candidate_span.candidate.is_hit and (
            spans := _own_spans(candidate_span, own_indexes, sentences.boundaries, {})
        ):
            forms[candidate_span.candidate.key] = _with_spans(candidate_span, spans)
            shared_hits += [candidate_span] if any(index in protected for index in own_indexes) else []
    for candidate_span in shared_hits:
        _reserve_for_hit(candidate_span, sentences.candidate_spans, forms)
    return forms


def _reserve_for_hit(hit: CandidateSpan, candidate_spans: Sequence[CandidateSpan], forms: dict[int, Candidate]) -> None:
    """Leave what the `hit` has in `forms` to it alone, but for hits that have nothing else themselves."""
    own = [(hit.start + start, hit.start + end) for start, end in forms[hit.candidate.key].spans]
    for other in candidate_spans:
        form = forms.get(other.candidate.key)
        if form is None or other is hit or other.end <= own[0][0] or own[-1][1] <= other.start:
            continue
        spans = [(other.start + start, other.start + end) for start, end in form.spans]
        remaining = [
            (start - other.start, end - other.start) for span in spans for start, end in subtract_spans(span, own)
        ]
        if any(other.candidate.chunk.text[start:end].strip() for start, end in remaining):
            forms[other.candidate.key] = _with_spans(other, tuple(remaining))
        elif not other.candidate.is_hit:
            del forms[other.candidate.key]


def _with_spans(candidate_span: CandidateSpan, spans: tuple[Span, ...]) -> Candidate:
    return candidate_span.candidate._replace(kept_spans=spans, shortened_by="sentence")


def _own_spans(
    candidate_span: CandidateSpan, indexes: Sequence[int], boundaries: Sequence[int], covered_to: dict[int, int]
) -> tuple[Span, ...]:
    """The slices of the candidate's own text in the units at `indexes`, without earlier and blank ones."""
    spans: list[Span] = []
    for index in indexes:
        start, stop = (
            max(boundaries[index], candidate_span.start, covered_to.get(index, 0)),
            min(boundaries[index + 1], candidate_span.end),
        )
        if (
            start < stop
            and candidate_span.candidate.chunk.text[start - candidate_span.start : stop - candidate_span.start].strip()
        ):
            spans.append((start - candidate_span.start, stop - candidate_span.start))
            covered_to[index] = stop
    return merge_spans(spans)


MAX_TRIES = 6
"""Times that the whole is counted at most; the second or third try mostly hits."""
TARGET_SHARE = 0.995
CLOSE_ENOUGH = 0.98
"""Parts of the budget: where a try aims, so that it is not just over, and where another would gain next to nothing."""


class PackResult(NamedTuple):
    """The candidates that have any of the packed units, reduced to these."""

    layout: Layout
    """They stand in it."""
    forms: dict[int, Candidate]
    """By key."""


def pack_sentences(
    layout: Layout,
    sentences: ScoredSentences,
    chars_per_token: float,
    required: Collection[int] = frozenset(),
    excluded: Collection[int] = frozenset(),
    continuity_bonus: float = 0.0,
) -> PackResult | None:
    """Pack the best units that fit, the first `required_count` before all others, none `excluded`; None if none fits.

    `chars_per_token` is a guess to begin with. A unit is worth `continuity_bonus` more beside one that is taken.
    """
    best: PackResult | None = None
    order = sentences.indexes_by_score[: int((sentences.scores >= sentences.cutoff).sum())]
    if required or excluded:
        others = [index for index in order if index not in required and index not in excluded]
        order = [*(index for index in sentences.indexes_by_score if index in required), *others]
    adjacency_ranks = _adjacency_ranks(order, sentences, len(required), continuity_bonus) if continuity_bonus else {}
    costs = TokenCosts(layout, sentences, chars_per_token)
    free_tokens = layout.max_tokens - layout.token_count
    trial_tokens = min(float(free_tokens), layout.max_characters / chars_per_token)
    too_few, too_many = 0.0, math.inf
    for _ in range(MAX_TRIES):
        picked = pick_greedily(sentences, order, trial_tokens, costs, adjacency_ranks)
        forms = restrict_to_sentences(sentences, picked.indexes, required)
        if not forms:
            break
        candidates = list(forms.values())
        added_tokens = layout.token_count_with(candidates) - layout.token_count
        if layout.fits(candidates):
            best = PackResult(layout.with_candidates(candidates), forms)
            if added_tokens >= free_tokens * CLOSE_ENOUGH or picked.all_fit:
                break
            too_few = trial_tokens
        else:
            too_many = picked.tokens  # with any room from there on it takes the same
        # In proportion; where that was tried already, or characters are the limit, half-way between the bounds.
        trial_tokens *= TARGET_SHARE * free_tokens / max(added_tokens, 1)
        if not too_few < trial_tokens < too_many:
            trial_tokens = (too_few + too_many) / 2
        if too_many - too_few < MIN_TOKENS:
            break
    return best


def _adjacency_ranks(
    order: Sequence[int], sentences: ScoredSentences, required_count: int, continuity_bonus: float
) -> dict[int, float]:
    """The rank in `order` of each unit if it had `continuity_bonus` more, but never before the required ones."""
    others = order[required_count:]
    ascending = -sentences.scores[others]
    ranks = ascending.searchsorted(ascending - continuity_bonus) + (required_count - 0.5)
    return dict(zip(others, ranks.tolist(), strict=True))
