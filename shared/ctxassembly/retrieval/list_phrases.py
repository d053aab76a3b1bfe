"""Phrases of questions that ask for a list, in five languages.

"All", "every" and "list" are enough by themselves. "Which" needs a plural: "welke artsen" asks for a list, "welke arts"
for one of them. French and some Spanish forms of "which" are plural themselves. Elsewhere the noun must be: the next
word, or one of the next after adjectives such as "other". Plurals are recognized by their endings, so a few nouns are
judged wrongly ("welke keuken", which is singular).
"""

from __future__ import annotations

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
