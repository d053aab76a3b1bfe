"""The lines of text that may repeat what another one has, told at a glance.

Most contexts repeat nothing, and to compare bytes takes far less than to read sentences. So what is between two stops
is compared, and a line that shares none of it need not be read. What was cut out of a line is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from sys import getsizeof

from ctxassembly.assembly.rendering.excerpt import Line, without
from ctxassembly.text.sentences import FULL_STOPS
from ctxassembly.tokens.cache import Remembered

GLANCED_CHARS = 25
"""Of what two texts share, from which it tells that they may share a sentence."""
END_BYTES = 60
"""Of the end of what is between two stops, which is compared: before its sentence one line may have a heading."""
REMEMBERED_BYTES = 8 * 1024 * 1024
"""Bytes of the lines whose pieces are remembered from one assembly to the next, with these."""
HASH_BYTES = 36
"""Of an int that is a hash."""

_PIECES = Remembered[frozenset[int]](REMEMBERED_BYTES, lambda pieces: getsizeof(pieces) + HASH_BYTES * len(pieces))
_STOP = rf"(?:[.!?{FULL_STOPS}]|\n\n)"
_STOP_TO_STOP = re.compile(rf"{_STOP}.*{_STOP}", re.DOTALL)
_FULL_STOPS = [stop.encode() for stop in FULL_STOPS]
_TO_STOPS = bytes.maketrans(b"!?", b"..")


def may_repeat(lines: Sequence[tuple[Line, str]]) -> list[int]:
    """The places of those of `lines`, each with its text, that share what stands between two stops or paragraphs."""
    seen: set[int] = set()
    common: set[int] = set()
    pieces: list[frozenset[int]] = []
    for line, whole in lines:
        text = _standing(line, whole)
        known = _PIECES.get(text)
        pieces.append(_PIECES.put(text, _pieces(text)) if known is None else known)
        common |= seen & pieces[-1]
        seen |= pieces[-1]
    return [at for at, own in enumerate(pieces) if not common.isdisjoint(own)]


def _standing(line: Line, text: str) -> str:
    """The `text` of a line without what is between two stops in what was cut out of it."""
    if all(candidate.kept is None for _, candidate in line.members):
        return text
    text = f".{text}."  # both ends are stops
    spans = sorted(
        (begin + start + 1, begin + end + 1) for begin, candidate in line.members for start, end in candidate.slices
    )
    parts: list[str] = []
    done = 0
    for start, end in without((0, len(text)), spans):
        # What stands before the gap may end with the first stop.
        before = done + len(text[done:start].rstrip())
        if found := _STOP_TO_STOP.search(text, max(before - 1, 0), end):
            parts.append(text[done : found.start()])
            done = found.end()
    return ".".join([*parts, text[done:]])


def _pieces(text: str) -> frozenset[int]:
    """The hashes of the ends of what stands between two stops of `text`, of all that is long enough to tell."""
    # As bytes, since that is a fifth of the work, and most contexts share nothing.
    whole = text.encode("utf-8", "surrogatepass").replace(b"\n\n", b".")
    for stop in _FULL_STOPS:
        if stop[:1] in whole and stop in whole:
            whole = whole.replace(stop, b".")
    pieces = whole.translate(_TO_STOPS, b" \n\t\r\v\f").split(b".")
    return frozenset([hash(piece[-END_BYTES:]) for piece in pieces if len(piece) > GLANCED_CHARS])
