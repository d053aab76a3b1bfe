"""How well sentences answer a query, by its own words: no model, no index, any language.

Numbers, dates and names weigh more, in the query and beside it: they are what is asked for most, and what a summary
loses first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxassembly.assembly.choosing.cut import BestSentences, Sentence, sentences
from ctxassembly.data.candidates import Candidate
from ctxassembly.text.bm25 import Bm25
from ctxassembly.text.terms import finder, stems

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
    find = finder(list(dict.fromkeys(stems(query or ""))))

    def find_in(text: str) -> Sequence[str]:
        return find(text, [(0, len(text))])[0]

    found = {text: find_in(text) for text in texts}
    facts = {stem for name in _facts(query or "") for stem in stems(name)}
    bm25 = Bm25(found.values(), dict.fromkeys(facts, FACT_WEIGHT))
    mean = sum(len(text.strip()) for text in texts) / max(len(texts), 1) or 1.0
    per_fact = FACTS_SHARE * (bm25.best or 1.0) / MOST_FACTS

    def score(text: str) -> float:
        words = found[text] if text in found else find_in(text)
        if bm25.best and not words:
            return 0.0
        return bm25.score(words, len(text.strip()) / mean) + per_fact * min(len(_facts(text)), MOST_FACTS)

    return score


def _facts(text: str) -> list[str]:
    """The words with a digit, and the capitalised ones that don't begin the text: numbers, dates and names."""
    return [
        word
        for at, word in enumerate(text.split())
        if any(char.isdigit() for char in word) or (at and next(filter(str.isalnum, word), "").isupper())
    ]
