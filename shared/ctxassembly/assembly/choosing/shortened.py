"""The part of an item that doesn't fit: a form that a model chose, its best sentences, or its beginning.

The order is that of trust. A model's excerpt was asked for; the best sentences answer the query by its words; a
beginning is only what comes first. For the best candidate of all there is always a part, however small the budget:
then the header gives way before the text does.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from ctxassembly.assembly.choosing.cut import BestSentences, beginning, fitting_end, fitting_excerpt, last_fitting
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.config.assembly import AtEdge
from ctxassembly.data.candidates import Candidate, Header
from ctxassembly.text.sentences import sentence_ends
from ctxassembly.tokens.counter import MOST_CHARS_PER_TOKEN

MEANINGFUL_RESTS = 3
"""A cut chunk must have this many times the tokens below which a whole one says too little (published)."""
HEADER_SHARE = 4
"""A header that takes more than a quarter of the budget is shortened before the text is cut."""


class Edge(NamedTuple):
    """The rules for an item that doesn't fit."""

    at_edge: AtEdge = "skip"
    """The next item follows, none does, or its beginning stands and then none does."""
    cuts_hits: bool = False
    """True if the beginning of a hit stands, whatever follows."""
    min_chunk_tokens: int = 0
    forms: Mapping[int, Candidate] = MappingProxyType({})
    """The excerpts that a model made of candidates, by key: taken before anything else if they fit."""
    sentences: BestSentences | None = None
    """Ranks the sentences of any item that doesn't fit; as many as fit are taken."""
    answers: BestSentences | None = None
    """The same for the best chunk of all alone."""

    @property
    def ends(self) -> bool:
        """True if nothing follows an item that doesn't fit."""
        return self.at_edge != "skip"


def in_part(layout: Layout, item: Sequence[Candidate], edge: Edge) -> Sequence[Candidate]:
    """The part of `item` that fits beside what stands; nothing if there is none worth its room."""
    if (rests := _compressed(layout, item, edge)) or not (
        edge.at_edge == "truncate" or (edge.cuts_hits and item[0].is_hit)
    ):
        return rests
    return _rest_of(layout, item[0], edge)


def best_in_part(layout: Layout, best: Candidate, edge: Edge) -> Sequence[Candidate]:
    """The part of the best candidate of all that fits below its full header; none if that has to be shortened, too."""
    if rests := _compressed(layout, [best], edge):
        return rests
    if edge.answers and (rests := fitting_excerpt(edge.answers([best]), layout.fits)):
        return [rest._replace(shortened_by="sentence") for rest in rests]
    alone = shorten(layout, best)
    return [alone[0]] if alone and layout.fits([alone[0]]) else []


def shorten(layout: Layout, candidate: Candidate) -> tuple[Candidate, Header] | None:
    """The best candidate of a budget in which nothing fits whole, made to fit, and how much header stays.

    The summary goes first, then page and path, then the label, as long as the header takes more than a quarter of the
    budget; then the text is cut at a sentence, else at a word, else at a character. None if not even one fits.
    """
    text = candidate.text
    begin = len(text) - len(text.lstrip())
    upto = partial(beginning, candidate, by="budget")

    def fits(end: int, *, level: Header) -> bool:
        return layout.fits([upto(end)], level)

    # No text of more characters fits, unless a counter finds most of them free: then the reach is doubled.
    reach = begin + layout.max_tokens * MOST_CHARS_PER_TOKEN
    while reach < len(text) and fits(reach, level=Header.NONE):
        reach *= 2
    for level in Header:
        if reach >= len(text) and fits(len(text), level=level):
            return candidate, level
        if level > Header.FULL and layout.header_share(upto(begin + 1), level) * HEADER_SHARE <= 1:
            end = fitting_end(text[:reach], begin, partial(fits, level=level))
            if end:
                return upto(end), level
    return None


def _compressed(layout: Layout, item: Sequence[Candidate], edge: Edge) -> Sequence[Candidate]:
    """The forms of `item` that a model chose, or as many of its best sentences as fit."""
    if edge.sentences is None:
        return ()
    short = [edge.forms.get(candidate.key, candidate) for candidate in item]
    if any(candidate.key in edge.forms for candidate in item) and layout.fits(short):
        return short
    return fitting_excerpt(edge.sentences(short), layout.fits)


def _rest_of(layout: Layout, candidate: Candidate, edge: Edge) -> Sequence[Candidate]:
    """The candidate's first sentences, as many as fit beside what stands; nothing if they say too little."""
    text = candidate.text
    if not layout.may_fit([beginning(candidate, len(text) - len(text.lstrip()) + 1, "budget")]):
        return ()  # mostly there is no room for another header
    room = (layout.max_tokens - layout.token_count) * MOST_CHARS_PER_TOKEN
    within = text[:room]
    ends = [end for end in sentence_ends(within) if end < len(within.rstrip())]  # the room ends no sentence
    tried: dict[int, list[Candidate]] = {}

    def fits(end: int) -> bool:
        tried[end] = [beginning(candidate, end, "budget")]
        return layout.fits(tried[end])

    end = last_fitting(ends, fits, guess=bisect(ends, room // 2))
    if not text[:end].strip():
        return ()
    rests = tried[end]
    tokens = layout.text_tokens(rests[0])
    # Where filling goes on, a rest has to be worth more than what is written around it: others wait for the room.
    if not edge.ends and tokens * 2 < layout.weigh(rests) - layout.token_count:
        return ()
    return rests if tokens >= MEANINGFUL_RESTS * edge.min_chunk_tokens else ()
