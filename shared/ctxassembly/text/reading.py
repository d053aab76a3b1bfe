"""What is read of a text whatever is asked: where its sentences and its words begin.

Many texts are read at once, as one string of bytes (`breaks.py`, `stem_keys.py`); those in other scripts
one by one, with the functions that those rules come from. On 2,500 chunks of papers, standards, minutes and
encyclopedia in four languages both find the same words, and the same sentences but in six chunks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from sys import getsizeof
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from ctxassembly.text.breaks import breaks
from ctxassembly.text.latin import Bytes, as_bytes
from ctxassembly.text.sentences import CLOSING, LONGEST, STOPS, tiles
from ctxassembly.text.stem_keys import words_in, words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.integer)
# A section begins at a heading, or after two blank lines.
_SECTION = re.compile(r"\n(?:\n\n+|(?=#{1,6} ))")


class Reading(NamedTuple):
    """What was read of a text: numbers as bytes, which are cut and put together faster than arrays."""

    sentences: bytes
    """Where each sentence but the first begins (see `tiles`), times two, and 1 more where a section begins: uint32."""
    at: bytes
    """Where each word begins: uint32."""
    keys: bytes
    """The key of each word's stem: uint64."""
    is_ended: bool
    """Whether a sentence ends where the text does."""

    @property
    def nbytes(self) -> int:
        """What it takes in memory: about two bytes a character."""
        return sum(map(getsizeof, self))


def numbers(parts: Iterable[bytes], dtype: type[Number]) -> NDArray[Number]:
    """The numbers in these `parts` of readings, one after the other."""
    return np.frombuffer(b"".join(parts), dtype)


def read(texts: Sequence[str]) -> list[Reading]:
    """The readings of `texts`, which are read together: one by one they would take several times as long."""
    if not texts:
        return []
    whole = as_bytes(texts)
    places, words = breaks(whole, texts), words_in(whole.whole)
    sentences, first = _cut(places, whole.begins)
    at, begin = _cut(words.at, whole.begins)
    coded = (2 * sentences + _heads(whole.whole, places)).astype(np.uint32).tobytes()
    placed, keys = at.astype(np.uint32).tobytes(), words.keys.tobytes()
    strange = whole.strange | _with_long(whole, texts, places)
    return [
        _of_string(text)
        if number in strange
        else Reading(coded[4 * a : 4 * b], placed[4 * c : 4 * d], keys[8 * c : 8 * d], _is_ended(text))
        for number, (text, (a, b), (c, d)) in enumerate(zip(texts, pairwise(first), pairwise(begin), strict=True))
    ]


def _cut(places: NDArray[np.intp], begins: NDArray[np.intp]) -> tuple[NDArray[np.intp], list[int]]:
    """The `places` in each text that begins at one of `begins`, and where those of each text begin and at last end."""
    bounds = np.append(np.searchsorted(places, begins), len(places))
    return places - np.repeat(begins, np.diff(bounds)), bounds.tolist()


def _with_long(whole: Bytes, texts: Sequence[str], places: NDArray[np.intp]) -> frozenset[int]:
    """The numbers of the texts with a sentence that is cut: see `tiles`."""
    begins = whole.begins
    edges = np.sort(np.concatenate([places, begins, begins + [len(text) for text in texts]]))
    long = edges[:-1][np.diff(edges) > LONGEST]
    return frozenset((np.searchsorted(begins, long, "right") - 1).tolist())


def _is_ended(text: str) -> bool:
    """Whether a sentence ends where `text` does: after a stop and a blank, or a line break."""
    if not text[-1:].isspace():
        return False
    words = text.rstrip()
    return "\n" in text[len(words) :] or words.rstrip(CLOSING)[-1:] in STOPS


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
    sentences = np.array([2 * begin + (begin in heads) for begin, _ in spans[1:]], dtype=np.uint32)
    words = words_of(text, spans)
    return Reading(sentences.tobytes(), words.at.astype(np.uint32).tobytes(), words.keys.tobytes(), _is_ended(text))
