"""Boosts and affinity: factors that reorder what was found. They bring nothing in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ctxassembly.config.retrieval import Boost
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.filters import as_predicate
from ctxassembly.data.metadata_keys import look_up
from ctxassembly.data.retrieval import AFFINITY, Found
from ctxassembly.retrieval.fuse import in_order, multiplied

Classifier = Callable[[Chunk], str | None]
"""A function from a chunk to its category of content."""


def by_key(key: str) -> Classifier:
    """The classifier that reads the metadata under `key`."""

    def category_of(chunk: Chunk) -> str | None:
        value = look_up(chunk.metadata, key)
        return value if isinstance(value, str) else None

    return category_of


def boosted(found: Sequence[Found], boosts: Sequence[Boost]) -> list[Found]:
    """`found` with each boost's factor on the chunks that it is for, best first."""
    for boost in boosts:
        found = [multiplied(one, boost.name, boost.factor) if _agrees(one.chunk, boost.where) else one for one in found]
    return in_order(found)


def attuned(
    found: Sequence[Found], factors: Mapping[str, float], category_of: Classifier
) -> tuple[list[Found], list[Found]]:
    """`found` with the factor of its category for the intent, best first; and those that a factor below 1 lowered."""
    changed: list[Found] = []
    lowered: list[Found] = []
    for one in found:
        category = category_of(one.chunk) or ""
        factor = factors.get(category, 1.0)
        changed.append(one if factor == 1.0 else multiplied(one, AFFINITY + category, factor))
        if factor < 1.0:
            lowered.append(changed[-1])
    return in_order(changed), lowered


def _agrees(chunk: Chunk, where: Mapping[str, Any]) -> bool:
    own = {"id": chunk.id, "document_id": chunk.document_id, **chunk.metadata}
    return all(
        as_predicate({key: wanted})(chunk) if isinstance(wanted, Mapping) else _is(look_up(own, key), wanted)
        for key, wanted in where.items()
    )


def _is(value: Any, wanted: Any) -> bool:
    """True if `value`, or one of its values if it is a list, is the wanted one or among the wanted ones."""
    values = value if isinstance(value, (list, tuple, set, frozenset)) else (value,)
    several = isinstance(wanted, Collection) and not isinstance(wanted, (str, bytes))
    return any(one in wanted if several else one == wanted for one in values if one is not None)
