"""The facts in which two texts of nearly the same meaning may differ: numbers, dates, names and negations.

Embeddings hardly see them: "two euros" and "three euros" have a cosine of .93, "may eat" and "may not eat" too. One
word of a hundred may be all the difference, too. So texts that differ in one are no near or semantic duplicates,
however many words they share and however close their vectors are.

Numbers are read as digits and as words, months and weekdays as words, all in the languages of `wording/languages`: in
any of them, since a short text doesn't show its own. A name is a capitalized word inside a sentence; in German every
noun is one. If a fact isn't recognized as the same, such as 120 minutes and two hours, both texts are kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from ctxassembly.text.sentences import sentence_spans
from ctxassembly.text.words import strip_accents
from ctxassembly.wording.languages import LANGUAGES, stop_words

_WORD = re.compile(r"(?:(?<![\w)\]])[-\u2212])?\d+(?:[.,]\d+)*|[^\W\d]+")
_UNIT = re.compile(
    r"\d\s?([\u00b5\u03bcmcdkMGT]?(?:[gmlLsWVAJ]|Pa|Hz|cal|B|mol)\b|[hd]\b|min\b|[%\u2030\u20ac$\u00a3]|\u00b0[CF]?)"
)
_THOUSANDS = re.compile(r"[.,](?=\d{3}(?!\d))")
_NOT = re.compile(r"(?<=[nN])['\u2019][tT]\b")
"""The end of "isn't" and "don't", which leave no word of their own."""
_MAX_NUMBER_CHARS = 40
"""Letters of the longest number word, so that a text of nothing but "tententen" takes no longer."""
_JOINTS = "und|en"
"""Between the parts of a number: vierundzwanzig, vierentwintig."""


class Facts(NamedTuple):
    """What a text states, as far as words show it."""

    figures: frozenset[str]
    """Its numbers, months, weekdays and the signs of its units, in one form for all languages."""
    negations: int
    names: frozenset[str]
    words: frozenset[str]
    """All of its words; a name may be the first word of a sentence in the other text."""


def find_facts(text: str) -> Facts:
    """Return the facts of `text`.

    >>> facts = find_facts("On 5 May Anna can't drink for vierundzwanzig hours.")
    >>> sorted(facts.figures), facts.negations, sorted(facts.names)
    (['24', '5', 'month 5'], 1, ['anna'])
    """
    calendar, negations = _calendar(), _negations()
    figures, names, words = set[str](), set[str](), Counter[str]()
    for start, end in sentence_spans(text):
        is_inside = False
        for written in _WORD.findall(text[start:end]):
            word = strip_accents(written)
            words[word] += 1
            if written in calendar or written.lower() in calendar:
                figures.add(calendar.get(written) or calendar[written.lower()])
            elif number := _number(word):
                figures.add(number)
            elif is_inside and written[0].isupper():
                names.add(word)
            is_inside |= word.isalpha()  # "1. Drink" begins a sentence
    denied = sum(words[negation] for negation in negations & words.keys()) + len(_NOT.findall(text))
    figures.update(_UNIT.findall(text))
    return Facts(frozenset(figures), denied, frozenset(names - stop_words(words)), frozenset(words))


class Match(NamedTuple):
    """A text that makes another one superfluous."""

    text_index: int
    """Its place in the list of all texts."""
    is_part: bool = False
    """True if the other text is a part of it, false if it is another version of it."""


def compare_facts(texts: Sequence[str]) -> Callable[[int, Match], bool]:
    """Return a function that is True if the text at a position differs in facts from its match; a part may have fewer.

    >>> differs = compare_facts(["Wait 2 hours. Don't eat.", "Wait 2 hours.", "Wait 3 hours."])
    >>> [differs(1, Match(0)), differs(1, Match(0, is_part=True)), differs(2, Match(0, is_part=True))]
    [True, False, True]
    """
    facts_at = cache(lambda position: find_facts(texts[position]))  # few texts are similar to another one

    def differs(position: int, match: Match) -> bool:
        part, whole = facts_at(position), facts_at(match.text_index)
        return _lacks_facts(whole, part) or (not match.is_part and _lacks_facts(part, whole))

    return differs


def _lacks_facts(whole: Facts, part: Facts) -> bool:
    return not part.figures <= whole.figures or part.negations > whole.negations or not part.names <= whole.words


def _number(word: str) -> str:
    """Return the number that `word` is, in digits; empty if it is none, or "one", which may be an article."""
    if not word[:1].isalpha():
        return _THOUSANDS.sub("", word).replace(",", ".").replace("\u2212", "-")
    values, part_of_number, number = _number_words()
    if len(word) > _MAX_NUMBER_CHARS or not number.fullmatch(word):
        return ""
    total = 0
    for part in part_of_number.findall(word):
        total = max(total, 1) * values[part] if values[part] >= 100 else total + values[part]
    return str(total) if total > 1 else ""


@cache
def _number_words() -> tuple[dict[str, int], re.Pattern[str], re.Pattern[str]]:
    """Return the value of each number word, the pattern of these, and the pattern of words that are made of them."""
    listed = [strip_accents(language.number_words).split() for language in LANGUAGES.values()]
    values = {word: int(value) for words in listed for value, word in zip(words[::2], words[1::2], strict=True)}
    part = "|".join(sorted(values, key=len, reverse=True))
    return values, re.compile(part), re.compile(f"(?:{part})(?:(?:{_JOINTS})?(?:{part}))*")


@cache
def _calendar() -> dict[str, str]:
    """Return each month and weekday as it is written inside a sentence, with its name in all languages."""
    return {
        word: f"{kind} {number}"
        for language in LANGUAGES.values()
        for kind, listed in (("month", language.months), ("weekday", language.weekdays))
        for number, word in enumerate(listed.split(), 1)
    }


@cache
def _negations() -> frozenset[str]:
    return frozenset(strip_accents(" ".join(language.negations for language in LANGUAGES.values())).split())
