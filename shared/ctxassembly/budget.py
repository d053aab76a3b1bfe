"""What fits: the only stage that drops.

Items are tried best first, each as the context would really be rendered with it. With granularity `document` the
first one that doesn't fit ends it, which is dropping whole documents from the tail; with `passage` and `chunk` an item
is left out only if it doesn't fit beside everything ranked above it, and filling goes on, unless `at_edge` ends it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Protocol

from ctxassembly.config import AtEdge, Granularity
from ctxassembly.types import Candidate, Header

MEANINGFUL_RESTS = 3
"""A cut chunk must have this many times the tokens below which a whole one says too little (published)."""
HEADER_SHARE = 4
"""A header that takes more than a quarter of the budget is shortened before the text is cut."""
TYPICAL_CHARS_PER_TOKEN = 4.0
"""Of English prose. A first guess at how many items fit together; nothing depends on it but time."""
MOST_CHARS_PER_TOKEN = 8
"""Where the search for a cut begins: twice what a token of English prose has."""

_FINER: dict[Granularity, tuple[Granularity, ...]] = {
    "document": ("document", "passage", "chunk"),
    "passage": ("passage", "chunk"),
    "chunk": ("chunk",),
}
# A run of stops is tried from its first one only: from each of them, a long run would take quadratic time.
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’»)\]]*(?=\s)|[。！？]+[」』”）]*|\S(?=\s*\n)")
_WORD_END = re.compile(r"\S(?=\s)")


class Scale(Protocol):
    """A context in the making, which can be weighed before something is taken."""

    token_count: int

    """Tokens of everything taken so far."""

    def at_least(self, candidates: Sequence[Candidate]) -> int:
        """A lower bound of the tokens of the candidates' texts, found without counting."""

    def weigh(self, candidates: Sequence[Candidate], level: Header = ...) -> int:
        """The tokens of the whole context if `candidates` were taken as well."""

    def header_cost(self, candidate: Candidate, level: Header) -> int:
        """The tokens that a header takes around `candidate` alone."""

    def take(self, candidates: Sequence[Candidate]) -> None:
        """Take `candidates`."""

    def text_tokens(self, candidate: Candidate) -> int:
        """The tokens of the candidate's text alone."""


class LeftOut(NamedTuple):
    """Why a candidate was left out, and what it would have added to the context."""

    reason: str
    tokens: int


class Filled(NamedTuple):
    """What came of filling, by `id(candidate)`; every other candidate was taken."""

    left_out: dict[int, LeftOut]
    cut: dict[int, Candidate]
    """What was taken in place of a candidate that only fits in part."""


def fill(
    scale: Scale,
    candidates: Sequence[Candidate],
    granularity: Granularity,
    max_tokens: int,
    *,
    at_edge: AtEdge = "skip",
    min_chunk_tokens: int = 0,
) -> Filled:
    """Takes what fits of `candidates`, which are best first, hits before neighbours.

    If not even the first item fits, its parts are tried: of a document its passages, then its chunks. Nothing at all
    may fit; then see `shorten`. `at_edge` says what follows an item that doesn't fit. Where not everything fits,
    chunks of fewer than `min_chunk_tokens` make room for others first, unless there are no others.
    """
    left_out: dict[int, LeftOut] = {}
    cut: dict[int, Candidate] = {}
    if min_chunk_tokens and scale.weigh(candidates) > max_tokens:
        lengths = {id(candidate): scale.text_tokens(candidate) for candidate in candidates}
        worthwhile = [candidate for candidate in candidates if lengths[id(candidate)] >= min_chunk_tokens]
        if worthwhile:
            left_out = {
                key: LeftOut("too short", length) for key, length in lengths.items() if length < min_chunk_tokens
            }
            candidates = worthwhile
    by_document = granularity == "document"
    for grain in _FINER[granularity] if candidates else ():
        items = _items(candidates, grain)
        tried = _take_together(scale, items, max_tokens)
        taken = {id(candidate) for item in items[:tried] for candidate in item}
        # The published rule cuts the first document: if not even the best part of it fits, a smaller part of that one
        # is next, never a lesser part beside it.
        full = by_document and not tried
        for item in items[tried:]:
            floor = scale.at_least(item)
            added = floor if floor > max_tokens else scale.weigh(item) - scale.token_count
            if not full and scale.token_count + added <= max_tokens:
                scale.take(item)
                taken.update(id(candidate) for candidate in item)
                continue
            left_out |= {key: LeftOut("budget", share) for key, share in _shares(item, added).items()}
            if not full and at_edge == "truncate" and (rest := _rest_of(item[0], scale, max_tokens, min_chunk_tokens)):
                scale.take((rest,))
                taken.add(id(item[0]))
                cut[id(item[0])] = rest
            full = full or at_edge != "skip" or grain == "document"
        if taken:  # not its tokens: a guess such as len(text) // 4 finds none in a short text
            return Filled({key: why for key, why in left_out.items() if key not in taken}, cut)
        if grain == "document":
            chosen = {id(candidate) for candidate in items[0]}
            candidates = [candidate for candidate in candidates if id(candidate) in chosen]
    return Filled(left_out, cut)


def _rest_of(candidate: Candidate, scale: Scale, max_tokens: int, min_chunk_tokens: int) -> Candidate | None:
    """As many of the candidate's sentences as fit beside what is taken; None if they say too little."""
    text = candidate.chunk.text
    room = (max_tokens - scale.token_count) * MOST_CHARS_PER_TOKEN

    def fits(end: int) -> bool:
        return scale.weigh((_upto(candidate, end),)) <= max_tokens

    ends = sentence_ends(text[:room])
    rest = _upto(candidate, last_fitting(ends, fits))
    if not rest.chunk.text.strip() or scale.text_tokens(rest) < MEANINGFUL_RESTS * min_chunk_tokens:
        return None
    return rest


def _upto(candidate: Candidate, end: int) -> Candidate:
    text = candidate.chunk.text
    return (
        candidate if end >= len(text) else replace(candidate, chunk=replace(candidate.chunk, text=text[:end]), cut=True)
    )


def _take_together(scale: Scale, items: Sequence[Sequence[Candidate]], max_tokens: int) -> int:
    """Takes the longest beginning of `items` that fits, and returns how many that are.

    How many are weighed at once follows from the length of their texts and from what the texts before them took.
    """
    taken, end = 0, len(items)
    characters, chars_per_token = 0, TYPICAL_CHARS_PER_TOKEN
    while taken < end:
        room = (max_tokens - scale.token_count) * chars_per_token
        batch, length, upto = list(items[taken]), _length(items[taken]), taken + 1
        while upto < end and length + _length(items[upto]) <= room:
            batch += items[upto]
            length += _length(items[upto])
            upto += 1
        if scale.at_least(batch) > max_tokens or scale.weigh(batch) > max_tokens:
            end = upto - 1
            continue
        scale.take(batch)
        taken = upto
        characters += length
        chars_per_token = characters / max(scale.token_count, 1)
    return taken


def _length(item: Sequence[Candidate]) -> int:
    return sum(len(candidate.chunk.text) for candidate in item)


def _items(candidates: Sequence[Candidate], grain: Granularity) -> list[list[Candidate]]:
    """The candidates in items of that size, by the best candidate in each."""
    if grain == "chunk":
        return [[candidate] for candidate in candidates]
    run_of: dict[int, int] = {}
    if grain == "passage":
        run, before = 0, None
        for candidate in sorted(candidates, key=lambda c: (c.chunk.document_id, c.position)):
            at = (candidate.chunk.document_id, candidate.position)
            run += before not in (at, (at[0], at[1] - 1))
            run_of[id(candidate)] = run
            before = at
    items: dict[object, list[Candidate]] = {}
    for candidate in candidates:
        key = run_of[id(candidate)] if grain == "passage" else candidate.chunk.document_id
        items.setdefault(key, []).append(candidate)
    return list(items.values())


def _shares(item: Sequence[Candidate], tokens: int) -> dict[int, int]:
    """What each candidate has of the item's `tokens`, by the length of its text; the shares add up exactly."""
    length = _length(item)
    shares: dict[int, int] = {}
    characters = given = 0
    for candidate in item:
        characters += len(candidate.chunk.text)
        upto = tokens * characters // length
        shares[id(candidate)] = upto - given
        given = upto
    return shares


def shorten(scale: Scale, candidate: Candidate, max_tokens: int) -> tuple[Candidate, Header] | None:
    """The best candidate of a budget in which nothing fits whole, made to fit, and how much header stays.

    The summary goes first, then page and path, then the label, as long as the header takes more than a quarter of the
    budget; then the text is cut at a sentence, else at a word, else at a character. None if not even one fits.
    """
    text = candidate.chunk.text
    begin = len(text) - len(text.lstrip())
    upto = partial(_upto, candidate)

    def fits(end: int, *, level: Header) -> bool:
        return scale.weigh([upto(end)], level) <= max_tokens

    reach = begin + max_tokens * MOST_CHARS_PER_TOKEN
    while reach < len(text) and fits(reach, level=Header.NONE):
        reach *= 2
    for level in Header:
        if reach >= len(text) and fits(len(text), level=level):
            return candidate, level
        if level > Header.FULL and scale.header_cost(upto(begin + 1), level) * HEADER_SHARE <= max_tokens:
            end = _cut(text[:reach], begin, partial(fits, level=level))
            if end:
                return upto(end), level
    return None


def _cut(text: str, begin: int, fits: Callable[[int], bool]) -> int:
    """Where to cut after `begin` so that the text up to there fits: at a sentence, else a word, else a character.

    0 if nowhere.
    """
    for ends in (
        sentence_ends(text, begin),
        [match.end() for match in _WORD_END.finditer(text, begin)],
        range(begin + 1, len(text)),
    ):
        if end := last_fitting(ends, fits):
            return end
    return 0


def sentence_ends(text: str, begin: int = 0) -> list[int]:
    """Where the sentences and lines of `text` end, ascending; that of the last one only if something follows it."""
    return [match.end() for match in _SENTENCE_END.finditer(text, begin)]


def last_fitting(ends: Sequence[int], fits: Callable[[int], bool]) -> int:
    """The last of the ascending `ends` that fits, by halving; 0 if none.

    Where a tokenizer counts a longer text lower than a shorter one, a later end may be missed; what comes back fits.
    """
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        if fits(ends[middle]):
            low = middle + 1
        else:
            high = middle
    return ends[low - 1] if low else 0
