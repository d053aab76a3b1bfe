"""Parts of a chunk: its beginning, or its best sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from typing import Any

from ctxassembly.data.candidates import Candidate, Shortening
from ctxassembly.data.chunks import Span
from ctxassembly.data.requests import Request
from ctxassembly.text.sentences import sentence_ends, sentence_spans
from ctxassembly.text.words import TermQuery

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
