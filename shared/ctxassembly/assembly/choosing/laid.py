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
from ctxassembly.text.goes_on import after_line
from ctxassembly.text.reading import Reading, numbers
from ctxassembly.text.sought import Sought

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.int64]
    Flags = NDArray[np.bool_]


class Part(NamedTuple):
    """What a chunk adds to a line: the places from `low` to `high` are read of it."""

    text: str
    begin: int
    low: int
    high: int


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
    parts: list[Part] = []
    members: list[tuple[int, Candidate]] = []
    documents: list[str] = []
    begins: list[int] = []
    edges: list[int] = []
    touching: list[tuple[int, int]] = []
    base = 0
    for line in lines:
        text, reach = line.text, 0
        begins.append(base)
        documents.append(line.last.document_id)
        for begin, candidate in line.members:
            members.append((base + begin, candidate))
            end = begin + len(candidate.chunk.text)
            if end <= reach:  # another one contains it
                continue
            low = base + max(begin, (begin + reach + 1) // 2)
            if begin == reach and reach:
                touching.append((len(parts) - 1, low))
            elif begin > reach and not after_line(text, reach):  # a line break was put between them
                edges.append(low)
            if reach:
                parts[-1] = parts[-1]._replace(high=low)
            parts.append(Part(candidate.chunk.text, base + begin, low, base + end))
            reach = end
        texts.append(text)
        base += len(text)
    readings = read([part.text for part in parts])
    edges += [place for before, place in touching if readings[before].is_ended]
    places, heads = _sentences(parts, readings, begins, edges)
    of_line = np.searchsorted(begins, places, "right") - 1
    continues = np.array(begins)[of_line] != places
    whole = "".join(texts)
    return Laid(
        whole,
        np.append(places, len(whole)),
        continues,
        heads,
        [documents[number] for number in of_line.tolist()],
        members,
        *_words(parts, readings, sought),
    )


def _sentences(
    parts: Sequence[Part], readings: Sequence[Reading], begins: Sequence[int], edges: Sequence[int]
) -> tuple[Places, Flags]:
    """Where sentences begin, those of lines and of parts among them, and whether a section begins there."""
    sizes = [len(reading.sentences) // 4 for reading in readings]
    begin, low, high = (np.repeat([part[field] for part in parts], sizes) for field in (1, 2, 3))
    # The flag goes along as the lowest bit.
    coded = 2 * begin + numbers((reading.sentences for reading in readings), np.uint32)
    own = coded[(coded >= 2 * low) & (coded < 2 * high)]
    coded = np.sort(np.concatenate([own, 2 * np.array([*begins, *edges], dtype=np.int64)]))
    return coded >> 1, coded & 1 > 0


def _words(parts: Sequence[Part], readings: Sequence[Reading], sought: Sought) -> tuple[Places, Places]:
    """The words that are sought, and the places where they stand."""
    if not sought.words:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    word, number = sought.found_in(numbers((reading.keys for reading in readings), np.uint64))
    at = numbers((reading.at for reading in readings), np.uint32)[number].astype(np.int64)
    part = np.searchsorted(np.cumsum([len(reading.at) // 4 for reading in readings]), number, "right")
    begin, low, high = (np.array([each[field] for each in parts], dtype=np.int64)[part] for field in (1, 2, 3))
    places = begin + at
    own = (places >= low) & (places < high)
    word, places = word[own], places[own]
    if sought.within:
        long = [
            (longer, place)
            for stem, place, offset, of in zip(
                word.tolist(), places.tolist(), at[own].tolist(), part[own].tolist(), strict=True
            )
            if (longer := sought.longer(parts[of].text, stem, offset)) is not None
        ]
        word = np.append(word, [stem for stem, _ in long]).astype(np.int64)
        places = np.append(places, [place for _, place in long]).astype(np.int64)
    return word, places
