"""Where text comes from that a peer has changed: other white space, sentences in another order or twice, marks at gaps.

Marks are part of no source. White space counts for nothing in evidence, so only its changes end a run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ctxassembly import Chunk
from quality.data import Span

_TOKEN = re.compile(r"(\s*)(\w+|\.{3}|[^\w\s])")
"""The dots of a mark are one token: none of them is the end of a sentence."""


class _Token(NamedTuple):
    """A word or a mark, with the white space before it."""

    gap: str
    text: str
    start: int
    end: int


def source_runs(text: str, chunk: Chunk) -> tuple[Span, ...]:
    """Return the runs of `chunk` that are in `text`, in reading order; of several the longest from each word on."""
    written, source = _tokens(text), _tokens(chunk.text)
    places: dict[str, list[int]] = {}
    for place, token in enumerate(source):
        places.setdefault(token.text, []).append(place)
    runs: list[Span] = []
    at = 0
    while at < len(written):
        candidates = places.get(written[at].text, ())
        length, place = max(((_shared(written, at, source, place), place) for place in candidates), default=(0, 0))
        runs += _verbatim(written[at : at + length], source[place : place + length], chunk)
        at += max(length, 1)
    return tuple(runs)


def _tokens(text: str) -> list[_Token]:
    return [_Token(match[1], match[2], *match.span(2)) for match in _TOKEN.finditer(text)]


def _shared(written: Sequence[_Token], at: int, source: Sequence[_Token], place: int) -> int:
    """Return how many tokens are the same from these two on."""
    length = 0
    while at + length < len(written) and place + length < len(source):
        if written[at + length].text != source[place + length].text:
            break
        length += 1
    return length


def _verbatim(written: Sequence[_Token], source: Sequence[_Token], chunk: Chunk) -> list[Span]:
    """Return the runs of tokens that are the same, ended where the white space between them differs."""
    ends = [0, *(n for n in range(1, len(source)) if source[n].gap != written[n].gap), len(source)]
    start = chunk.start or 0
    return [
        Span(chunk.document_id, start + source[first].start, start + source[last - 1].end)
        for first, last in pairwise(ends)
        if first < last
    ]
