"""The weight of a query's words beside their rareness: function words say little of what is asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ctxassembly.text.words import long_words, stems, words
from ctxassembly.wording.stop_words import function_words

LITTLE = 0.5
"""The weight of a function word beside another word that is as rare."""


def factors_of(query: str, lesser: Collection[str] | None = None) -> Mapping[str, float]:
    """The factor of each stem and each long word that only words of `query` have that say little, as `Bm25` takes them.

    Those are the words among `lesser`; without any given, the function words of the query's language. Where no other
    words are asked for, there are no factors: all weigh alike.
    """
    asked = frozenset(words(query))
    little = function_words(asked) if lesser is None else asked.intersection(lesser)
    rest = asked - little
    return dict.fromkeys(_forms(little) - _forms(rest), LITTLE) if rest else {}


def _forms(some: Iterable[str]) -> set[str]:
    """The forms by which `some` words are found in texts."""
    text = " ".join(some)
    return {*stems(text), *long_words(text)}
