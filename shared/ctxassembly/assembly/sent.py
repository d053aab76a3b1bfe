"""What the conversation has already is left out before anything is chosen, so that its room goes to new text.

Text is compared, not only ids: a chunk of another version, or of another tenant, was not sent. Nor was the same text
under another document, which has yet to be named.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.assembly.join import Text, place_of
from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.units import Barred, Units, divide
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.data.candidates import ALREADY_SENT, Candidate, Reason, Shortening
from ctxassembly.data.chunks import Span

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Bools


class Sent(NamedTuple):
    """Where the conversation has text of the pool."""

    spans: Sequence[Span] = ()
    """In the joined text."""
    labels: Mapping[int, str] = {}
    """The label of the text of each chunk that it has any text of, by number."""


def find_sent(text: Text, pool: Pool, conversation: Conversation) -> Sent:
    """Return what `conversation` has of `text`. Text that two chunks share is sent if either has sent it."""
    found, find = list[tuple[Span, str]](), _sent_text(conversation)
    for number, candidate in enumerate(pool.candidates):
        spans, label = find(candidate)
        begin = (text.origins or text.begins)[number] - text.headers[number]
        found += [((place_of(text, begin + start), place_of(text, begin + end)), label) for start, end in spans]
    labels = dict[int, str]()
    begins = [*accumulate(reversed(text.begins), min)][::-1]  # one chunk may be inside the one before it
    for (start, stop), label in found:
        for number in range(bisect_right(text.ends, start), bisect_left(begins, stop)):
            if _has_text(text.text, max(start, text.begins[number]), min(stop, text.ends[number])):
                labels.setdefault(number, label)
    return Sent([span for span, _ in found], dict(sorted(labels.items())))


def _has_text(whole: str, start: int, end: int) -> bool:
    """Return True if `whole` has a letter or a digit from `start` to `end`; between sent texts signs say nothing."""
    return start < end and any(map(str.isalnum, whole[start:end]))


def bar_sent(text: Text, units: Units, sent: Sent) -> tuple[Units, Barred]:
    """Return the units, divided where sent text begins and ends inside one, and which of them were sent."""
    whole = text.text
    for offset in sorted({edge for span in sent.spans for edge in span}):
        number = int(np.searchsorted(units.starts, offset, "right")) - 1
        start, end = int(units.starts[number]), int(units.ends[number])
        if number >= 0 and _has_text(whole, start, offset) and _has_text(whole, offset, end):
            units = divide(units, number, offset)
    edges = np.zeros(len(whole) + 1, np.int64)
    np.add.at(edges, [start for start, _ in sent.spans], 1)
    np.add.at(edges, [end for _, end in sent.spans], -1)
    is_sent = np.cumsum(edges) > 0
    covered = np.append(0, np.cumsum(is_sent))
    if units.leads is not units.starts:  # the overlap of a chunk may have been sent with the one before
        has_sent = covered[units.starts] > covered[units.leads]
        units = units._replace(leads=np.where(has_sent, units.starts, units.leads))
    mask: Bools = covered[units.ends] - covered[units.starts] == units.ends - units.starts
    for number in np.flatnonzero(~mask & (covered[units.ends] > covered[units.starts])).tolist():
        places = range(int(units.starts[number]), int(units.ends[number]))
        mask[number] = not any(whole[at].isalnum() for at in places if not is_sent[at])
    left = np.append(0, np.cumsum(~mask))
    is_all = left[units.lasts] == left[units.firsts]
    labels = {**sent.labels}
    reasons: dict[int, Reason] = {number: ALREADY_SENT for number in labels if is_all[number]}
    by: dict[int, Shortening] = {number: ALREADY_SENT for number in labels if not is_all[number]}
    return units._replace(barred=mask), Barred(reasons, by, labels)


def _sent_text(conversation: Conversation) -> Callable[[Candidate], tuple[list[Span], str]]:
    """Return a function from a candidate to the spans of its text that `conversation` has, and their first label."""
    by_chunk: dict[tuple[str, str], list[tuple[Span, str, str]]] = defaultdict(list)
    by_text: dict[tuple[str, str], str] = {}
    for sent in conversation.sent:
        for label, source in sent.labeled_sources():
            said = sent.text[source.span[0] : source.span[1]]
            by_chunk[source.document_id, source.chunk_id].append((source.chunk_span, said, label))
            by_text.setdefault((source.document_id, said.strip()), label)

    def find(candidate: Candidate) -> tuple[list[Span], str]:
        chunk = candidate.chunk
        sent = [
            (span, label)
            for span, said, label in by_chunk.get((chunk.document_id, chunk.id), ())
            if chunk.text[span[0] : span[1]] == said
        ]
        if not sent and (label := by_text.get((chunk.document_id, chunk.text.strip()))) is not None:
            return [(0, len(chunk.text))], label
        return [span for span, _ in sent], sent[0][1] if sent else ""

    return find
