"""What is read of a text whatever is asked: where its sentences and its words begin.

Many texts are read at once, as one string of bytes (`breaks.py`, `stem_keys.py`); those in other scripts
one by one, with the functions that those rules come from. On 2,500 chunks of papers, standards, minutes and
encyclopedia in four languages both find the same words, and the same sentences but in six chunks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.text.breaks import breaks
from ctxassembly.text.latin import Bytes, as_bytes
from ctxassembly.text.sentences import CLOSING, LONGEST, STOPS, tiles
from ctxassembly.text.stem_keys import Words, words_in, words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

ARRAY_BYTES = 112
"""Of an array besides its numbers."""
# A section begins at a heading, or after two blank lines.
_SECTION = re.compile(r"\n(?:\n\n+|(?=#{1,6} ))")


class Reading(NamedTuple):
    """What was read of a text."""

    sentences: NDArray[np.uint32]
    """Where each sentence but the first begins: see `tiles`."""
    heads: NDArray[np.bool_]
    """Whether each of these begins a section."""
    words: Words
    is_ended: bool
    """Whether a sentence ends where the text does."""

    @property
    def nbytes(self) -> int:
        """What it takes in memory: about two bytes a character."""
        arrays = (self.sentences, self.heads, *self.words)
        return sum([each.nbytes + ARRAY_BYTES for each in arrays])


def read(texts: Sequence[str]) -> list[Reading]:
    """The readings of `texts`, which are read together: one by one they would take several times as long."""
    if not texts:
        return []
    whole = as_bytes(texts)
    places, words = breaks(whole, texts), words_in(whole.whole)
    heads = _heads(whole.whole, places)
    first = np.searchsorted(places, whole.begins).tolist()
    begin = np.searchsorted(words.at, whole.begins).tolist()
    strange = whole.strange | _with_long(whole, texts, places)
    readings = []
    for number, (text, at) in enumerate(zip(texts, whole.begins, strict=True)):
        if number in strange:
            reading = _of_string(text)
        else:  # copies: a view would keep the arrays of all texts
            own, of = _slice(first, number), _slice(begin, number)
            found = Words((words.at[of] - at).astype(np.uint32), words.keys[of].copy())
            reading = Reading((places[own] - at).astype(np.uint32), heads[own].copy(), found, _is_ended(text))
        readings.append(reading)
    return readings


def _slice(begins: Sequence[int], number: int) -> slice:
    """The slice with this `number` of those that begin there; the last one has no end."""
    return slice(begins[number], begins[number + 1] if number + 1 < len(begins) else None)


def _with_long(whole: Bytes, texts: Sequence[str], places: NDArray[np.intp]) -> frozenset[int]:
    """The numbers of the texts with a sentence that is cut: see `tiles`."""
    begins = np.array(whole.begins)
    edges = np.sort(np.concatenate([places, begins, begins + [len(text) for text in texts]]))
    long = edges[:-1][np.diff(edges) > LONGEST]
    return frozenset((np.searchsorted(begins, long, "right") - 1).tolist())


def _is_ended(text: str) -> bool:
    """Whether a sentence ends where `text` does: after a stop and a blank, or a line break."""
    words = text.rstrip()
    return "\n" in text[len(words) :] or (len(words) < len(text) and words.rstrip(CLOSING)[-1:] in STOPS)


def _heads(whole: bytes, places: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether a section begins at each of `places`."""
    letters = np.frombuffer(whole, np.uint8)
    after_line = letters[places - 1] == ord("\n")
    heads: NDArray[np.bool_] = after_line & (letters[places - 2] == ord("\n")) & (letters[places - 3] == ord("\n"))
    for number in np.flatnonzero(after_line & (letters[places] == ord("#"))).tolist():
        at = int(places[number])
        heads[number] |= whole[at : at + 7].lstrip(b"#")[:1] == b" "
    return heads


def _of_string(text: str) -> Reading:
    """The reading of a text in any script."""
    spans = tiles(text)
    heads = {match.end() for match in _SECTION.finditer(text)}
    begins = [begin for begin, _ in spans[1:]]
    return Reading(
        np.array(begins, dtype=np.uint32),
        np.array([begin in heads for begin in begins], dtype=bool),
        words_of(text, spans),
        _is_ended(text),
    )
