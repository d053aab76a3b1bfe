"""Readings of chunks, remembered by their text: another question over the same chunks reads none of them again."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from ctxassembly.text import query_terms
from ctxassembly.text.query_terms import Reading
from ctxassembly.tokens.cache import Remembered

REMEMBERED_BYTES = 32 * 1024 * 1024
"""Bytes of all that is remembered: about 6,000 texts of 1,500 characters. Those asked for longest ago are forgotten."""

_readings = Remembered[Reading](REMEMBERED_BYTES, attrgetter("nbytes"))


def read(texts: Sequence[str]) -> list[Reading]:
    """The readings of `texts`."""
    known = {text: _readings.get(text) for text in texts}
    new = [text for text, own in known.items() if own is None]
    known |= {text: _readings.put(text, own) for text, own in zip(new, query_terms.read(new), strict=True)}
    return [own for text in texts if (own := known[text]) is not None]
