"""How well sentences answer a query, by its own words: no model, no index, any language.

BM25 (Robertson and Zaragoza 2009, "The probabilistic relevance framework") over the sentences at hand, on stems of six
letters. Numbers, dates and names weigh more, in the query and beside it: they are what is asked for most, and what a
summary loses first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from ctxassembly.cut import Sentence, sentences
from ctxassembly.scale import BestSentences
from ctxassembly.types import Candidate
from ctxassembly.words import words

SATURATION = 1.2
"""How fast repeating a word stops to count: k1 of BM25, its usual value."""
LENGTH_SHARE = 0.75
"""How much longer sentences are held back: b of BM25, its usual value."""
STEM_CHARS = 6
"""Letters that two forms of a word share: in Dutch, German, Spanish and English that is enough to find most."""
FACT_WEIGHT = 2.0
"""What a number or a name in the query weighs beside its other words."""
FACTS_SHARE = 0.25
"""What numbers and names that the query doesn't have are worth at most, in parts of its rarest word."""
MOST_FACTS = 5
"""More numbers and names than these don't make a sentence better: tables are full of them."""


def best_sentences(query: str | None, candidates: Sequence[Candidate]) -> BestSentences:
    """A function from some of `candidates` to their sentences, those that answer `query` best first.

    Sentences that have nothing to do with the query are left out, unless none has. Of equal ones the one that comes
    first stays first. What has to be read of all candidates is read when the function is first asked.
    """
    score: Callable[[str], float] | None = None

    def best(some: Sequence[Candidate]) -> list[Sentence]:
        nonlocal score
        if score is None:
            score = scorer(query, [each.text for candidate in candidates for each in sentences(candidate)])
        found = [(score(each.text), each) for candidate in some for each in sentences(candidate)]
        useful = [pair for pair in found if pair[0] > 0] or found
        return [each for _, each in sorted(useful, key=lambda pair: -pair[0])]

    return best


def scorer(query: str | None, texts: Sequence[str]) -> Callable[[str], float]:
    """A function from one of `texts` to its score, 0 or more: 0 says that it has nothing to do with the query.

    Without a query, or with one of which no word occurs, numbers and names alone decide.
    """
    stemmed = {text: _stems(text) for text in texts}
    found = Counter(stem for stems in stemmed.values() for stem in set(stems))
    mean = sum(map(len, stemmed.values())) / max(len(stemmed), 1) or 1.0
    facts = {stem for name in _facts(query or "") for stem in _stems(name)}
    weights = {
        stem: math.log(1 + (len(stemmed) - found[stem] + 0.5) / (found[stem] + 0.5))
        * (FACT_WEIGHT if stem in facts else 1)
        for stem in set(_stems(query or ""))
        if stem in found
    }
    per_fact = FACTS_SHARE * max(weights.values(), default=1.0) / MOST_FACTS

    def score(text: str) -> float:
        stems = stemmed.get(text) or _stems(text)
        counted = Counter(stem for stem in stems if stem in weights)
        if weights and not counted:
            return 0.0
        held_back = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * len(stems) / mean)
        matched = sum(weights[stem] * times * (SATURATION + 1) / (times + held_back) for stem, times in counted.items())
        return matched + per_fact * min(len(_facts(text)), MOST_FACTS)

    return score


def _stems(text: str) -> list[str]:
    return [word[:STEM_CHARS] for word in words(text)]


def _facts(text: str) -> list[str]:
    """The words with a digit, and the capitalised ones that don't begin the text: numbers, dates and names."""
    return [
        word
        for at, word in enumerate(text.split())
        if any(char.isdigit() for char in word) or (at and next(filter(str.isalnum, word), "").isupper())
    ]
