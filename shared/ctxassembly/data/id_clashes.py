"""Documents of several searches that share an id but not their texts: each is a document of its own.

Two tools over two collections may both find chunks of a `handbook.pdf`. Where both have a chunk of the same id, and its
texts differ, the two documents aren't one: as one they would be cited by one label, and their chunks joined as if the
one went on in the other. What one search found is of one collection, so all its chunks of such a document go together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ctxassembly.data.chunks import Chunk, ChunkOrigin


def separate_shared_ids(searches: Sequence[Sequence[Chunk]]) -> list[Sequence[Chunk]]:
    """Return the chunks of each search, the later one of two documents that disagree under another id.

    A store still finds a renamed document by its own id (`Chunk.lookup_id`).

    >>> ours, theirs = Chunk("a#0", "a", "Leave is 25 days."), Chunk("a#0", "a", "Leave is 30 days.")
    >>> [[chunk.document_id for chunk in found] for found in separate_shared_ids([[ours], [theirs], [ours, theirs]])]
    [['a'], ['a (2)'], ['a', 'a']]
    """
    if len(searches) < 2:
        return [*searches]
    known: dict[str, list[dict[str, str]]] = defaultdict(list)
    separated: list[Sequence[Chunk]] = []
    for chunks in searches:
        texts: dict[str, dict[str, str]] = defaultdict(dict)
        for chunk in chunks:
            _, chunk_id, text = chunk.identity
            texts[chunk.document_id].setdefault(chunk_id, text)
        numbers = {document_id: _document_number(known[document_id], own) for document_id, own in texts.items()}
        if any(numbers.values()):
            used_ids = {chunk.document_id for some in searches for chunk in some}
            separated.append([renumber_document(chunk, numbers[chunk.document_id], used_ids) for chunk in chunks])
        else:
            separated.append(chunks)
    return separated


def _document_number(known: list[dict[str, str]], texts: Mapping[str, str]) -> int:
    """Return the place of the first of the `known` documents that agrees with `texts`, texts by chunk id; add to it."""
    for place, document in enumerate(known):
        if all(document.get(chunk_id, text) == text for chunk_id, text in texts.items()):
            document.update(texts)
            return place
    known.append(dict(texts))
    return len(known) - 1


def renumber_document(chunk: Chunk, number: int, used_ids: Collection[str]) -> Chunk:
    """Return `chunk` as one of the document at `number` among those with its id; the first keeps the id."""
    if not number or not chunk.document_id:  # without a document, a chunk is one of its own
        return chunk
    name = f"{chunk.document_id} ({number + 1})"
    while name in used_ids:
        name += "*"
    origin = replace(chunk.origin or ChunkOrigin(), lookup_id=chunk.lookup_id)
    return replace(chunk, document_id=name, origin=origin)
