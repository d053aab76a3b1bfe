"""The labels of a context, each with the text that is read under it, and their numbers.

In a conversation a document keeps the label that it had, and others get the next ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import count, pairwise
from typing import NamedTuple

from ctxassembly.assembly.pool import Pool
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.data.chunks import Span
from ctxassembly.wording.metadata_labels import MetadataReader

Key = tuple[int, ...]
"""What a label belongs to: a document, or chunks of it, by their numbers."""


class Label(NamedTuple):
    """What is read under one label: runs of one document in reading order."""

    part: int
    document: int
    best: int
    """The number in the pool of its best chunk: hits before neighbors, then by rank."""
    chunks: tuple[int, ...]
    """All chunks that its runs are in, in reading order."""
    runs: tuple[Span, ...]
    """In the joined text."""
    value: float
    """Of its best unit."""


class Layout(NamedTuple):
    """The labels of a context, in order."""

    labels: list[Label]
    owns: list[int]
    """From where on the text is owned by each chunk: a chunk that isn't read leaves its overlap to the next one."""
    cuts: frozenset[int] = frozenset()
    """Where, in the joined text, text was cut that goes on: a marker follows."""


class Numbers(NamedTuple):
    """The numbers that a context may use."""

    first: int = 1
    step: int = 1
    """From one new label to the next."""
    known: Mapping[Key, Sequence[int]] = {}
    """The labels that the conversation has given to what is in the pool."""
    by_document: bool = False
    """True if a document has one label, whichever of its chunks are read."""

    def of(self, labels: Sequence[Label]) -> list[int]:
        """Return the number of each of `labels`: the known ones of each first."""
        new, known = count(self.first, self.step), {key: iter(numbers) for key, numbers in self.known.items()}
        found = []
        for label in labels:
            own = known.get((label.document, *(() if self.by_document else label.chunks))) if known else None
            number = next(own, None) if own is not None else None
            found.append(next(new) if number is None else number)
        return found


def label_numbers(pool: Pool, config: AssemblyConfig, conversation: Conversation | None, first: int) -> Numbers:
    """Return the numbers of labels: with a `conversation` what had one keeps it, and new ones follow its last."""
    if conversation is None:
        return Numbers(first)
    step = 1 if conversation.labels else conversation.label_step
    by_document = config.cite == "document"
    known = _known_labels(pool, config, conversation, by_document=by_document) if config.enabled else {}
    return Numbers(first, step, known, by_document)


def _known_labels(
    pool: Pool, config: AssemblyConfig, conversation: Conversation, *, by_document: bool
) -> dict[Key, list[int]]:
    """Return the labels that `conversation` has given to what is in `pool`, if the source has the same name in all."""
    reader, edges = MetadataReader(config.keys, config.language), [*pool.documents, len(pool.candidates)]
    documents: dict[str, int] = {}
    sources: dict[str, set[str]] = defaultdict(set)
    chunks: dict[tuple[str, str], int] = {}
    for document, (start, end) in enumerate(pairwise(edges)):
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
        own = () if by_document else (chunks.get((name, chunk_id), -1) for chunk_id in citation.chunk_ids)
        key = documents[name], *own
        found[key][int(citation.label)] = None
    return {key: [*labels] for key, labels in found.items()}
