"""Removal of sentences that another passage of the context repeats.

It runs after the budget is filled: a copy may be removed only if the other one is in the context.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from operator import attrgetter, itemgetter
from sys import getsizeof
from typing import NamedTuple

from ctxassembly.assembly.rendering.excerpt import DocumentText, subtract_spans
from ctxassembly.assembly.rendering.groups import document_texts, rank_key
from ctxassembly.assembly.selection.result import Selection
from ctxassembly.assembly.selection.shorten import merge_spans
from ctxassembly.cached_property import cached_property
from ctxassembly.data.candidates import OVER_BUDGET, REPEATED, Candidate, Exclusion
from ctxassembly.data.chunks import Span
from ctxassembly.text.sentence_rules import FULL_STOPS
from ctxassembly.text.sentences import ClassifiedSentence, classify_sentences
from ctxassembly.tokens.cache import TextCache

# Most contexts repeat nothing, and comparing bytes takes far less time than classifying sentences. So the text before
# each stop is compared first, and only lines that share enough of it for a run of `MIN_CHARS` are read. Text that was
# cut out is ignored.

PIECE_BYTES = 25
"""A piece of text between two stops is ignored if it has at most this many bytes, without white space."""
FINGERPRINT_BYTES = 66
"""Bytes before a stop that two lines must share. A run has as many, unless much of it is white space or sentences of at
most `PIECE_BYTES`: such a run isn't found."""
CACHE_BYTES = 8 * 1024 * 1024
"""Size of the cache of fingerprints, which is kept between assemblies."""
HASH_BYTES = 36
"""Bytes of a hash."""

_FINGERPRINTS = TextCache[frozenset[int]](CACHE_BYTES, lambda pieces: getsizeof(pieces) + HASH_BYTES * len(pieces))
_FULL_STOPS = [stop.encode() for stop in FULL_STOPS]
_TO_FULL_STOPS = bytes.maketrans(b"!?", b"..")


def may_share_sentences(lines: Sequence[DocumentText]) -> list[int]:
    """Return the indexes of `lines` that share the text before a stop or a blank line."""
    seen_fingerprints: set[int] = set()
    shared_fingerprints: set[int] = set()
    fingerprints: list[frozenset[int]] = []
    for text in map(_kept_text, lines):
        cached = _FINGERPRINTS.get(text)
        fingerprints.append(_FINGERPRINTS.put(text, _fingerprints(text)) if cached is None else cached)
        shared_fingerprints |= seen_fingerprints & fingerprints[-1]
        seen_fingerprints |= fingerprints[-1]
    return [at for at, own in enumerate(fingerprints) if not shared_fingerprints.isdisjoint(own)]


def _kept_text(line: DocumentText) -> str:
    """Return the kept text of `line`, with a stop wherever more than white space was cut out."""
    text = line.text
    spans = sorted([(begin + start, begin + end) for begin, own in line.members for start, end in own.spans])
    parts: list[str] = []
    kept_to = 0
    for start, end in merge_spans(spans):
        gap_text = text[kept_to:start]
        parts += ("." if gap_text.strip() else gap_text, text[start:end])
        kept_to = end
    return "".join(parts)


def _fingerprints(text: str) -> frozenset[int]:
    """Return the hash of the last `FINGERPRINT_BYTES` before each stop of `text`, without pieces that are ignored."""
    # Encoded once: searching bytes takes a fifth of the time of searching str.
    data = text.encode("utf-8", "surrogatepass").replace(b"\n\n", b"..")
    for stop in () if text.isascii() else _FULL_STOPS:
        if stop[:1] in data and stop in data:
            data = data.replace(stop, b".")
    parts = data.translate(_TO_FULL_STOPS, b" \n\t\r\v\f").split(b".")
    pieces = [part for part in parts if len(part) > PIECE_BYTES]
    joined = b"".join(pieces)
    ends = accumulate(map(len, pieces))
    return frozenset([hash(joined[end - FINGERPRINT_BYTES : end]) for end in ends if end >= FINGERPRINT_BYTES])


# A line is the text that adjacent chunks make together. A sentence of which only a part is kept can't replace another
# one: the reader would miss the rest.


class LineSentences:
    """A line split into sentences, which are identified by their index."""

    def __init__(self, line: DocumentText, text: str, statements: Sequence[ClassifiedSentence]) -> None:
        self.line = line
        self.statements = statements
        self.rank_key = min(rank_key(candidate) for _, candidate in line.members)
        self.is_complete = [bool(statement.text) for statement in statements]
        """Whether each sentence is kept completely."""
        if any(candidate.kept_spans is not None for _, candidate in line.members):
            self.is_complete = self._find_complete(text)
        self.repeat_keys = [
            statement.text if statement.is_prose and is_complete else None
            for statement, is_complete in zip(statements, self.is_complete, strict=True)
        ]
        """The text of each complete sentence of prose, which other lines may repeat; None for all others."""

    @cached_property
    def texts(self) -> frozenset[str]:
        """The texts of all complete sentences."""
        pairs = zip(self.statements, self.is_complete, strict=True)
        return frozenset(statement.text for statement, is_complete in pairs if is_complete)

    @cached_property
    def owners(self) -> list[Candidate | None]:
        """The first candidate that has a part of each sentence."""
        owners: list[Candidate | None] = [None] * len(self.statements)
        for candidate, _, indexes in self._slices():
            for index in indexes:
                owners[index] = owners[index] or candidate
        return owners

    def indexes_of(self, keys: Container[int]) -> set[int]:
        """Return the indexes of the sentences of which a candidate with one of `keys` has a part."""
        return {index for candidate, _, indexes in self._slices() if candidate.key in keys for index in indexes}

    def _find_complete(self, text: str) -> list[bool]:
        covered_spans: list[list[Span]] = [[] for _ in self.statements]
        for _, span, indexes in self._slices():
            for index in indexes:
                covered_spans[index].append(span)
        pairs = zip(self.statements, covered_spans, strict=True)
        return [_is_covered(text, statement, spans) for statement, spans in pairs]

    def _slices(self) -> Iterator[tuple[Candidate, Span, range]]:
        """Yield the slices of each candidate as spans of the line, with the indexes of the sentences in each."""
        for begin, candidate in self.line.members:
            for start, end in candidate.spans:
                first = bisect_right(self.statements, begin + start, key=attrgetter("end"))
                last = bisect_left(self.statements, begin + end, lo=first, key=attrgetter("start"))
                yield candidate, (begin + start, begin + end), range(first, last)


def _is_covered(text: str, statement: ClassifiedSentence, spans: Sequence[Span]) -> bool:
    """Return whether `spans` cover the sentence, white space aside."""
    covered_to, end = statement.start, statement.end
    for start, stop in sorted(spans):
        if start > covered_to and text[covered_to:start].strip():
            return False
        covered_to = max(covered_to, stop)
    return bool(statement.text) and (covered_to >= end or not text[covered_to:end].strip())


# Sentences of a better-ranked passage are removed from the others: a reader needs them once.
#
# Overlap isn't repetition. Text that two chunks share because a splitter repeats it is stripped when they are joined
# (`rendering/join.py`). Repetition is what remains: the same sentences in two lines that no chunk connects. Whole lines
# are compared, so a repeat is found even where a chunk ends in the middle of it.
#
# 1. `may_share_sentences` finds the lines that need to be read.
# 2. In each line, runs of prose that another line has are listed. Tables, lists and code are never part of a run, since
#    a part of them says little. Headings aren't either: they tell the reader what was removed.
# 3. Lines keep their runs by rank. A run of a later line is removed as far as it matches one that is kept, sentence by
#    sentence, if that is at least `MIN_CHARS` long.
#
# Sentences that one passage repeats itself are kept: its author wrote them twice.

MIN_CHARS = 100
"""Minimum length of a run that is removed: two sentences, or a long one. For less, a reader isn't sent elsewhere."""

_CODE_CHARACTERS = frozenset("=(){}[];<>")
"""Characters of code. A line with one of them is no heading."""


class RepeatedSentences(NamedTuple):
    """The candidates that lose sentences, by key."""

    forms: dict[int, Candidate]
    """What remains of each, if anything."""
    fully_covered_by: dict[int, Candidate]
    """For each candidate of which nothing remains, the one that has most of its text."""
    covered_by: dict[int, Candidate]
    """For each of `forms`, the candidate that has most of the removed text."""
    removed_spans: dict[int, tuple[Span, ...]]
    """The removed spans of each chunk's text."""


class _SharedRun(NamedTuple):
    """Consecutive sentences of a line that other lines have, too. Runs sort by the order in which they are kept."""

    rank_key: tuple[bool, int, int]
    """The rank of the line's best candidate. All runs of a line have it, so one of two lines keeps all they share."""
    line_index: int
    """The index of the line."""
    begin: int
    end: int


class _RepeatedRun(NamedTuple):
    """Consecutive sentences of a line that are removed, since another line has them."""

    begin: int
    end: int
    other_line: int
    """The index of the other line."""
    other_start: int
    """The index of the first of them in the other line."""
    chars: int


def find_repeated(lines: Iterable[DocumentText], required_keys: Container[int]) -> RepeatedSentences | None:
    """Return what `lines` repeat of better-ranked ones; None if nothing. Candidates with `required_keys` lose none."""
    all_lines = list(lines)
    similar = [all_lines[at] for at in may_share_sentences(all_lines)] if len(all_lines) > 1 else []
    if not similar:
        return None
    line_texts = [line.text for line in similar]
    texts = [*map(LineSentences, similar, line_texts, classify_sentences(line_texts))]
    protected = [text.indexes_of(required_keys) for text in texts]
    repeated_runs = _repeated_runs(texts, protected)
    repeated = RepeatedSentences({}, {}, {}, {})
    for at, runs in repeated_runs.items():
        _remove_runs(repeated, texts, texts[at], sorted(runs), protected[at])
    return repeated if repeated_runs else None


def _repeated_runs(
    texts: Sequence[LineSentences], protected: Sequence[Collection[int]]
) -> dict[int, list[_RepeatedRun]]:
    """Return the runs to remove from each line, by its index, without its `protected` sentences."""
    first_seen: dict[str, tuple[int, int]] = {}  # the line of each kept sentence, and its index there
    repeated_runs: dict[int, list[_RepeatedRun]] = {}
    for run in sorted(_shared_runs(texts)):
        text, index = texts[run.line_index], run.begin
        while index < run.end:
            key = text.statements[index].text
            other, other_start = first_seen.setdefault(key, (run.line_index, index))
            if other == run.line_index:  # new, or repeated within this line
                index += 1
                continue
            own = protected[run.line_index]
            end = _shared_end(text, index, run.end, texts[other], other_start, own)
            begin, run_end = _extend_over_cut_sentences(text, index, end, texts[other], other_start, own)
            chars = sum([len(statement.text) for statement in text.statements[begin:run_end]])
            if end > index and chars >= MIN_CHARS:
                repeated = _RepeatedRun(begin, run_end, other, other_start, chars)
                repeated_runs.setdefault(run.line_index, []).append(repeated)
            index = max(end, index + 1)
    return repeated_runs


def _shared_runs(texts: Sequence[LineSentences]) -> Iterator[_SharedRun]:
    """Yield the runs of each line that another line has, too."""
    first_line: dict[str, int] = {}
    shared_keys: set[str] = set()
    for at, text in enumerate(texts):
        for key in text.repeat_keys:
            if key is not None and first_line.setdefault(key, at) != at:
                shared_keys.add(key)
    for at, text in enumerate(texts):
        begin = 0
        for place, key in enumerate((*text.repeat_keys, None)):
            if key not in shared_keys:
                if begin < place:
                    yield _SharedRun(text.rank_key, at, begin, place)
                begin = place + 1


def _shared_end(
    text: LineSentences, begin: int, end: int, other: LineSentences, other_start: int, protected: Collection[int]
) -> int:
    """Return the end of the sentences of `text` from `begin` on that match `other` from `other_start` on."""
    index = begin
    for key, same in zip(
        text.repeat_keys[begin:end], other.repeat_keys[other_start : other_start + end - begin], strict=False
    ):
        if key is None or key != same or index in protected:
            break
        index += 1
    return index


def _extend_over_cut_sentences(
    text: LineSentences, begin: int, end: int, other: LineSentences, other_start: int, protected: Collection[int]
) -> Span:
    """Return `begin` and `end`, extended by a sentence cut by the border of a chunk if `other` has all of it."""
    last = len(text.statements) - 1

    def is_part(place: int, at: int, matches_edge: Callable[[str, str], bool]) -> bool:
        if not 0 <= at < len(other.statements) or not (text.is_complete[place] and other.is_complete[at]):
            return False
        part, whole = text.statements[place], other.statements[at].text
        return (
            len(part.text) < len(whole)
            and matches_edge(whole, part.text)
            and not part.is_structured
            and place not in protected
        )

    extends_end = end == last and is_part(last, other_start + end - begin, str.startswith)
    extends_start = begin == 1 and is_part(0, other_start - 1, str.endswith)
    return begin - extends_start, end + extends_end


def _remove_runs(
    repeated: RepeatedSentences,
    texts: Sequence[LineSentences],
    text: LineSentences,
    runs: Sequence[_RepeatedRun],
    protected: Collection[int],
) -> None:
    """Record in `repeated` what remains of the candidates of a line without `runs`, which are ascending."""
    spans = [(text.statements[run.begin].start, text.statements[run.end - 1].end) for run in runs]
    removed = merge_spans(spans)
    longest = max(runs, key=attrgetter("chars"))
    if not protected and _leaves_only_headings(texts[longest.other_line], text, runs):
        removed = ((0, text.statements[-1].end),)
    for begin, candidate in text.line.members:
        slices = tuple((begin + start, begin + end) for start, end in candidate.spans)
        kept = tuple(rest for span in slices for rest in subtract_spans(span, removed))
        if kept == slices:
            continue
        # The owner of the longest removed run that touches the candidate is the one that has most of what it loses.
        first = bisect_right(spans, slices[0][0], key=itemgetter(1))
        last = bisect_left(spans, slices[-1][1], key=itemgetter(0))
        run = max(runs[first:last], key=attrgetter("chars"), default=longest)
        owner = texts[run.other_line].owners[run.other_start]
        assert owner is not None  # noqa: S101 - every kept sentence has an owner
        remaining = tuple((start - begin, end - begin) for start, end in kept)
        repeated.removed_spans[candidate.key] = tuple(
            (start - begin, end - begin) for span in slices for start, end in subtract_spans(span, kept)
        )
        if any(candidate.chunk.text[start:end].strip() for start, end in remaining):
            reason = candidate.shortened_by or REPEATED
            repeated.forms[candidate.key] = candidate._replace(kept_spans=remaining, shortened_by=reason)
            repeated.covered_by[candidate.key] = owner
        else:
            repeated.fully_covered_by[candidate.key] = owner


def _leaves_only_headings(other: LineSentences, text: LineSentences, runs: Sequence[_RepeatedRun]) -> bool:
    """Return True if `text` without `runs` has only headings left, each in `other` or without letters and digits."""
    removed = {index for run in runs for index in range(run.begin, run.end)}
    remaining = [index for index, is_complete in enumerate(text.is_complete) if is_complete and index not in removed]
    return all(_is_heading(text, index) and _is_needless(text.statements[index].text, other) for index in remaining)


def _is_heading(text: LineSentences, index: int) -> bool:
    return not text.statements[index].is_structured and text.repeat_keys[index] is None


def _is_needless(text: str, other: LineSentences) -> bool:
    """Return whether `other` has `text`, or it has neither letters nor digits."""
    return (text in other.texts and _CODE_CHARACTERS.isdisjoint(text)) or not any(map(str.isalnum, text))


def remove_repeated(selection: Selection, required_keys: Container[int]) -> Selection:
    """Return `selection` without repeated sentences; the same one if there are none, or their removal saves nothing.

    Candidates with `required_keys` lose nothing. If a candidate was shortened and loses all that was kept of it, its
    rest is recorded as over budget, not as repeated, since it may say something else.
    """
    lines = document_texts(selection.selected, selection.layout.typesetter.get_join)
    repeated = find_repeated(lines, required_keys)
    if repeated is None:
        return selection
    rests = {
        candidate.key: _without_spans(candidate, repeated.removed_spans[candidate.key])
        for candidate in selection.candidates
        if candidate.key in repeated.removed_spans
    }
    layout = selection.layout.cleared()
    gone = {key: other for key, other in repeated.fully_covered_by.items() if rests[key] is None}
    deferred = {
        key: Exclusion(OVER_BUDGET, layout.text_tokens(rest))
        for key, rest in rests.items()
        if rest is not None and key in repeated.fully_covered_by
    }
    trimmed = replace(
        selection,
        candidates=tuple(rests.get(candidate.key) or candidate for candidate in selection.candidates),
        exclusions={**selection.exclusions, **deferred},
        shortened={**selection.shortened, **repeated.forms},
        repeated_by={**selection.repeated_by, **gone},
        covered_by={**selection.covered_by, **repeated.covered_by},
    )
    remaining = trimmed.selected
    if not layout.fits(remaining) or layout.token_count_with(remaining) >= selection.token_count:
        return selection
    return replace(trimmed, layout=layout.with_candidates(remaining))


def _without_spans(candidate: Candidate, removed: Sequence[Span]) -> Candidate | None:
    """Return `candidate` without the spans `removed` of its chunk's text; None if nothing remains."""
    kept = tuple(part for span in candidate.spans for part in subtract_spans(span, removed))
    remaining = candidate._replace(kept_spans=kept, shortened_by=candidate.shortened_by or REPEATED)
    return remaining if remaining.text.strip() else None
