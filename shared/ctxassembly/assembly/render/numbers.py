"""The numbers of labels: in a conversation a document keeps the label that it had, and others get the next ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import count, pairwise
from typing import NamedTuple

from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.render.labels import Label
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.wording.metadata_labels import MetadataReader

Key = tuple[int, ...]
"""What a label belongs to: a document, or a document and a chunk where each chunk has one, by their numbers."""


class Numbers(NamedTuple):
    """The numbers that a context may use."""

    first: int = 1
    step: int = 1
    """From one new label to the next."""
    known: Mapping[Key, Sequence[int]] = {}
    """The labels that the conversation has given to what is in the pool."""
    by_chunk: bool = False
    """True if each chunk has a label of its own."""

    def of(self, labels: Sequence[Label]) -> list[int]:
        """Return the number of each of `labels`: the known ones of each first."""
        new, known = count(self.first, self.step), {key: iter(numbers) for key, numbers in self.known.items()}
        found = []
        for label in labels:
            own = known.get((label.document, label.best) if self.by_chunk else (label.document,)) if known else None
            number = next(own, None) if own is not None else None
            found.append(next(new) if number is None else number)
        return found


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
        if config.cite == "document":
            found[documents[name],][int(citation.label)] = None
        for chunk_id in citation.chunk_ids if config.cite == "chunk" else ():
            if (name, chunk_id) in chunks:
                found[documents[name], chunks[name, chunk_id]][int(citation.label)] = None
    return {key: [*labels] for key, labels in found.items()}
