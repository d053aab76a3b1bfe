"""Function words: those of a query that say little of what is asked for, "what", "explain", "waarom", "zusammen".

Nobody says in which language a query is, and a word that says little in one may be what is asked for in another: the
German "war" and the Spanish "sea". So those of one language count: that of which the query has most.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ctxassembly.wording.languages import LANGUAGES


def stop_words(words: Iterable[str]) -> frozenset[str]:
    """Return those of `words` that say little in the language, or languages, with the most such words.

    >>> sorted(stop_words(["what", "caused", "the", "war"]))
    ['the', 'what']
    >>> sorted(stop_words(["warum", "begann", "war", "der", "krieg"]))
    ['der', 'war', 'warum']
    """
    matches = [listed.intersection(words) for listed in _stop_word_lists()]
    max_count = max(map(len, matches))
    return frozenset().union(*(found for found in matches if len(found) == max_count))


@cache
def _stop_word_lists() -> tuple[frozenset[str], ...]:
    return tuple(
        frozenset(f"{language.stop_words} {language.question_words}".split()) for language in LANGUAGES.values()
    )
