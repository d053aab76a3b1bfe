"""Function words: those of a query that say little of what is asked for, "what", "explain", "waarom", "zusammen".

Nobody says in which language a query is, and a word that says little in one may be what is asked for in another: the
German "war" and the Spanish "sea". So those of one language count: that of which the query has most.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ctxassembly.wording.languages import LANGUAGES


def function_words(words: Iterable[str]) -> frozenset[str]:
    """Those of `words` that say little in the language that has the most of them; of each such language, if several.

    >>> sorted(function_words(["what", "caused", "the", "war"]))
    ['the', 'what']
    >>> sorted(function_words(["warum", "begann", "war", "der", "krieg"]))
    ['der', 'war', 'warum']
    """
    known = [listed.intersection(words) for listed in _of_each_language()]
    most = max(map(len, known))
    return frozenset().union(*(found for found in known if len(found) == most))


@cache
def _of_each_language() -> tuple[frozenset[str], ...]:
    return tuple(
        frozenset(f"{language.function_words} {language.asking_words}".split()) for language in LANGUAGES.values()
    )
