"""Documents that an engine finds by their titles: what is stored with the first chunk of each, and what is looked up.

An engine looks up whole values. So the first words of a title are stored, and each run of so many words in a text is
looked up; `MemoryStore` then compares the chunks that are found with the whole texts.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.enrichment import sort_key
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.text.titles import comparable, document_title, title_beginnings

WORDS = 4
"""The first words of a title that are stored: by fewer too many titles of a corpus begin alike."""
MAX_BEGINNINGS = 20_000
"""The most runs of words that are looked up, from the first text on."""
MAX_DOCUMENTS = 256
"""The most documents whose titles begin as they should, of which an assembly adds a few."""


def stored_title(chunk: Chunk, keys: MetadataKeys) -> str | None:
    """Return what is stored of the title of the document that begins with `chunk`; None if it has none.

    >>> stored_title(Chunk("a", "a", "# The planet Mercury, seen from the earth", 0), MetadataKeys())
    'the planet mercury seen'
    """
    return next(title_beginnings(document_title(chunk, keys), WORDS), None)


def mentioned_titles(texts: Iterable[str]) -> list[str]:
    """Return what is looked up of the titles that `texts` may mention."""
    found = dict.fromkeys(beginning for text in texts for beginning in title_beginnings(comparable(text), WORDS))
    return list(islice(found, MAX_BEGINNINGS))


def title_changes(stored: Iterable[tuple[Any, Chunk, str | None]], keys: MetadataKeys) -> dict[Any, str | None]:
    """Return the titles to store, None for one to delete, so that only the first chunk of a document has its title.

    >>> chunks = [Chunk("a#1", "a", "Hot.", 1), Chunk("a#0", "a", "# Mercury", 0)]
    >>> title_changes([(1, chunks[0], "hot"), (2, chunks[1], None)], MetadataKeys())
    {1: None, 2: 'mercury'}

    Args:
        stored: all chunks of some documents, each with the key under which it is stored and the title stored with it.
        keys: under which titles are read.
    """
    titled: dict[Any, str | None] = {}
    firsts: dict[str, tuple[tuple[Any, ...], Any, str | None]] = {}
    for key, chunk, title in stored:
        if title is not None:
            titled[key] = title
        first = firsts.get(chunk.document_id)
        if first is None or sort_key(chunk) < first[0]:
            firsts[chunk.document_id] = sort_key(chunk), key, stored_title(chunk, keys)
    wanted = {**dict.fromkeys(titled), **{key: title for _, key, title in firsts.values()}}
    return {key: title for key, title in wanted.items() if title != titled.get(key)}
