"""Near duplicates: chunks that say nearly the same in nearly the same words.

Two texts are near if their sets of words are: the number of words they share, divided by the number of words in either
(Jaccard similarity), reaches the threshold. A text is part of a longer one if that share of its shingles, runs of five
words, occurs in the longer text, too. Words alone would call a short text part of any long one on the same subject;
shingles keep the order, and five words in a row are no accident.

Of such a pair one is superfluous only if the other says all of it: every sentence word for word, in the same order. A
word in another's place is a fact, in any language: a negation, an opposite, a unit, a sign. What may differ is case and
punctuation, a phrase that asks for attention, and what the kept text has in addition. In code each sign counts.

Texts are compared pair by pair, but only where one has any of the rarest words of the other: of a text that is near
only a few words may be missing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import cache
from itertools import chain, islice
from typing import NamedTuple, TypeVar

from ctxassembly.assembly.dedup.facts import Match
from ctxassembly.assembly.dedup.similar import FindMatches
from ctxassembly.text.sentences import sentence_spans
from ctxassembly.text.words import UNSPACED, normalize, words

T = TypeVar("T")
SHINGLE_WORDS = 5
"""Words of a shingle, as in the published rule of containment: few enough for edits, too many for an accident."""

_DASH = re.compile("[\u2012-\u2015\u2212](?=[.,]?\\d)")
_TOKEN = re.compile(
    rf"(?<![\w)\]])-(?=[.,]?\d)|[<>=\u2264\u2265\u2260\u00b1~+%\u2030\u00b0$\u20ac\u00a3\u00a5&/\\]|(?<=\w)#|[{UNSPACED}]"
    rf"|\d+(?:[.,]\d+)*|[^\W\d{UNSPACED}]+"
)
"""A word or number, a character of a script without spaces, or a sign that changes what is said."""
_LEAD_IN = re.compile(
    r"\W*(?:(?:please (?:note|remember)(?: that)?|nb|n\.b|note|attention|important|warning|caution"
    r"|bitte beachten(?: sie)?(?:,? dass)?|hinweis|achtung|wichtig|let op|opgelet|belangrijk"
    r"|veuillez noter(?: que)?|remarque|tenga en cuenta(?: que)?|atenci\u00f3n|importante|nota)\b"
    r"|(?:\u8bf7)?\u6ce8\u610f(?=\W))[\s:,;.!\uff1a\uff0c\u2013\u2014-]*",
    re.IGNORECASE,
)
"""A phrase at the beginning of a sentence that only asks for attention."""
_MEGA = re.compile(r"(?<=\d)(\s?)M(?=(?:[WVAJL\u03a9]|Hz|Pa|eV|bit|B)\b)")
"""The one letter of which case decides: MW and mW."""
_STOPS = ".!?\u3002\uff01\uff1f\u0964\u061f"
_CODE = re.compile(
    r"^\s*```|(?:[{}]|\);|\breturn\b.*;)\s*$|[A-Za-z0-9_]\((?!e?s\))|[=!<>:+*/-]=|[-=]>|&&|\|\|"
    r"|^\s*(?:def|class|import|return|if|for|while)\b.*:$|^\s*[\w.\[\]]+ = \S",
    re.MULTILINE,
)


class Wording(NamedTuple):
    """What a text says, word for word: sentences without case, punctuation and lead-ins, a blank between two words."""

    sentences: list[str]
    edges: tuple[str, str]
    """What is before its first word and after its last one in a text of which it may be a part: a blank if, as far as
    capitals and stops show it, it begins or ends inside a sentence."""


def compare_wording(texts: Sequence[str]) -> Callable[[int, Match], bool]:
    """Return a function that is True if the text at a position says anything that its match doesn't.

    >>> differs = compare_wording(["Please note: drink water, not tea.", "Drink water not tea", "Drink tea not water."])
    >>> [differs(1, Match(0)), differs(0, Match(1)), differs(2, Match(0))]
    [False, False, True]
    """
    wording_at = cache(lambda position: _wording(texts[position]))  # few texts are similar to another one

    def differs(position: int, match: Match) -> bool:
        if (own := wording_at(position)) is None or (other := wording_at(match.text_index)) is None:
            return texts[position].strip() not in texts[match.text_index]
        begin, end = own.edges if match.is_part else ("| ", " |")
        if f"{begin}{' | '.join(own.sentences)}{end}" in f"| {' | '.join(other.sentences)} |":
            return False
        said = {*own.sentences}
        return [sentence for sentence in other.sentences if sentence in said] != own.sentences

    return differs


def _wording(text: str) -> Wording | None:
    """Return what `text` says; None if it has code."""
    if _CODE.search(text):
        return None
    text = _MEGA.sub(r"\1mega ", _DASH.sub("-", text))
    sentences = (_without_lead_in(text[start:end]) for start, end in sentence_spans(text))
    listed = (" ".join(_TOKEN.findall(normalize(sentence))) for sentence in sentences)
    bare = text.strip()
    edges = "| " if bare[:1].isupper() else " ", " |" if bare[-1:] in _STOPS else " "
    return Wording([*filter(None, listed)], edges)


def _without_lead_in(text: str) -> str:
    lead_in = _LEAD_IN.match(text)
    return text[lead_in.end() :] if lead_in else text


def find_near(texts: Sequence[str], threshold: float) -> FindMatches:
    """Return the function that finds the texts that one of `texts` is near to or part of.

    A text without words is near to nothing; one of fewer than five is part of nothing.

    >>> near = find_near(["Drink water until two hours before.", "Drink water until two hours before it."], 0.85)
    >>> near(1, {0})
    [Match(text_index=0, is_part=False)]
    """
    listed = [words(_without_lead_in(text)) for text in texts]
    word_sets = [frozenset(text) for text in listed]
    # Hashes take a third of the memory of the words, and two of 64 bits are equal by chance once in 10^19.
    shingle_sets = [
        frozenset(map(hash, zip(*(text[first:] for first in range(SHINGLE_WORDS)), strict=False))) for text in listed
    ]
    frequency = Counter(chain.from_iterable(word_sets))

    def probe(items: Collection[T]) -> frozenset[T]:
        """Return so many of `items` that a text must have one of them, since it may lack fewer."""
        return frozenset(islice(items, int((1 - threshold) * len(items)) + 2))

    def find(position: int, kept: Collection[int]) -> list[Match]:
        found, own, own_shingles = list[Match](), word_sets[position], shingle_sets[position]
        rarest, some_shingles = probe(sorted(own, key=frequency.__getitem__)), probe(own_shingles)
        for other in sorted(kept):
            theirs, their_shingles = word_sets[other], shingle_sets[other]
            if not rarest.isdisjoint(theirs) and _similarity(own, theirs) >= threshold:
                found.append(Match(other))
            elif (
                len(own_shingles) <= len(their_shingles)
                and not some_shingles.isdisjoint(their_shingles)
                and len(own_shingles & their_shingles) / len(own_shingles) >= threshold
            ):
                found.append(Match(other, is_part=True))
        return found

    return find


def _similarity(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the number of words that two texts share, divided by the number of words in either."""
    shared = len(first & second)
    return shared / (len(first) + len(second) - shared)
