"""What the published systems have in common: their last settings, and small rules that more than one of them has."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, TypeVar

from ctxassembly.assembly.call import Call, SystemFlow
from ctxassembly.assembly.render.order import SortKeys, arrange
from ctxassembly.assembly.system import to_context
from ctxassembly.assembly.text_blocks import Style, TextBlock, render_blocks
from ctxassembly.config.assembly import Order
from ctxassembly.data.candidates import EXACT_DUPLICATE, Candidate, Reason
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.sanitize import sanitize_score
from ctxassembly.data.validation import check_fields
from ctxassembly.published.excerpts import bisect_fitting
from ctxassembly.tokens.counter import counter_for
from ctxassembly.wording.languages import LANGUAGES

T = TypeVar("T")
ENCODING = "cl100k_base"
"""The encoding that all published budgets count in."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """The settings that each published system has besides its own."""

    exact: bool = False
    """What the budget counts. False counts what the published system counts, mostly the texts of chunks alone: the rest
    comes on top, and a note in the trace says by how much the text exceeds the budget. True counts the rendered text,
    which then never exceeds it."""
    keys: MetadataKeys = field(default_factory=MetadataKeys)
    """The metadata keys that name a document, its source, page, section and so on."""

    def __post_init__(self) -> None:
        check_fields(self)

    @staticmethod
    def count(text: str) -> int:
        """Return the number of tokens of `text`."""
        return counter_for(ENCODING)(text)


@dataclass(frozen=True, slots=True)
class Writer:
    """The writer of a system's blocks, with the supplement before or after them."""

    call: Call
    style: Style
    around: tuple[str, str] = ("", "")
    """The blocks without a label, before the others and after them."""

    def __call__(self, blocks: Sequence[TextBlock] = ()) -> str:
        """Return the text of `blocks`."""
        return render_blocks(blocks, self.style, first_label=self.call.first_label, around=self.around)[-1].text

    def context(self, blocks: Sequence[TextBlock], **limits: int) -> SystemFlow:
        """Return the context of `blocks`, whose limits are `max_tokens` and `max_characters`."""
        return to_context(self.call, blocks, self.style, around=self.around, **limits)


def writer(
    call: Call, style: Style, *, fits: Callable[[str], bool], separator: str = "", position: str = "after"
) -> Writer:
    """Return the writer of `call`, with its supplement: if that `fits`, its text guarded, below a `separator`."""
    supplement = call.supplement
    if supplement is None:
        return Writer(call, style)
    line = supplement.separator or separator or LANGUAGES[style.language].supplement
    style = replace(style, own_lines=(*style.own_lines, line))
    text = f"{line}\n{style.safe_text(supplement.text)}"
    if not fits(text):
        call.note("supplement: left out, it exceeds the budget")
        return Writer(call, style)
    is_before = (supplement.position or position) == "before"
    return Writer(call, style, (text, "") if is_before else ("", text))


def longest_fitting(items: Sequence[T], fits: Callable[[Sequence[T]], bool]) -> Sequence[T]:
    """Return the first `items` that fit together: as many as possible."""
    return items[: bisect_fitting(range(1, len(items) + 1), lambda end: fits(items[:end]))]


def drop_copies(call: Call, hits: Sequence[Candidate], key: Callable[[Candidate], Any]) -> list[Candidate]:
    """Return `hits` without those whose `key` an earlier one has."""
    first: dict[Any, Candidate] = {}
    for hit in hits:
        if first.setdefault(key(hit), hit) is not hit:
            call.drop(hit, EXACT_DUPLICATE, first[key(hit)])
    return list(first.values())


def drop_similar(
    call: Call, hits: Sequence[Candidate], is_similar: Callable[[Candidate, Candidate], bool], reason: Reason
) -> list[Candidate]:
    """Return `hits` without those that are similar to an earlier one that is kept."""
    kept: list[Candidate] = []
    for hit in hits:
        original = next((other for other in kept if is_similar(hit, other)), None)
        if original is None:
            kept.append(hit)
        else:
            call.drop(hit, reason, original)
    return kept


def number(hit: Candidate, key: str) -> float | None:
    """Return the number that the metadata of `hit` has under `key`; None if there is none."""
    return sanitize_score(hit.chunk.metadata.get(key))[0]


def by_score(
    hits: Sequence[Candidate], score: Callable[[Candidate], float | None] = attrgetter("score")
) -> list[Candidate]:
    """Return `hits` by their score, best first; those without a score last, in their order."""
    return sorted(hits, key=lambda hit: math.inf if (own := score(hit)) is None else -own)


def arrange_hits(ranked: Sequence[Candidate], order: Order, style: Style) -> list[Candidate]:
    """Return `ranked` hits, best first, in reading order."""
    reader = style.reader()
    keys = [
        SortKeys((place,), "", hit.chunk.index or 0, reader.known_source(hit.chunk), reader.number(hit.chunk, "page"))
        for place, hit in enumerate(ranked)
    ]
    return [ranked[place] for place in arrange(keys, order)]
