"""The words of a chunk as an index keeps them, with what each counts in the score of keyword search."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import get_path
from ctxassembly.stores.simple_words import count_occurrences, lexemes, ts_rank

FIELDS = ("title", "questions")
"""The metadata keys whose text is searched with the chunk's own: of its title, and of questions that it answers."""


def term_counts(
    chunk: Chunk,
    fields: Sequence[str | None] = FIELDS,
    words: Callable[[str], Sequence[str]] = lexemes,
    notes: Sequence[str] = (),
) -> dict[str, float]:
    """Return the words of `chunk` with their saturated counts; the keyword score is the sum of weight x count.

    >>> from ctxassembly import Chunk
    >>> counts = term_counts(Chunk("a", "d", "No water, no tea.", metadata={"title": "Water"}))
    >>> {word: round(count, 3) for word, count in counts.items()}
    {'water': 0.076, 'no': 0.076, 'tea': 0.061}

    Args:
        chunk: whose text is searched.
        fields: metadata keys, or dotted paths, whose values are searched with it.
        words: a function from a text to its words as they are to be found.
        notes: a model's notes on it, which are searched as its text.
    """
    texts = (*(_field_text(key, chunk) for key in fields), "\n".join((*notes, chunk.text)))
    return {word: ts_rank(times) for word, times in count_occurrences([words(text) for text in texts]).items()}


def _field_text(key: str | None, chunk: Chunk) -> str:
    """Return the text under a metadata key or path; for any other value its JSON, whose words a table would index."""
    value = None if key is None else get_path(chunk.metadata, key)
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)
