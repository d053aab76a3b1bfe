"""The prefixes of the ids of a view: by its content, so that the same page is written again byte for byte.

A notebook may show one context twice. Ids of a page have to be unique, else the links of the second view lead into the
first; so a view in a notebook counts how often its content was shown before in this process. Run from its beginning, a
notebook gets the same ids again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import count

from ctxassembly.data.citations import Assembled
from ctxassembly.inspect.evidence import Located

MOST_SHOWN = 10_000
"""Contents whose views are counted. One that was first shown longer ago begins anew: its page is long out of sight."""
_SHOWN: dict[str, Iterator[int]] = {}
"""For each content the numbers of its next views. `next` of one is atomic, and so needs no lock."""


def anchor(context: Assembled, found: Sequence[Located]) -> str:
    """The prefix for a page of its own: by the text, the decisions and the evidence, not by the times in the trace."""
    shown = f"{context.trace.decisions!r}{context.text}" + "\0".join(one.said for one in found)
    return _digest(shown)


def next_anchor(context: Assembled, found: Sequence[Located]) -> str:
    """The prefix for one more view on a page that it shares with others; that of the first is that of `anchor`."""
    first = anchor(context, found)
    before = next(_SHOWN.setdefault(first, count()))
    while len(_SHOWN) > MOST_SHOWN:
        _SHOWN.pop(next(iter(_SHOWN)), None)
    return _digest(f"{first} {before}") if before else first


def _digest(text: str) -> str:
    return "cxa-" + blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()
