"""What the published systems have in common: their last settings, small rules, and parts of a chunk."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, TypeVar

from ctxassembly.assembly.call import Call, SystemFlow
from ctxassembly.assembly.render.order import SortKeys, arrange
from ctxassembly.assembly.system import to_context
from ctxassembly.assembly.text_blocks import Style, TextBlock, render_blocks
from ctxassembly.config.assembly import Order
from ctxassembly.data.candidates import EXACT_DUPLICATE, Candidate, Reason, Shortening
from ctxassembly.data.chunks import Span
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.requests import Request
from ctxassembly.data.sanitize import sanitize_score
from ctxassembly.data.validation import check_fields
from ctxassembly.text.sentences import sentence_ends, sentence_spans
from ctxassembly.text.words import TermQuery
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


# Parts of a chunk: its beginning, or its best sentences.

_WORD_END = re.compile(r"\S(?=\s)")


def sentences_of(candidate: Candidate) -> list[Span]:
    """Return the sentences and lines of what is kept of the candidate, in order: slices of its chunk's text."""
    return [
        (begin + start, begin + stop)
        for begin, end in candidate.spans
        for start, stop in sentence_spans(candidate.chunk.text[begin:end])
    ]


def bisect_fitting(ends: Sequence[int], fits: Callable[[int], bool]) -> int:
    """Return the last of the ascending `ends` that fits, by bisection; 0 if none does.

    If a tokenizer counts fewer tokens for a longer text, a later end may be missed; the returned end fits.
    """
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if fits(ends[middle]) else (low, middle)
    return ends[low - 1] if low else 0


def longest_prefix(text: str, fits: Callable[[int], bool]) -> int:
    """Return the last end up to which `text` fits: of a sentence, else of a word, else any; 0 if none does."""
    words = [match.end() for match in _WORD_END.finditer(text)]
    return next(
        filter(None, (bisect_fitting(ends, fits) for ends in (sentence_ends(text), words, range(1, len(text))))), 0
    )


def truncate(candidate: Candidate, end: int, reason: Shortening) -> Candidate:
    """Return `candidate` with the first `end` characters of its text; unchanged if that is all of it."""
    if end >= len(candidate.text):
        return candidate
    kept: list[Span] = []
    for start, stop in candidate.spans:
        if end > 0:
            kept.append((start, min(stop, start + end)))
        end -= stop - start
    return candidate._replace(kept_spans=tuple(kept), shortened_by=reason)


def best_sentences(candidate: Candidate, query: str | None, fits: Callable[[str], bool]) -> Candidate | None:
    """Return `candidate` with the sentences that have the most words of `query`, as many as fit; None if none does.

    A sentence that doesn't fit is skipped, and so are all after it that are more than half as long, which keeps the
    number of tries small.
    """
    terms, text, chosen = TermQuery(query or ""), candidate.chunk.text, list[Span]()
    ranked = sorted(sentences_of(candidate), key=lambda span: -len(terms.find_terms(text[slice(*span)])))
    while ranked:
        count = _count_fitting(candidate, ranked, chosen, fits)
        chosen += ranked[:count]
        max_length = (ranked[count][1] - ranked[count][0]) // 2 if count < len(ranked) else 0
        ranked = [(start, end) for start, end in ranked[count + 1 :] if end - start <= max_length]
    return _keep_only(candidate, chosen, "extractive") if chosen else None


def _count_fitting(
    candidate: Candidate, ranked: Sequence[Span], chosen: Sequence[Span], fits: Callable[[str], bool]
) -> int:
    """Return the number of `ranked` sentences that fit next to `chosen`."""

    def fits_up_to(count: int) -> bool:
        return fits(_keep_only(candidate, [*chosen, *ranked[:count]], "extractive").text)

    return bisect_fitting(range(1, len(ranked) + 1), fits_up_to) if fits_up_to(1) else 0  # mostly none fits


def _keep_only(candidate: Candidate, spans: Sequence[Span], by: Shortening) -> Candidate:
    """Return `candidate` with `spans` of its text, of which adjacent ones are merged."""
    runs: list[Span] = []
    for start, end in sorted(spans):
        if runs and start <= runs[-1][1]:
            runs[-1] = runs[-1][0], max(end, runs[-1][1])
        else:
            runs.append((start, end))
    kept = candidate.kept_spans if tuple(runs) == candidate.spans else tuple(runs)
    return candidate._replace(kept_spans=kept, shortened_by=by)


def extract_relevant(
    candidates: Sequence[Candidate], max_tokens: int, query: str | None, notes: list[str]
) -> Generator[Request, Sequence[Any], dict[int, Candidate | None]]:
    """Return a model's selection from each of `candidates`, best first, for about `max_tokens` tokens, by key.

    It is None for one in which the model finds nothing relevant. One whose answer is missing or refused isn't in the
    result; a note says so.
    """
    # Here, so that naming a published system loads nothing heavy.
    from ctxassembly.assembly.compress import request_choices

    texts = [(candidate.chunk.id, candidate.text) for candidate in candidates]
    spans = [sentences_of(candidate) for candidate in candidates]
    own = zip(candidates, spans, strict=True)
    sentences = ([candidate.chunk.text[slice(*span)] for span in some] for candidate, some in own)
    choices = yield from request_choices(texts, sentences, query, max_tokens, notes)
    found: dict[int, Candidate | None] = {}
    for place, chosen in choices.items():
        candidate = candidates[place]
        form = _keep_only(candidate, [spans[place][at] for at in chosen], "llm")
        found[candidate.key] = None if not chosen else candidate if form.kept_spans == candidate.kept_spans else form
    return found
