"""What the conversation has already is left out before anything is chosen, so that its room goes to new text.

Text is compared, not only ids: a chunk of another version, or of another tenant, was not sent. Nor was the same text
under another document, which has yet to be named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.assembly.barred import Barred
from ctxassembly.assembly.join import Text
from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.render.numbers import Key, Numbers
from ctxassembly.assembly.score.score import Scores
from ctxassembly.assembly.select.merge import divide
from ctxassembly.assembly.units import Units
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.data.candidates import ALREADY_SENT, Candidate
from ctxassembly.data.chunks import Span
from ctxassembly.wording.metadata_labels import MetadataReader

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Bools, Ints

SENT_SHARE = 0.5
"""Share of a sentence from which on it counts as sent."""


class Sent(NamedTuple):
    """Where the conversation has text of the pool."""

    spans: Sequence[Span] = ()
    """In the joined text."""
    labels: Mapping[int, str] = {}
    """The label of the text of each chunk that it has any text of, by number."""


def find_sent(text: Text, pool: Pool, conversation: Conversation) -> Sent:
    """Return what `conversation` has of `text`."""
    spans, labels, find = list[Span](), dict[int, str](), _sent_text(conversation)
    for number, candidate in enumerate(pool.candidates):
        found, label = find(candidate)
        if found:
            labels[number] = label
            spans += [(text.begins[number] + start, text.begins[number] + end) for start, end in found]
    return Sent(spans, labels)


def bar_sent(text: Text, units: Units, scores: Scores, sent: Sent) -> tuple[Units, Scores, Barred]:
    """Return the units, divided where sent text begins and ends if they are chunks, and which of them were sent."""
    if units.leads is not units.starts:
        for offset in sorted({edge for span in sent.spans for edge in span}):
            number = int(np.searchsorted(units.starts, offset, "right")) - 1
            if number >= 0 and units.starts[number] < offset < units.ends[number]:
                units, scores = divide(units, scores, number, offset)
    edges = np.zeros(len(text.text) + 1, np.int64)
    np.add.at(edges, [start for start, _ in sent.spans], 1)
    np.add.at(edges, [end for _, end in sent.spans], -1)
    covered = np.append(0, np.cumsum(np.cumsum(edges) > 0))
    lengths = np.maximum(units.ends - units.starts, 1)
    mask: Bools = (covered[units.ends] - covered[units.starts]) >= SENT_SHARE * lengths
    # What is left between two sent sentences may be nothing but signs.
    for number in np.flatnonzero(~mask & (covered[units.ends] > covered[units.starts])).tolist():
        rest = "".join(_outside(text.text, int(units.starts[number]), int(units.ends[number]), covered))
        mask[number] = not any(map(str.isalnum, rest))
    whole = np.append(0, np.cumsum(~mask))
    is_all = whole[units.lasts] == whole[units.firsts]
    labels = {**sent.labels}
    by = {number: ALREADY_SENT for number in labels if not is_all[number]}
    return units, scores, Barred(mask, {number: ALREADY_SENT for number in labels if is_all[number]}, by, labels)


def _outside(whole: str, start: int, end: int, covered: Ints) -> list[str]:
    return [whole[at] for at in range(start, end) if covered[at + 1] == covered[at]]


def label_numbers(pool: Pool, config: AssemblyConfig, conversation: Conversation | None, first: int) -> Numbers:
    """Return the numbers of labels: with a `conversation` a document keeps its own, and new ones follow its last."""
    by_chunk = config.cite == "chunk"
    if conversation is None:
        return Numbers(first, by_chunk=by_chunk)
    known = {} if config.cite == "passage" or not config.enabled else _known_labels(pool, config, conversation)
    step = 1 if conversation.labels else conversation.label_step
    return Numbers(first, step, known, by_chunk)


def _known_labels(pool: Pool, config: AssemblyConfig, conversation: Conversation) -> dict[Key, list[int]]:
    """Return the labels that `conversation` has given to what is in `pool`, if the source has the same name in all."""
    reader, edges = MetadataReader(config.keys, config.language), [*pool.documents, len(pool.candidates)]
    documents: dict[str, int] = {}
    sources: dict[str, set[str]] = defaultdict(set)
    chunks: dict[tuple[str, str], int] = {}
    for document, (start, end) in enumerate(zip(edges, edges[1:], strict=False)):
        for number in range(start, end):
            chunk = pool.candidates[number].chunk
            documents[chunk.document_id] = document
            sources[chunk.document_id].add(reader.source(chunk))
            chunks[chunk.document_id, chunk.id] = number
    found: dict[Key, dict[int, None]] = defaultdict(dict)
    for citation in conversation.citations:
        name = citation.document_id
        if sources.get(name) != {citation.source}:
            continue
        if config.cite == "document":
            found[documents[name],][int(citation.label)] = None
        for chunk_id in citation.chunk_ids if config.cite == "chunk" else ():
            if (name, chunk_id) in chunks:
                found[documents[name], chunks[name, chunk_id]][int(citation.label)] = None
    return {key: [*labels] for key, labels in found.items()}


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
