"""Evidence marked in a text, the same in every view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ctxassembly.inspect.marks import Mark
from ctxassembly.inspect.markup import Html, joined, marked, tag

_NAMED = 5
"""Most pieces of evidence that a mark names."""


def evident(
    text: str,
    spans: Iterable[Mark],
    begin: int = 0,
    ids: Callable[[Sequence[int]], Sequence[str]] | None = None,
) -> Html:
    """`text`, which begins at offset `begin` of what `spans` count in, with each piece of evidence marked.

    `spans` have the numbers of the pieces, from 0. `ids` gives the ids of a mark for the numbers that stand in it.

    >>> evident("Drink water.", [((6, 11), (0,))])
    'Drink <mark class="cxa-evidence" title="evidence 1">water</mark>.'
    """
    parts = marked(text, spans, begin)
    return joined(*(_mark(part, numbers, ids(numbers) if ids else ()) if numbers else part for part, numbers in parts))


def _mark(text: str, numbers: Sequence[int], ids: Sequence[str]) -> Html:
    inside: str = text
    for id_ in ids[1:]:
        inside = tag("span", inside, id_=id_, tabindex="-1")
    rest = f" and {len(numbers) - _NAMED:,} more" if len(numbers) > _NAMED else ""
    return tag(
        "mark",
        inside,
        class_="cxa-evidence",
        id_=ids[0] if ids else None,
        tabindex="-1" if ids else None,
        title="evidence " + ", ".join(f"{number + 1}" for number in numbers[:_NAMED]) + rest,
    )
