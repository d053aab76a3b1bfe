"""Words, the way texts are compared: in any language, without case or punctuation.

Scripts without spaces between words (Chinese, Japanese, Thai, Lao, Burmese, Khmer) can't be split into words without a
dictionary. Every two adjacent characters count as a word there, as in search engines.

Two words are taken for forms of one if they begin alike, in any language, without a stemmer or a list of endings.
`PREFIX_LENGTH` letters are enough for most words of Dutch, German, Spanish and English. They are not for compounds
("Apothekenbetrieb", "Apothekergarten"), so a long word is also searched by all of its letters but the last
`ENDING_LENGTH`, and a match of these counts in addition to its prefix. They say nothing about identifiers: one of a
query (`find_identifiers`) has to be found whole.

These functions run over every chunk of every assembly, so text in ASCII and Latin-1 takes faster paths with the same
result: `bytes.translate` instead of a regular expression, and no Unicode normalization for ASCII.

`is_same_text` recognizes a text although a step between changed its form: a hit may reach an assembly with its
Markdown removed, cut at a limit, put into its window of sentences, below a line that a model wrote, or with its names
masked. Its stored text then isn't equal, but says the same words. A text of another document doesn't.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from operator import add

from ctxassembly.lazy import cached_property

UNSPACED = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese characters
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Burmese, Khmer
)
"""Ranges of the scripts without spaces, for a set of characters in a regular expression."""
WIDE_MARKS = "\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
"""Ranges of punctuation in full or half width: normalized, a full stop or slash would join the words around it."""
WIDE_LETTERS = "\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uff9f"
"""Ranges of digits and letters in full or half width, as Chinese and Japanese texts have them."""
_NON_WORD = re.compile(r"[^\w ]")
_NON_WORD_TABLE = _NON_WORD.sub(" ", bytes(range(256)).decode("latin-1")).encode("latin-1")
"""`_NON_WORD` as a translation table for Latin-1, which is several times as fast."""
_TYPOGRAPHIC_MARKS = "\u2018\u2019\u201a\u201c\u201d\u201e\u2013\u2014\u2026\u2022\xa0"
"""Quotes, dashes, ellipsis, bullet, blank: part of no word, and often the only characters beyond ASCII."""
INVISIBLE = "\xad\u200b\u200c\u200d\u2060\ufeff"
"""Soft hyphen, zero-width blank and joiners, byte order mark: inside of words, and no part of them."""
_ACCENTS = re.compile("[\u0300-\u036f]+")
"""Accents of Latin, Greek and Cyrillic letters. Marks on letters of other scripts are more than accents."""
_WORD = re.compile(r"\w+")
_TWO_LETTERS = re.compile(r"\w\w")
_STRAIGHT_QUOTES = tuple(zip("“”„«»‘’‚", '"""""\'\'\'', strict=True))


def normalize_wording(text: str) -> str:
    r"""Return `text` for a comparison word for word: straight quotation marks, lower case, one blank between words.

    >>> normalize_wording("He said:\n  “Go”")
    'he said: "go"'
    """
    if not text.isascii():
        for mark, straight in _STRAIGHT_QUOTES:  # `translate` takes a hundred times as long
            text = text.replace(mark, straight)
    return " ".join(text.casefold().split())


def strip_invisible(text: str) -> str:
    """Return `text` without what nobody sees."""
    if not text.isascii():
        for mark in INVISIBLE:
            text = text.replace(mark, "")
    return text


def find_words(text: str, phrase: str, start: int) -> int:
    """Return the offset from `start` on at which `text` has `phrase` as whole words; -1 if it hasn't."""
    at = text.find(phrase, start)
    while at >= 0 and (_is_inside_word(text, at) or _is_inside_word(text, at + len(phrase))):
        at = text.find(phrase, at + 1)
    return at


def _is_inside_word(text: str, at: int) -> bool:
    """Return True if `at` is between two letters of a word. In scripts without spaces it never is."""
    around = text[max(at - 1, 0) : at + 1]
    return _TWO_LETTERS.fullmatch(around) is not None and is_spaced(around)


def normalize(text: str) -> str:
    """Return `text` case-folded and in compatible form (NFKC: full width, ligatures); its length may change."""
    if not text.isascii():
        text = strip_invisible(text)
        for mark in _TYPOGRAPHIC_MARKS:
            text = text.replace(mark, " ")
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def strip_accents(text: str) -> str:
    """Return `normalize(text)` without accents.

    >>> strip_accents("Eén CAFÉ in Zürich")
    'een cafe in zurich'
    """
    if text.isascii():
        return text.lower()
    return _ACCENTS.sub("", unicodedata.normalize("NFKD", normalize(text)))


def is_spaced(text: str) -> bool:
    """Return True if every script in `text` puts spaces between words."""
    return _encode_latin1(text) is not None or not _patterns()[0].search(text)


def blank_punctuation(text: str) -> str:
    """Return `text` with a blank for each character that is part of no word; its length stays the same."""
    latin = _encode_latin1(text)
    return _NON_WORD.sub(" ", text) if latin is None else latin.translate(_NON_WORD_TABLE).decode("latin-1")


def _encode_latin1(text: str) -> bytes | None:
    """Return `text` in Latin-1, or None if a character isn't in it."""
    latin = text.encode("latin-1", "ignore")
    return latin if len(latin) == len(text) else None


def words(text: str) -> list[str]:
    """Return the words of `text` in order, normalized and without punctuation.

    In a script without spaces, every two adjacent characters are a word, and so is a single character.

    >>> words("It's 3.50, Ann!"), words("三天内 a")
    (['it', 's', '3', '50', 'ann'], ['三天', '天内', 'a'])
    """
    text = normalize(text)
    if is_spaced(text):
        return blank_punctuation(text).split()
    return [word for run in _patterns()[1].finditer(text) for word in _split_run(run)]


def separate_unspaced(text: str) -> str:
    """Return `text` with blanks around the words of scripts without spaces, so that any tokenizer finds these words.

    Digits and letters in full or half width get their usual width.

    >>> separate_unspaced("三天内ＩＳＯ２７００１。"), separate_unspaced("Zürich")
    (' 三天 天内 ISO27001。', 'Zürich')
    """
    runs, needs_separation, wide_marks = _separators()
    if text.isascii() or not needs_separation.search(text):
        return text
    normalized = unicodedata.normalize("NFKC", wide_marks.sub(" ", text))
    return runs.sub(lambda run: f" {' '.join(_split_run(run))} ", normalized)


@cache
def _separators() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return patterns of a run without spaces (group 1), of what needs separation, and of `WIDE_MARKS`."""
    return re.compile(f"([{UNSPACED}]+)"), re.compile(f"[{UNSPACED}{WIDE_LETTERS}]"), re.compile(f"[{WIDE_MARKS}]")


def _split_run(run: re.Match[str]) -> list[str]:
    """Return a word, or every two adjacent characters of a run in a script without spaces."""
    unspaced = run[1]
    return [run[0]] if unspaced is None or len(unspaced) == 1 else list(map(add, unspaced, unspaced[1:]))


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of an unspaced character, and of a run of these (group 1) or a word.

    Compiled on first use: it takes 2 ms of the import.
    """
    return re.compile(f"[{UNSPACED}]"), re.compile(rf"([{UNSPACED}]+)|[^\W{UNSPACED}]+")


PREFIX_LENGTH = 6
"""Number of first letters that two forms of a word share; a shorter word has no other form."""
LONG_WORD_LENGTH = 10
"""Letters of the shortest word whose prefix is too unspecific: most words of this length are compounds."""
ENDING_LENGTH = 2
"""Number of last letters in which the forms of a long word differ."""


def find_identifiers(text: str) -> dict[str, None]:
    """Return the words of `text` that have a digit, an underscore or a capital after a small letter, each once.

    They have no other forms: ISO27002 isn't a form of ISO27001, nor getUserMail of getUserName.

    >>> list(find_identifiers("ISO27001 by getUserName, in 2024"))
    ['iso27001', 'getusername', '2024']
    """
    return dict.fromkeys(word for run in _WORD.findall(text) if is_identifier(run) for word in words(run))


def is_identifier(word: str) -> bool:
    """Return True if `word` has a digit, an underscore or a capital after a small letter."""
    has_capital = not word[1:].islower()
    return not word.isalpha() or (
        has_capital and any(first.islower() and second.isupper() for first, second in pairwise(word))
    )


def word_forms(text: str, ending_length: int = ENDING_LENGTH) -> dict[str, str]:
    """Return each word of `text`, and the string that a text with blanks around its words has if it has any form of it.

    Two words are forms of one if their first six letters are the same; of a long word, all letters but its last
    `ending_length` must be. A word of fewer than six letters and an identifier have no other form. Sentences are chosen
    by the same rule.
    """
    exact = find_identifiers(text)
    return {
        word: f" {word} "
        if word in exact or len(word) < PREFIX_LENGTH
        else f" {word[:PREFIX_LENGTH] if len(word) < LONG_WORD_LENGTH else word[:-ending_length]}"
        for word in words(text)
    }


class TermQuery:
    """The words of one query, ready to be looked for in many texts.

    >>> TermQuery("fasting before gastroscopy").find_terms("Gastroscopies: the fasting patient")
    ('fasting', 'gastroscopy')
    """

    def __init__(self, query: str) -> None:
        self._query = query

    @cached_property
    def _forms(self) -> dict[str, str]:
        return word_forms(self._query)

    def find_terms(self, text: str) -> tuple[str, ...]:
        """Return the words of the query that `text` has in any form, each once, in the order of the query."""
        same = normalize(text)
        # Adapters write out every trace, so this has to be fast: one search in a string for each word.
        spaced = blank_punctuation(same) if is_spaced(same) else " ".join(words(text))
        between = f" {spaced} "
        return tuple([word for word, form in self._forms.items() if form in between])


_MIN_CHARS = 20
"""Letters and digits of a text that is no accident inside another one. Shorter texts have to be equal."""
_MASK = re.compile(r"<[^<>\n]{1,40}>|\[[^\[\]\n]{1,40}\]|\{[^{}\n]{1,40}\}|\b(?:[Xx]{3,}|_{3,}|REDACTED|MASKED)\b")
"""What is put in place of a masked name: `<PERSON>`, `[NAME]`, `XXXX`. Marks without letters are no words anyway."""


def is_same_text(text: str, other: str) -> bool:
    r"""Return True if one text has the words of the other: all of them in a row, or with others between them.

    >>> is_same_text("**Drink** water,\nuntil two hours before.", "Drink water, until two hours before.")
    True
    >>> is_same_text("<PERSON> may drink until two hours before.", "Anna Visser may drink until two hours before.")
    True
    >>> is_same_text("Leave is 25 days a year for everybody.", "Leave is 30 days a year for everybody.")
    False
    """
    if text == other or text.strip() == other.strip():
        return True
    first, second = _words(text), _words(other)
    if _is_part(*sorted((first, second), key=len)):
        return True
    bare, other_bare = _words(_MASK.sub(" ", text)), _words(_MASK.sub(" ", other))
    return (len(bare) < len(first) and _is_part(bare, second)) or (
        len(other_bare) < len(second) and _is_part(other_bare, first)
    )


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _is_part(shorter: Sequence[str], longer: Sequence[str]) -> bool:
    """Return True if `longer` has the words of `shorter` in a row; or in order, and they are at least half of it."""
    part, whole = "".join(shorter), "".join(longer)
    if part == whole:
        return bool(part)
    if len(part) < _MIN_CHARS:
        return False
    if part in whole:
        return True
    following = iter(longer)
    return 2 * len(shorter) >= len(longer) and all(word in following for word in shorter)
