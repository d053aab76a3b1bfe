"""The signals of `units.py` as arrays: a number for each unit."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.assembly.rendering.excerpt import Line
from ctxassembly.assembly.scoring.speakers import NAMED, may_name, said_by_named
from ctxassembly.assembly.scoring.weights import WEIGHT, Weights, factors_of, scaled
from ctxassembly.data.candidates import Candidate, Share
from ctxassembly.text import query_terms
from ctxassembly.text.bm25 import Bm25
from ctxassembly.text.query_terms import Reading, Sought, numbers
from ctxassembly.text.sentences import after_line
from ctxassembly.tokens.cache import Remembered

if TYPE_CHECKING:
    from numpy.typing import NDArray

REMEMBERED_BYTES = 32 * 1024 * 1024
"""Bytes of all that is remembered: about 6,000 texts of 1,500 characters. Those asked for longest ago are forgotten."""

_readings = Remembered[Reading](REMEMBERED_BYTES, attrgetter("nbytes"))


def read(texts: Sequence[str]) -> list[Reading]:
    """The readings of `texts`."""
    known = {text: _readings.get(text) for text in texts}
    new = [text for text, own in known.items() if own is None]
    known |= {text: _readings.put(text, own) for text, own in zip(new, query_terms.read(new), strict=True)}
    return [own for text in texts if (own := known[text]) is not None]


# Candidates laid out for a query: one text, the sentences in it, and the places of the query's words.
#
# Lines of text come one after the other in one long text, so that places in it say all: where a sentence begins, where
# a chunk begins and ends. What was read of the chunks is put together by these places. Of two chunks that overlap, the
# first one's holds up to the middle of what they share and the second one's from there: to both ends of a chunk a part
# of a word or a sentence may be cut off, in the middle of the overlap neither is.


if TYPE_CHECKING:
    Places = NDArray[np.int64]
    Flags = NDArray[np.bool_]


class Parts(NamedTuple):
    """What each chunk adds to its line, one array or sequence each."""

    texts: Sequence[str]
    begins: Places
    """Where each text begins."""
    lows: Places
    """What is read of it holds from here ..."""
    highs: Places
    """... to here."""


class Laid(NamedTuple):
    """All lines as one text."""

    text: str
    edges: Places
    """Where each sentence begins, and at last where the text ends."""
    continues: Flags
    """Whether a sentence continues the one before it: the first of a line doesn't."""
    heads: Flags
    """Whether a section begins with it."""
    documents: Sequence[str]
    """The document of each sentence."""
    members: Sequence[tuple[int, Candidate]]
    """The candidates, each with its beginning."""
    found: Places
    """The words of the query that occur, by their number."""
    at: Places
    """Where each of them stands."""


def lay(lines: Iterable[Line], sought: Sought) -> Laid:
    """All `lines` with their sentences, and the words that are `sought`."""
    texts: list[str] = []
    members: list[tuple[int, Candidate]] = []
    documents: list[str] = []
    begins: list[int] = []
    edges: list[int] = []
    chunks: list[str] = []
    origins: list[int] = []
    lows: list[int] = []
    highs: list[int] = []
    touching: list[tuple[int, int]] = []
    base = 0
    for line in lines:
        text, reach = line.text, 0
        begins.append(base)
        documents.append(line.last.document_id)
        for begin, candidate in line.members:
            members.append((base + begin, candidate))
            chunk = candidate.chunk.text
            end = begin + len(chunk)
            if end <= reach:  # another one contains it
                continue
            low = base + max(begin, (begin + reach + 1) // 2)
            if begin == reach and reach:
                touching.append((len(chunks) - 1, low))
            elif begin > reach and not after_line(text, reach):  # a line break was put between them
                edges.append(low)
            if reach:
                highs[-1] = low
            chunks.append(chunk)
            origins.append(base + begin)
            lows.append(low)
            highs.append(base + end)
            reach = end
        texts.append(text)
        base += len(text)
    readings = read(chunks)
    edges += [place for before, place in touching if readings[before].is_ended]
    parts = Parts(chunks, *(np.array(each, dtype=np.int64) for each in (origins, lows, highs)))
    places, heads = _sentences(parts, readings, [*begins, *edges])
    of_line = np.searchsorted(begins, places, "right") - 1
    whole = "".join(texts)
    return Laid(
        whole,
        np.append(places, len(whole)),
        np.array(begins)[of_line] != places,
        heads,
        [documents[number] for number in of_line.tolist()],
        members,
        *_words(parts, readings, sought),
    )


def _sentences(parts: Parts, readings: Sequence[Reading], edges: Sequence[int]) -> tuple[Places, Flags]:
    """Where sentences begin, those at `edges` among them, and whether a section begins there."""
    part = np.repeat(np.arange(len(readings)), [len(reading.sentences) // 4 for reading in readings])
    # The flag goes along as the lowest bit.
    coded = 2 * parts.begins[part] + numbers((reading.sentences for reading in readings), np.uint32)
    own = coded[(coded >= 2 * parts.lows[part]) & (coded < 2 * parts.highs[part])]
    coded = np.sort(np.append(own, 2 * np.array(edges, dtype=np.int64)))
    return coded >> 1, coded & 1 > 0


def _words(parts: Parts, readings: Sequence[Reading], sought: Sought) -> tuple[Places, Places]:
    """The words that are sought, and the places where they stand."""
    if not sought.words:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    word, number = sought.found_in(numbers((reading.keys for reading in readings), np.uint64))
    part = np.searchsorted(np.cumsum([len(reading.at) // 4 for reading in readings]), number, "right")
    at = numbers((reading.at for reading in readings), np.uint32)[number].astype(np.int64)
    places = parts.begins[part] + at
    own = (places >= parts.lows[part]) & (places < parts.highs[part])
    word, places = word[own], places[own]
    if sought.within:
        long = [
            (longer, place)
            for stem, place, offset, of in zip(
                word.tolist(), places.tolist(), at[own].tolist(), part[own].tolist(), strict=True
            )
            if (longer := sought.longer(parts.texts[of], stem, offset)) is not None
        ]
        word = np.append(word, [stem for stem, _ in long]).astype(np.int64)
        places = np.append(places, [place for _, place in long]).astype(np.int64)
    return word, places


if TYPE_CHECKING:
    Values = NDArray[np.float64]

SECTION_CHARS = 4_000
"""Length at which a section ends if no heading ends it."""


class Valued(NamedTuple):
    """All units and their values, by their place: see `Units`."""

    text: str
    edges: Sequence[int]
    continues: Sequence[bool]
    documents: Sequence[str]
    values: Values
    words: Values
    matches: Values
    shares: Sequence[Share]


def value_units(
    lines: Iterable[Line],
    query: str,
    weights: Weights,
    function_words: Collection[str] | None,
    scores: Mapping[str, float],
) -> Valued:
    """The units of all `lines`, valued for `query`: see `units_of`."""
    sought = Sought(query)
    laid = lay(lines, sought)
    edges, continues = laid.edges.tolist(), laid.continues.tolist()
    units = len(continues)
    shares = _shares(laid)
    found = _Occurrences(laid, len(sought.words))
    # By chunks: among sentences even a word that every chunk has is rare.
    in_chunks = found.counts(*_bounds(shares))
    bm25 = Bm25(sought.words, in_chunks, factors_of(query, function_words), within=sought.within)
    matches = found.by_unit(bm25)
    lengths = np.array([share.end - share.begin for share in shares], dtype=np.int64)
    by_words = weights.chunk * _in_parts(_of_chunks(shares, bm25.scores(in_chunks, lengths), units))
    by_words += weights.section * _in_parts(_of_sections(laid, edges, found, bm25))
    by_words += weights.sentence * _in_parts(matches)
    by_words += weights.surroundings * _in_parts(_smoothed(_smoothed(matches, laid), laid))
    if may_name(laid.text, laid.edges[:-1][~laid.continues].tolist(), np.sort(laid.at).tolist(), query):
        said = said_by_named(laid.text, edges, continues, query)
        by_words += NAMED * np.array(said or 0.0)
    if scores:
        sentences = [laid.text[begin:end].strip() for begin, end in pairwise(edges)]
        by_words += WEIGHT * _in_parts(np.array(scaled(sentences, scores)))
    values = _of_ranks(shares, weights, units) + by_words
    return Valued(laid.text, edges, continues, laid.documents, values, by_words, matches, shares)


def best_in_shares(values: Values, shares: Sequence[Share]) -> Values:
    """The best of the `values` that each share has; of one that has none it means nothing."""
    bounds = np.column_stack(_bounds(shares)).ravel()
    best: Values = np.maximum.reduceat(np.append(values, 0.0), bounds)[::2]
    return best


def _bounds(shares: Sequence[Share]) -> tuple[Places, Places]:
    """The places of the units where the shares begin and end."""
    begins, ends = ([getattr(share.places, bound) for share in shares] for bound in ("start", "stop"))
    return np.array(begins, dtype=np.int64), np.array(ends, dtype=np.int64)


class _Occurrences:
    """The query's words in the units, as one ascending array: word by word, and place by place."""

    def __init__(self, laid: Laid, words: int) -> None:
        self._words, self._units = words, len(laid.continues)
        places = np.searchsorted(laid.edges, laid.at, "right") - 1
        self._coded = np.sort(laid.found * self._units + places)

    def counts(self, begins: Places, ends: Places) -> Places:
        """How often each word occurs from one place to another: a row for each word."""
        words = self._units * np.arange(self._words)[:, None]
        upto = np.searchsorted(self._coded, words + np.concatenate([begins, ends])[None, :])
        counts: Places = upto[:, len(begins) :] - upto[:, : len(begins)]
        return counts

    def by_unit(self, bm25: Bm25) -> Values:
        """The weights of the words in each unit, each word once."""
        if not self._units:
            return np.zeros(0)
        word, place = np.divmod(np.unique(self._coded), self._units)
        return np.bincount(place, bm25.of_words(word), self._units).astype(np.float64)


def _shares(laid: Laid) -> list[Share]:
    begins = np.array([begin for begin, _ in laid.members], dtype=np.int64)
    ends = begins + [len(candidate.chunk.text) for _, candidate in laid.members]
    first = np.searchsorted(laid.edges[1:], begins, "right").tolist()
    last = np.searchsorted(laid.edges[:-1], ends).tolist()
    return [
        Share(candidate, begin, end, range(*places))
        for (begin, candidate), end, *places in zip(laid.members, ends.tolist(), first, last, strict=True)
    ]


def _in_parts(scores: Values) -> Values:
    """`scores` in parts of the best."""
    return scores / (float(scores.max(initial=0.0)) or 1.0)


def _of_chunks(shares: Sequence[Share], scores: Values, units: int) -> Values:
    """The score of the best chunk that has a part of each of the `units`, by the query's words in the chunks."""
    best = np.zeros(units)
    known = scores.tolist()
    for number in np.argsort(scores, kind="stable").tolist():
        places = shares[number].places
        best[places.start : places.stop] = known[number]
    return best


def _of_sections(laid: Laid, edges: Sequence[int], found: _Occurrences, bm25: Bm25) -> Values:
    """The score of each unit's section: its heading holds for all that stands below it."""
    units = len(edges) - 1
    begins: list[int] = []
    bounds = [*np.flatnonzero(~laid.continues | laid.heads).tolist(), units]
    for begin, end in pairwise(bounds):
        begins.append(begin)
        # One that grows too long is divided.
        while (begin := bisect_right(edges, edges[begin] + SECTION_CHARS)) < end:
            begins.append(begin)
    first, last = np.array(begins, dtype=np.int64), np.array([*begins[1:], units][: len(begins)], dtype=np.int64)
    scores = bm25.scores(found.counts(first, last), laid.edges[last] - laid.edges[first])
    return np.repeat(scores, last - first)


def _smoothed(scores: Values, laid: Laid) -> Values:
    """Half of each unit's score, and a quarter of that of each of the two beside it."""
    smooth, beside = scores / 2, scores / 4
    linked = laid.continues[1:]
    smooth[:-1] += beside[1:] * linked
    smooth[1:] += beside[:-1] * linked
    return smooth


def _of_ranks(shares: Sequence[Share], weights: Weights, units: int) -> Values:
    """The value that the retriever gives each unit: the nearest hit's rank, and the good hits of its document."""
    hits: dict[str, float] = defaultdict(float)
    for share in shares:
        if share.candidate.is_hit:
            hits[share.candidate.chunk.document_id] += 1 / (2 + share.candidate.rank)
    most = max(hits.values(), default=1.0)
    values = np.zeros(units)
    # Text that two chunks share is the nearer one's, which comes last.
    for share in sorted(shares, key=attrgetter("candidate.distance", "candidate.rank"), reverse=True):
        candidate, places = share.candidate, share.places
        value = weights.document * hits[candidate.chunk.document_id] / most - weights.rank * math.log1p(candidate.rank)
        if candidate.distance:
            value -= weights.neighbour + weights.distance * (candidate.distance - 1)
        values[places.start : places.stop] = value
    return values
