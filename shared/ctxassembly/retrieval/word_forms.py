"""The words of a question: phrases that ask for a list, plurals, and what a compound ends in.

The language of a word is unknown, so all endings of Dutch, German and English plurals are tried. What is found counts
only if it is a name or alias of a taxonomy. Where a plural looks like another word of the same stem ("tester",
"breathe"), the ending isn't taken off: a form that is missed can be added as an alias.

Of the phrases, "all", "every" and "list" are enough by themselves. "Which" needs a plural: "welke artsen" asks for a
list, "welke arts" for one of them. French and some Spanish forms of "which" are plural themselves. Elsewhere the noun
must be: the next word, or one of the next after adjectives such as "other". Plurals are recognized by their endings, so
a few nouns are judged wrongly ("welke keuken", which is singular).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MIN_SINGULAR_LETTERS = 4
"""Letters of the shortest singular: "aids" isn't a plural of "aid", nor "arts" of "art"."""
MAX_LETTERS = 60
"""Letters of the longest word that is looked at."""

_CONSONANT = "[b-df-hj-np-tv-xz]"
_PLURALS = tuple(
    (re.compile(rf"(?:{plural})\Z"), singular)
    for plural, singular in (
        ("(?<=[^siu])s", ""),  # scans, hartfilmpjes; neither "glass" nor "polis"
        ("ies", "y"),
        ("(?:(?<=[sxz])|(?<=[cs]h))es", ""),
        ("es", "is"),  # diagnoses
        ("en", ""),
        (f"({_CONSONANT})\\1en", r"\1"),  # stoffen: stof
        (f"(?<![aeiou])([aeou])({_CONSONANT})en", r"\1\1\2"),  # kwalen: kwaal
        ("ven", "f"),
        ("zen", "s"),
        ("(?<![aeiou])([aeou])ven", r"\1\1f"),
        ("(?<![aeiou])([aeou])zen", r"\1\1s"),
        ("(?<=in)nen", ""),
        ("(?<=e)n|(?<=e[lr])n", ""),  # Schwestern
        # Elsewhere -er makes a person or a thing: "tester", "scanner".
        ("(amt|bad|bild|blatt|buch|fach|feld|glied|haus|kind|mann)ern?", r"\1"),
        # Befunde; neither "breathe", "morale" nor "humane", nor a short word such as "caste".
        ("(?<=.{5})(?<!th)(?<!al)(?<!an)e", ""),
        ("nisse", "nis"),
    )
)
"""Endings of plurals, and what the singular has in their place. Accents are gone: "Ärzte" is "arzte"."""


def singular_forms(word: str) -> list[str]:
    """Return the words that `word`, normalized and without accents, may be a plural of.

    >>> singular_forms("huidartsen"), singular_forms("allergies")
    (['huidarts', 'huidartse'], ['allergie', 'allergy', 'allergiis'])
    """
    if len(word) > MAX_LETTERS:
        return []
    found = dict.fromkeys(pattern.sub(singular, word) for pattern, singular in _PLURALS if pattern.search(word))
    return [form for form in found if len(form) >= MIN_SINGULAR_LETTERS]


MIN_COMPOUND_END_LETTERS = 5
"""Letters of the shortest last part of a compound: "manier" is no kind of "nier", nor "afstand" of "tand"."""
MIN_LATIN_LETTERS = 8
"""The same for a word in -tion or the like: "vaccination" is no "nation", "oorinfectie" is an "infectie"."""
MIN_COMPOUND_HEAD_LETTERS = 3
"""Letters of the shortest first part: "neurologie" is no "urologie"."""

_LATIN = ("tion", "sion", "tie", "sie")
_PREFIXES = re.compile(
    "a(?:an|nt|nti|uf|us|uto)|b(?:ei|ij)|co[mn]|[ck]ontra|d(?:is|oor|urch|ys)|e(?:in|ndo|nt|pi|xo|xtra)|gegen|her"
    "|hyper|hypo|inter|intra|iso|kon|ma[ck]ro|mede|meta|mi[ck]ro|mi[st]|mono|multi|nach|non|onder|ont|out|over"
    "|para|per|peri|poly|post|pre|pro|pseudo|semi|sub|super|sup|sus|tegen|tele|toe|trans|uber|uit|under|unter|ver"
    "|voor|vor|weg|zer"
)
"""First parts that make another word of the last part instead of a kind of it."""
_DIGRAPHS = frozenset(["aa", "ae", "ai", "au", "ee", "ei", "eu", "ie", "ij", "oe", "oi", "oo", "ou", "ui", "uu"])
"""Vowels that Dutch separates between the parts of a compound: "kinderneurologie" isn't from "kinderne"."""


def compound_ends(word: str) -> Iterator[str]:
    """Yield the words that `word`, normalized, may be a compound of and end in, the longest first.

    >>> next(compound_ends("kinderhuidarts")), "huidarts" in compound_ends("kinderhuidarts")
    ('derhuidarts', True)
    """
    if len(word) > MAX_LETTERS:
        return
    least = MIN_LATIN_LETTERS if word.endswith(_LATIN) else MIN_COMPOUND_END_LETTERS
    for at in range(MIN_COMPOUND_HEAD_LETTERS, len(word) - least + 1):
        if word[at - 1 : at + 1] not in _DIGRAPHS and not _PREFIXES.fullmatch(word, 0, at):
            yield word[at:]


_DUTCH_ADJECTIVES = r"(?:\w+(?:[eg]re|[bd]ere|bare|ijke|ige|ische|ele|ale|ieve)\s+|(?:alle|beste|goede|nieuwe)\s+){0,2}"
_DUTCH_PLURAL = r"\w+(?:en|(?:aar|eur|ie|[eo]r|e?[lm]|[dmnt]e|[' ])s)\b"

_ENGLISH_ADJECTIVES = r"(?:(?:other|new|more|different|available|female|male|senior|\w+(?:atric|ical|ed))\s+){0,2}"
_ENGLISH_PLURAL = r"(?:(?!(?:was|has|does|goes)\b)\w+[^\Wsiu]s|people|(?:wo)?men|children|staff)\b"

_GERMAN_ADJECTIVES = r"(?:\w+(?:eren|ichen|igen|ischen)\s+){0,2}"
_GERMAN_PLURAL = (
    r"(?!\w*(?:schwester|nummer|kammer|mutter|tochter)\b)"
    r"(?:[\w:*]+(?:e[lr]?n|er|[almor]s)|\w*(?:arzte|dienste|gerate|kurse|mente|raume|teile|termine|werte))\b"
)
"""Most nouns in -e are feminine and singular ("Adresse"), so the plurals among them are named."""

# "Que" is a conjunction, too ("que los ..."), and precedes verbs ("que puedes ...").
_SPANISH_PLURAL = r"(?!(?:\w*(?:edes|ienes|ieres|uedas|aces)|eres|estas)\b)\w{3,}s\b"

LIST_PHRASES = (
    rf"\ball\b|\bevery\b|\blist\b|\bwhich\s+(?:of\s+(?:the|these|your|our)\s+)?{_ENGLISH_ADJECTIVES}{_ENGLISH_PLURAL}",
    rf"\balle\b|\b(?:lijst|overzicht)\b|\bwelke\s+{_DUTCH_ADJECTIVES}{_DUTCH_PLURAL}",
    rf"\balle[nr]?\b|\bliste\b|\b(?:welche|(?:bei|mit|von|zu)\s+welchen)\s+{_GERMAN_ADJECTIVES}{_GERMAN_PLURAL}",
    r"\btou(?:s|tes)\b|\bquel(?:le)?s\b|\bliste\b",
    rf"\btod[oa]s\b|\bcuales\b|\blista\b|\bque\s+{_SPANISH_PLURAL}",
)
"""Regular expressions for a question in small letters without accents."""
