"""Parts of a chunk: its beginning, or its best sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, NamedTuple

from ctxassembly.data.candidates import Candidate, Shortening
from ctxassembly.data.chunks import Span
from ctxassembly.data.requests import Request
from ctxassembly.safe_repr import describe_error, safe_repr
from ctxassembly.text.sentences import sentence_ends, sentence_spans

_WORD_END = re.compile(r"\S(?=\s)")


class CandidateSentence(NamedTuple):
    """A sentence or line of a candidate's chunk."""

    candidate: Candidate
    span: Span

    @property
    def text(self) -> str:
        """The slice itself."""
        return self.candidate.chunk.text[slice(*self.span)]


def candidate_sentences(candidate: Candidate) -> list[CandidateSentence]:
    """Return the sentences and lines of what is kept of the candidate, in order."""
    return [
        CandidateSentence(candidate, (begin + start, begin + stop))
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


def fit_excerpt(ranked: Sequence[CandidateSentence], fits: Callable[[Sequence[Candidate]], bool]) -> list[Candidate]:
    """Return the excerpts with as many of `ranked`, best first, as fit together; empty if none fits.

    A sentence that doesn't fit is skipped, and so are all after it that are more than half as long, which keeps the
    number of tries small.
    """
    chosen: list[CandidateSentence] = []
    while ranked:
        count = _count_fitting(ranked, chosen, fits)
        chosen += ranked[:count]
        max_length = len(ranked[count].text) // 2 if count < len(ranked) else 0
        ranked = [sentence for sentence in ranked[count + 1 :] if len(sentence.text) <= max_length]
    return build_excerpts(chosen)


def _count_fitting(
    ranked: Sequence[CandidateSentence],
    chosen: Sequence[CandidateSentence],
    fits: Callable[[Sequence[Candidate]], bool],
) -> int:
    """Return the number of `ranked` that fit next to `chosen`."""
    if not fits(build_excerpts([*chosen, ranked[0]])):  # mostly none fits, which takes one try
        return 0
    return bisect_fitting(range(1, len(ranked) + 1), lambda upto: fits(build_excerpts([*chosen, *ranked[:upto]])))


def build_excerpts(sentences: Iterable[CandidateSentence]) -> list[Candidate]:
    """Return the candidates reduced to their `sentences`; a candidate with all of its own is unchanged."""
    by_candidate: dict[int, list[CandidateSentence]] = {}
    for sentence in sentences:
        by_candidate.setdefault(sentence.candidate.key, []).append(sentence)
    return [_keep_only(group[0].candidate, sorted(one.span for one in group)) for group in by_candidate.values()]


def _keep_only(candidate: Candidate, spans: Sequence[Span]) -> Candidate:
    """Return `candidate` with the ascending `spans` of its text, of which adjacent ones are merged."""
    runs: list[Span] = []
    for start, end in spans:
        if runs and start <= runs[-1][1]:
            runs[-1] = runs[-1][0], max(end, runs[-1][1])
        else:
            runs.append((start, end))
    kept = tuple(runs)
    if kept == candidate.spans:
        return candidate
    # A model's excerpt is recorded as the model's even if it is reduced.
    reason: Shortening = "llm" if candidate.shortened_by == "llm" else "extractive"
    return candidate._replace(kept_spans=kept, shortened_by=reason)


class Extracts(NamedTuple):
    """The candidates that a model's answers reduce or reject, by key."""

    forms: dict[int, Candidate]
    irrelevant_keys: frozenset[int]


def extract_relevant(
    candidates: Sequence[Candidate], max_tokens: int, query: str | None, notes: list[str]
) -> Generator[Request, Sequence[Any], Extracts]:
    """Return a model's selection from each of `candidates`, best first, for about `max_tokens` tokens.

    A candidate whose answer is missing or refused is in neither result; a note says so.
    """
    if not query or not query.strip():
        notes.append("compress: a language model needs a query, extractive instead")
        return Extracts({}, frozenset())
    # here, so that naming a published system loads nothing heavy
    from ctxassembly.assembly.compress import IRRELEVANT_ANSWER, chosen_sentences, request_extracts

    answers = yield from request_extracts([candidate.text for candidate in candidates], query, max_tokens)
    forms, irrelevant = dict[int, Candidate](), set[int]()
    for candidate, answer in zip(candidates, answers, strict=False):
        name, sentences = f"compress: {safe_repr(candidate.chunk.id, 80)}", candidate_sentences(candidate)
        if isinstance(answer, Exception):
            notes.append(f"{name} has no answer ({describe_error(answer)}), extractive instead")
        elif answer == IRRELEVANT_ANSWER:
            irrelevant.add(candidate.key)
        elif chosen := chosen_sentences([sentence.text for sentence in sentences], answer):
            [form] = build_excerpts([sentences[place] for place in sorted(chosen)])
            forms[candidate.key] = form if form is candidate else form._replace(shortened_by="llm")
        else:
            notes.append(f"{name}: the answer is not in the source, extractive instead")
    return Extracts(forms, frozenset(irrelevant))
