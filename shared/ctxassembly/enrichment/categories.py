"""The category of a chunk's content, by a few labeled examples: for affinity and boosts where metadata have none.

A chunk has the category whose examples are nearest to it on average. Measured on 24 made pages of four kinds, with a
small embedder (`python tests/bench/affinity.py`): .62 are classified right by one example of each kind, .70 by two and
.75 by three; chance has .25. The single nearest example is right as often or less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ctxassembly.assembly.dedup.semantic import Vector, unit_vector
from ctxassembly.data.chunks import Chunk
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.retrieval.fusion import category_in_metadata
from ctxassembly.runtime.driver import Port

MAX_CACHED_TEXTS = 10_000
"""Texts whose categories are cached."""


def classify_by_examples(examples: Mapping[str, Sequence[str]], embed: Any) -> Callable[[Chunk], str | None]:
    """Return a function from a chunk to its category: from its metadata, or else by the nearest examples.

    Call it when chunks are stored, and keep its result in their metadata under "category"; or give it to `retrieve` as
    `category_of`, which embeds the chunks found.

    >>> from ctxassembly import Chunk
    >>> def embed(texts):
    ...     return [[float("open" in text), float("drink" in text)] for text in texts]
    >>> category_of = classify_by_examples({"practical": ["It is open."], "appointments": ["You may drink."]}, embed)
    >>> category_of(Chunk("park#0", "park", "The garage is open at night."))
    'practical'

    Args:
        examples: some texts of each category, at least one; three are a good number.
        embed: a function from a list of texts to one vector each, or an object with `embed_documents`. A chunk that has
            a vector of the same model needs none.

    Raises:
        ConfigError: a category has no example, or an example no vector.
        InputError: `embed` is something else, or can only be awaited.
    """
    if not isinstance(examples, Mapping) or not examples or not all(map(_is_texts, examples.values())):
        raise ConfigError("examples", "a mapping of categories to texts, at least one of each", examples)
    port = Port.of_embedder(embed).require_sync("classify_by_examples takes no embeddings that can only be awaited")
    if not port:
        raise InputError("embed must be given, got None")
    centers = {category: _center(port.call(list(texts))) for category, texts in examples.items()}

    def nearest(vector: Vector | None) -> str | None:
        if vector is None:
            return None
        return max(centers, key=lambda category: sum(a * b for a, b in zip(vector, centers[category], strict=True)))

    @lru_cache(MAX_CACHED_TEXTS)
    def category_of_text(text: str) -> str | None:
        return nearest(unit_vector(port.call([text])[0]))

    def category_of(chunk: Chunk) -> str | None:
        if (known := category_in_metadata(chunk)) is not None:
            return known
        return category_of_text(chunk.text) if chunk.vector is None else nearest(unit_vector(chunk.vector))

    return category_of


def _is_texts(texts: Any) -> bool:
    return isinstance(texts, (list, tuple)) and bool(texts) and all(isinstance(text, str) for text in texts)


def _center(vectors: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean of `vectors`, each scaled to length 1; its product with a vector is the mean of their cosines."""
    units = [unit for vector in vectors if (unit := unit_vector(vector)) is not None]
    if len(units) < len(vectors):
        raise ConfigError("embed", "a function that gives a vector with a direction for each example", vectors)
    return [sum(numbers) / len(units) for numbers in zip(*units, strict=True)]
