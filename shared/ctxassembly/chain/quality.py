"""An answer's quality as far as text tells, without a judge."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ctxassembly.citations.quotes import Quote
from ctxassembly.citations.reader import Resolved
from ctxassembly.data.chunks import Span
from ctxassembly.text.sentences import sentence_ends

_SAID, _FIRST = re.compile(r"\S"), re.compile(r"\s*\[")


@dataclass(frozen=True, slots=True)
class Quality:
    """Counts over an answer and its citations.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> context = assemble([Hit(Chunk(name, name, f"Ask the {name}.")) for name in ("nurse", "surgeon")])
    >>> said = "Ask the nurse [1]. Or anybody [7]. It helps."
    >>> quality_of(said, context.resolve(said, mode="keep"), context.check_quotes(said))
    Quality(sentences=3, labelled=0.3333333333333333, unknown_labels=1, quotes=0, quotes_not_found=0, unused=1)
    """

    sentences: int
    labelled: float | None
    """Share of the sentences with a label that the context has; None without sentences."""
    unknown_labels: int
    quotes: int
    quotes_not_found: int
    unused: int
    """Citations of the context that the answer doesn't use."""


def quality_of(text: str, resolved: Resolved, quotes: Sequence[Quote]) -> Quality:
    """The quality of `text`, the answer as the model wrote it."""
    ends = [*sentence_ends(text), len(text)]
    sentences = [(begin, end) for begin, end in pairwise([0, *ends]) if text[begin:end].strip()]
    marked = _marked([mark.span[0] for mark in resolved.marks if mark.labels], text, sentences)
    return Quality(
        sentences=len(sentences),
        labelled=len(marked) / len(sentences) if sentences else None,
        unknown_labels=len(resolved.unknown),
        quotes=len(quotes),
        quotes_not_found=sum(not quote.found for quote in quotes),
        unused=len(resolved.unused),
    )


def _marked(marks: Sequence[int], text: str, sentences: Sequence[Span]) -> set[int]:
    """The numbers of the sentences that the markers at `marks`, in ascending order, speak for.

    One after a full stop speaks for the sentence before, unless the answer puts markers first: "[1] says ... [2] says".
    """
    comes_first = _FIRST.match(text) is not None
    found: set[int] = set()
    place, begins = -1, -1
    for at in marks:
        while place < 0 or at >= sentences[place][1]:
            place += 1
            said = _SAID.search(text, *sentences[place])
            begins = said.start() if said else -1
        found.add(place - 1 if place and at <= begins and not comes_first else place)
    return found
