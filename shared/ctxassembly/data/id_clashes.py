"""Documents of several searches that share an id but not their texts: each is a document of its own.

Two tools over two collections may both find chunks of a `handbook.pdf`. Where both have a chunk of the same id, and its
texts differ, the two documents aren't one: as one they would be cited by one label, and their chunks joined as if the
one went on in the other. What one search found is of one collection, so all its chunks of such a document go together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ctxassembly.data.chunks import Chunk, Origin


def told_apart(searches: Sequence[Sequence[Chunk]]) -> list[Sequence[Chunk]]:
    """Return the chunks of each search, the later one of two documents that disagree under another id.

    A store still finds a renamed document by its own id (`Chunk.lookup_id`).

    >>> ours, theirs = Chunk("a#0", "a", "Leave is 25 days."), Chunk("a#0", "a", "Leave is 30 days.")
    >>> [[chunk.document_id for chunk in found] for found in told_apart([[ours], [theirs], [ours, theirs]])]
    [['a'], ['a (2)'], ['a', 'a']]
    """
    if len(searches) < 2:
        return [*searches]
    known: dict[str, list[dict[str, str]]] = defaultdict(list)
    found: list[Sequence[Chunk]] = []
    for chunks in searches:
        texts: dict[str, dict[str, str]] = defaultdict(dict)
        for chunk in chunks:
            _, chunk_id, text = chunk.identity
            texts[chunk.document_id].setdefault(chunk_id, text)
        names = {document_id: _place(known[document_id], own) for document_id, own in texts.items()}
        if any(names.values()):
            taken = {chunk.document_id for some in searches for chunk in some}
            found.append([renamed(chunk, names[chunk.document_id], taken) for chunk in chunks])
        else:
            found.append(chunks)
    return found


def _place(known: list[dict[str, str]], own: Mapping[str, str]) -> int:
    """Return the place of the first of the `known` documents that agrees with `own`, texts by chunk id; add to it."""
    for place, document in enumerate(known):
        if all(document.get(chunk_id, text) == text for chunk_id, text in own.items()):
            document.update(own)
            return place
    known.append(dict(own))
    return len(known) - 1


def renamed(chunk: Chunk, place: int, taken: Collection[str]) -> Chunk:
    """Return `chunk` as one of the document at `place` among those with its id; the first keeps the id."""
    if not place or not chunk.document_id:  # without a document, a chunk is one of its own
        return chunk
    name = f"{chunk.document_id} ({place + 1})"
    while name in taken:
        name += "*"
    origin = replace(chunk.origin or Origin(), lookup_id=chunk.lookup_id)
    return replace(chunk, document_id=name, origin=origin)
