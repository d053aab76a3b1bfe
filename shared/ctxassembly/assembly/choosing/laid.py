"""Candidates laid out for a query: one text, the sentences in it, and the places of the query's words.

Lines of text come one after the other in one long text, so that places in it say all: where a sentence begins, where a
chunk begins and ends. What was read of the chunks is put together by these places. Of two chunks that overlap, the
first one's holds up to the middle of what they share and the second one's from there: to both ends of a chunk a part
of a word or a sentence may be cut off, in the middle of the overlap neither is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.assembly.choosing.remembered_readings import read
from ctxassembly.assembly.rendering.excerpt import Line
from ctxassembly.data.candidates import Candidate
from ctxassembly.text.query_terms import Reading, Sought, numbers
from ctxassembly.text.sentences import after_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
