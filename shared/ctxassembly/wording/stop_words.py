"""Stop words: words of a query that say little about what it asks for, "what", "explain", "waarom", "zusammen".

The language of a query is unknown, and a stop word in one language may be the subject in another: the German "war" and
the Spanish "sea". So only the stop words of one language count: the language with the most stop words in the query.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ctxassembly.wording.languages import LANGUAGES


def stop_words(words: Iterable[str]) -> frozenset[str]:
    """Return the `words` that are stop words in the language, or languages, with the most stop words among them.

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
