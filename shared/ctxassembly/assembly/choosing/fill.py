"""What fits: the only stage that drops for the budget.

Items are tried best first, each as the context would really be rendered with it. With granularity `document` the
first one that doesn't fit ends it, which is dropping whole documents from the tail; with `passage` and `chunk` an item
is left out only if it doesn't fit beside everything ranked above it, and filling goes on, unless `at_edge` ends it. Of
the best passage its chunks are tried where it doesn't fit at all. Nothing lesser stands in the place of the best
candidate: where it doesn't fit whole, it is shortened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from ctxassembly.assembly.choosing.cut import beginning, fitting_end, fitting_excerpt, last_fitting
from ctxassembly.assembly.choosing.scale import (
    BestSentences,
    Filled,
    Scale,
)
from ctxassembly.data.candidates import Candidate, LeftOut
from ctxassembly.data.pieces import Header
from ctxassembly.data.reasons import FOR_BUDGET
from ctxassembly.settings.config import AtEdge, Granularity
from ctxassembly.text.sentences import sentence_ends
from ctxassembly.tokens.lower_bound import MOST_CHARS_PER_TOKEN

MEANINGFUL_RESTS = 3
"""A cut chunk must have this many times the tokens below which a whole one says too little (published)."""
AIM = 0.97
"""Part of the room that is filled at once: headers take some, and what is too much is rendered for nothing."""
HEADER_SHARE = 4
"""A header that takes more than a quarter of the budget is shortened before the text is cut."""
GAP_TOKENS = 4
"""What a marker takes at most, line breaks included."""


class _Edge(NamedTuple):
    """What becomes of an item that doesn't fit, as `fill` describes."""

    at_edge: AtEdge
    min_chunk_tokens: int
    cut_hits: bool
    forms: Mapping[int, Candidate]
    best_sentences: BestSentences | None
    answers: BestSentences | None


_FINER: dict[Granularity, tuple[Granularity, ...]] = {
    "document": ("document", "passage", "chunk"),
    "passage": ("passage", "chunk"),
    "chunk": ("chunk",),
}


def fill(
    scale: Scale,
    candidates: Sequence[Candidate],
    granularity: Granularity,
    *,
    at_edge: AtEdge = "skip",
    min_chunk_tokens: int = 0,
    cut_hits: bool = False,
    forms: Mapping[int, Candidate] = MappingProxyType({}),
    best_sentences: BestSentences | None = None,
    answers: BestSentences | None = None,
) -> Filled:
    """Takes what fits of `candidates`, which are best first, hits before neighbours.

    Of an item that doesn't fit, the `forms` that its candidates have besides (by key) are taken if they do; else as
    many of its `best_sentences` as do. `at_edge` says what follows it: the next one, nothing, or, if no sentence was
    chosen, as much of its beginning as fits and then nothing. With `cut_hits` that much of a hit is taken in any case.

    If not even the first item fits, its parts are tried: of a document its passages, then its chunks; of a passage its
    chunks; of the best chunk the best of its `answers`, else its beginning. If that needs a shorter header, nothing is
    taken: see `shorten`.
    """
    left_out: dict[int, LeftOut] = {}
    shortened: dict[int, Candidate] = {}
    by_document = granularity == "document"
    none_yet = scale.is_empty
    edge = _Edge(at_edge, min_chunk_tokens, cut_hits, forms, best_sentences, answers)
    chars_per_token = len(candidates[0].text) / max(scale.text_tokens(candidates[0]), 1) if candidates else 1.0
    for grain in _FINER[granularity] if candidates else ():
        items = _items(candidates, grain)
        tried = _take_together(scale, items, chars_per_token)
        taken = {candidate.key for item in items[:tried] for candidate in item}
        rest = [candidate for item in items[tried:] for candidate in item]
        if _may_fit_together(rest, scale) and scale.fits(rest):
            scale.take(rest)
            return Filled({}, {})
        # The published rule cuts the first document: if not even the best part of it fits, a smaller part of that one
        # is next, never a lesser part beside it.
        full = by_document and not tried
        for item in _one_by_one(items, tried, parts=grain == "passage" and not full and not best_sentences):
            may_fit = not full and scale.may_fit(item)
            if may_fit and scale.fits(item):
                scale.take(item)
                taken.update(candidate.key for candidate in item)
                continue
            added = scale.weigh(item) - scale.token_count if may_fit else round(_length(item) / chars_per_token)
            left_out |= _left_out(item, added)
            best = none_yet and not taken and len(item) == 1 and item[0] is candidates[0]
            rests = _in_part(scale, item, edge, best=best, full=full)
            if rests:
                scale.take(rests)
                found = {rest.key: rest for rest in rests}
                shortened |= {each.key: found[each.key] for each in item if found.get(each.key, each) is not each}
                taken |= found.keys()
            elif none_yet and not taken and not full:
                break  # nothing lesser stands in the place of the best one: its parts are next
            full = full or at_edge != "skip" or grain == "document"
        if taken:  # not its tokens: a guess such as len(text) // 4 finds none in a short text
            return Filled({key: why for key, why in left_out.items() if key not in taken}, shortened)
        if grain == "document":
            chosen = {candidate.key for candidate in items[0]}
            candidates = [candidate for candidate in candidates if candidate.key in chosen]
    waiting = {
        each.key: LeftOut(FOR_BUDGET, scale.text_tokens(each)) for each in candidates if each.key not in left_out
    }
    return Filled(left_out | waiting, shortened)


def _in_part(scale: Scale, item: Sequence[Candidate], edge: _Edge, *, best: bool, full: bool) -> Sequence[Candidate]:
    """What of an item that doesn't fit is taken in its place: of the `best` chunk of all as much as fits."""
    rests: Sequence[Candidate] = ()
    if edge.best_sentences and (best or not full):
        rests = _compressed(scale, item, edge.forms, edge.best_sentences)
    if best:
        if edge.answers and not rests:
            rests = [each._replace(shortened_by="sentence") for each in fitting_excerpt(edge.answers(item), scale.fits)]
        return rests or _best_shortened(scale, item[0])
    if full or rests or not (edge.at_edge == "truncate" or (edge.cut_hits and item[0].is_hit)):
        return rests
    return _rest_of(item[0], scale, edge.min_chunk_tokens, worth_a_header=edge.at_edge == "skip")


def _may_fit_together(candidates: Sequence[Candidate], scale: Scale) -> bool:
    """Whether `candidates` may fit all at once although the first one doesn't: a gap that they fill has no marker."""
    room = scale.max_tokens - scale.token_count + GAP_TOKENS * len(candidates)
    return 0 < _length(candidates) <= room * MOST_CHARS_PER_TOKEN * 2  # every character twice, for the overlap


def _compressed(
    scale: Scale, item: Sequence[Candidate], forms: Mapping[int, Candidate], best_sentences: BestSentences
) -> Sequence[Candidate]:
    short = [forms.get(each.key, each) for each in item]
    if any(each.key in forms for each in item) and scale.fits(short):
        return short
    return fitting_excerpt(best_sentences(short), scale.fits)


def _best_shortened(scale: Scale, candidate: Candidate) -> Sequence[Candidate]:
    """The best candidate made to fit below its full header; nothing if that has to be shortened, too."""
    alone = shorten(scale, candidate)
    return [alone[0]] if alone and scale.fits([alone[0]]) else []


def _rest_of(
    candidate: Candidate, scale: Scale, min_chunk_tokens: int, *, worth_a_header: bool = False
) -> Sequence[Candidate]:
    """As many of the candidate's sentences as fit beside what is taken; nothing if they say too little.

    What is `worth_a_header` has at least as many tokens as are written around it.
    """
    room = (scale.max_tokens - scale.token_count) * MOST_CHARS_PER_TOKEN
    within = candidate.text[:room]
    ends = [end for end in sentence_ends(within) if end < len(within.rstrip())]  # the room ends no sentence
    end = last_fitting(ends, lambda end: scale.fits([beginning(candidate, end, "budget")]))
    if not candidate.text[:end].strip():
        return ()
    rest = beginning(candidate, end, "budget")
    tokens = scale.text_tokens(rest)
    if worth_a_header and tokens * 2 < scale.weigh([rest]) - scale.token_count:
        return ()
    return [rest] if tokens >= MEANINGFUL_RESTS * min_chunk_tokens else ()


def _take_together(scale: Scale, items: Sequence[Sequence[Candidate]], chars_per_token: float) -> int:
    """Takes the longest beginning of `items` that fits, and returns how many that are.

    How many are weighed at once follows from what they add and from what the texts before them took, and where that
    was too many, half of them.
    """
    lengths = scale.lengths(candidate for item in items for candidate in item)
    adds: list[int] = []
    taken, end = 0, len(items)
    most = end
    characters = 0
    while taken < end:
        room = (scale.max_tokens - scale.token_count) * chars_per_token * AIM
        batch: list[Candidate] = []
        length, upto = 0, taken
        while upto < min(end, taken + most):
            if upto == len(adds):
                adds.append(sum(islice(lengths, len(items[upto]))))
            if batch and length + adds[upto] > room:
                break
            batch += items[upto]
            length += adds[upto]
            upto += 1
        if (upto == taken + 1 and not scale.may_fit(batch)) or not scale.fits(batch):
            end, most = upto - 1, max((upto - taken) // 2, 1)
            continue
        scale.take(batch)
        taken = upto
        characters += length
        chars_per_token = characters / max(scale.token_count, 1)
    return taken


def _one_by_one(items: Sequence[list[Candidate]], tried: int, *, parts: bool) -> Sequence[list[Candidate]]:
    """The items that were not taken together. If not even the best one was, it may be in `parts`.

    Were it dropped whole, only lesser ones would stand.
    """
    if tried or not parts:
        return items[tried:]
    return [*([candidate] for candidate in items[0]), *items[1:]]


def _length(item: Sequence[Candidate]) -> int:
    return sum([len(candidate.text) for candidate in item])


def runs(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """`candidates` by the passages that they make, each in their order: it comes where the first of it does."""
    run_of: dict[int, int] = {}
    run, before = 0, None
    for candidate in sorted(candidates, key=lambda c: (c.chunk.document_id, c.position)):
        at = (candidate.chunk.document_id, candidate.position)
        run += before not in (at, (at[0], at[1] - 1))
        run_of[candidate.key] = run
        before = at
    return _grouped(candidates, [run_of[candidate.key] for candidate in candidates])


def _items(candidates: Sequence[Candidate], grain: Granularity) -> list[list[Candidate]]:
    """The candidates in items of that size, by the best candidate in each."""
    if grain == "chunk":
        return [[candidate] for candidate in candidates]
    if grain == "passage":
        return runs(candidates)
    return _grouped(candidates, [candidate.chunk.document_id for candidate in candidates])


def _grouped(candidates: Sequence[Candidate], keys: Sequence[object]) -> list[list[Candidate]]:
    groups: dict[object, list[Candidate]] = {}
    for candidate, key in zip(candidates, keys, strict=True):
        groups.setdefault(key, []).append(candidate)
    return list(groups.values())


def _left_out(item: Sequence[Candidate], tokens: int) -> dict[int, LeftOut]:
    """Each candidate's share of the item's `tokens`, by the length of its text; the shares add up exactly."""
    if len(item) == 1:
        return {item[0].key: LeftOut(FOR_BUDGET, tokens)}
    length = _length(item)
    left_out: dict[int, LeftOut] = {}
    characters = given = 0
    for candidate in item:
        characters += len(candidate.text)
        upto = tokens * characters // length
        left_out[candidate.key] = LeftOut(FOR_BUDGET, upto - given)
        given = upto
    return left_out


def shorten(scale: Scale, candidate: Candidate) -> tuple[Candidate, Header] | None:
    """The best candidate of a budget in which nothing fits whole, made to fit, and how much header stays.

    The summary goes first, then page and path, then the label, as long as the header takes more than a quarter of the
    budget; then the text is cut at a sentence, else at a word, else at a character. None if not even one fits.
    """
    text = candidate.text
    begin = len(text) - len(text.lstrip())
    upto = partial(beginning, candidate, by="budget")

    def fits(end: int, *, level: Header) -> bool:
        return scale.fits([upto(end)], level)

    reach = begin + scale.max_tokens * MOST_CHARS_PER_TOKEN
    while reach < len(text) and fits(reach, level=Header.NONE):
        reach *= 2
    for level in Header:
        if reach >= len(text) and fits(len(text), level=level):
            return candidate, level
        if level > Header.FULL and scale.header_share(upto(begin + 1), level) * HEADER_SHARE <= 1:
            end = fitting_end(text[:reach], begin, partial(fits, level=level))
            if end:
                return upto(end), level
    return None
