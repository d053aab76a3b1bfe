"""The words of a query as they are looked for in what was read of texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from sys import getsizeof
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from ctxassembly.data.chunks import Span
from ctxassembly.text.sentences import (
    CLOSING,
    MAX_ITEM_NUMBER_CHARS,
    MAX_SENTENCE_CHARS,
    MIN_WORD_CHARS,
    MIN_WRAPPED_CHARS,
    OPEN_ENDINGS,
    STOPS,
    is_abbreviation,
    is_item_number,
    is_table_row,
    is_wrapped_line,
    sentence_spans,
)
from ctxassembly.text.words import PREFIX_LENGTH, UNSPACED, is_spaced, long_prefixes, normalize, prefixes, spaced_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Many texts as one string of bytes, a byte a character, so that tables and arrays can read them all at once.
#
# That is Latin-1, with the typographic marks and symbols that stand in nearly every text in the places of the control
# characters 0x80 to 0x9f, which stand in none. So a place in the bytes is a place in the text. A text with any other
# character is strange to it: functions over strings read those.


_BLANKS = "\u2003\u2009\u202f\u3000"
# Marks that are no part of a word, and become none in compatible form.
_MARKS = (
    "\u2018\u2019\u201a\u201c\u201d\u201e\u2039\u203a\u2032"  # quotes
    "\u2010\u2011\u2013\u2014\u2212"  # hyphens, dashes, minus
    "\u2026\u2020\u2022\u25a0\u25aa\u25cf\u2192\u2713"  # ellipsis, dagger, bullets, arrow, tick
    "\u2264\u2265\u20ac\u200b\ufeff\ufffd"  # inequality, euro, what has no width, what could not be decoded
    f"{_BLANKS}"
)
_CONTROL = range(0x80, 0xA0)
BYTE_FOR_MARK = dict(zip(_MARKS, map(chr, _CONTROL), strict=True))
"""The character that stands for each mark."""
LATIN1_CHARACTERS = "".join(map(chr, (*range(0x80), *range(0xA0, 0x100))))
"""The characters that stand for themselves."""
BLANKS = "".join(char for char in LATIN1_CHARACTERS if char.isspace()) + _BLANKS
GUARD = "\0"
"""It stands between two texts: neither white space nor part of a word."""
PADDING = 8
"""Guards at either end, so that a look at the eight bytes before or after a place never leaves the bytes."""
_BYTE_OF = {"?": ord("?"), **{mark: ord(char) for mark, char in BYTE_FOR_MARK.items()}}


class PackedTexts(NamedTuple):
    """Texts as bytes, one after the other, with guards around each."""

    data: bytes
    starts: NDArray[np.intp]
    """The place of each text's first character."""
    unpackable: frozenset[int]
    """The numbers of the texts that have a guard, or a character without a byte, whose bytes mean nothing."""


def pack_texts(texts: Sequence[str]) -> PackedTexts:
    """The bytes of `texts`."""
    begins = np.cumsum([PADDING, *(len(text) + 1 for text in texts)], dtype=np.intp)[:-1]
    beside = GUARD * (PADDING - 1)
    joined = GUARD.join((beside, *texts, beside))
    strange = {number for number, text in enumerate(texts) if GUARD in text}
    if joined.isascii():
        return PackedTexts(joined.encode("ascii"), begins, frozenset(strange))
    whole = bytearray(joined.encode("latin-1", "replace"))
    letters = np.frombuffer(whole, np.uint8)
    others = np.flatnonzero((letters == ord("?")) | (letters - np.uint8(_CONTROL.start) < len(_CONTROL)))  # modulo 256
    for number, (first, last) in enumerate(pairwise([*np.searchsorted(others, begins).tolist(), len(others)])):
        for at in others[first:last].tolist() if first < last else ():
            if (byte := _BYTE_OF.get(joined[at])) is None:
                strange.add(number)
                break
            whole[at] = byte
    return PackedTexts(bytes(whole), begins, frozenset(strange))


def class_table(*classes: str) -> bytes:
    """A translation table: for each byte, the sum of 1, 2, 4, ... for the first, second, third, ... class it is in."""
    of = [frozenset(BYTE_FOR_MARK.get(char, char) for char in chars) for chars in classes]
    return bytes(sum(1 << bit for bit, chars in enumerate(of) if chr(byte) in chars) for byte in range(256))


# Where the sentences of many texts begin, by arrays: the rules of `sentences.tiles`, for texts as one string of bytes.
#
# A sentence ends in white space with a stop before it or a line break in it, so runs of white space are what is looked
# at. Tables decide nearly all of them. What they can't tell is left to the functions over strings that tell it for one
# text: a short word before a full stop, a full line before a word with a capital, the number of an item, a row of a
# table.


if TYPE_CHECKING:
    Places = NDArray[np.intp]
    Flags = NDArray[np.bool_]

_BLANK, _STOP, _CLOSING, _LETTER, _LOWER, _NUMERAL, _OPEN, _AFTER_WORD = (1 << bit for bit in range(8))
_CLASSES = class_table(
    BLANKS,
    ".!?…",
    CLOSING,
    "".join(char for char in LATIN1_CHARACTERS if char.isalpha()),
    "".join(char for char in LATIN1_CHARACTERS if char.isalpha() and char.islower()),
    "0123456789ivxIVX¹²³¼½¾",
    OPEN_ENDINGS,
    ",.;",
)
_MAX_CLOSING_MARKS = 8
"""Closing marks after a stop that are looked past."""
_MAX_WORD_LETTERS = 16
"""Letters of the longest word that is looked past: nearly all are shorter."""


class _Whole(NamedTuple):
    """All texts."""

    letters: NDArray[np.uint8]
    classes: NDArray[np.uint8]
    """The classes of each character, as bits."""
    begins: Places
    texts: Sequence[str]


class _Ends(NamedTuple):
    """Runs of white space with a stop before them or a line break in them, one array each."""

    start: Places
    end: Places
    stop: Places
    """The last character before the run that closes nothing."""
    is_stop: Flags
    breaks: NDArray[np.int8]
    """How many line breaks the run has; 2 for more."""
    edge: Places
    """Where the next sentence begins: behind the last line break, since the indentation of a line is the line's."""
    line: Places
    """Where the line that the run ends begins."""
    has_bar: Flags
    """Whether that line has a bar, so that it may be a row of a table."""
    text: Places
    """The number of the text it is in."""


def sentence_starts(read: PackedTexts, texts: Sequence[str]) -> Places:
    """The places in the bytes at which sentences begin, but for the first of each text."""
    letters = np.frombuffer(read.data, np.uint8)
    classes = np.frombuffer(read.data.translate(_CLASSES), np.uint8)
    whole = _Whole(letters, classes, read.starts, texts)
    ends = _ends(whole)
    kept = np.ones(len(ends.edge), dtype=bool)
    kept[_wrapped(whole, ends)] = False
    kept[_false_ends(whole, ends, kept)] = False
    found: Places = ends.edge[kept]
    return found


def _ends(whole: _Whole) -> _Ends:
    """Those runs that have text of their own text on both sides."""
    letters, classes = whole.letters, whole.classes
    start, end = _runs(letters, classes)
    stop = start - 1
    for _ in range(_MAX_CLOSING_MARKS):
        stop = stop - (classes[stop] & _CLOSING > 0)
    is_stop = classes[stop] & _STOP > 0
    lines = np.append((0, 0), np.flatnonzero(letters == ord("\n")))  # the first two are no line breaks but guards
    number = np.searchsorted(lines, end) - 1
    last, before = lines[number], lines[number - 1]
    breaks = np.add(last >= start, before >= start, dtype=np.int8)
    some = np.flatnonzero((is_stop | (breaks > 0)) & (letters[start - 1] > 0) & (letters[end] > 0))
    start, end, stop, last, before = (each[some] for each in (start, end, stop, last, before))
    breaks = breaks[some]
    text = np.searchsorted(whole.begins, start, "right") - 1
    edge = np.where(breaks > 0, last + 1, end)
    line = np.maximum(whole.begins[text], np.where(breaks > 0, before, last) + 1)
    bars = np.flatnonzero(letters == ord("|"))
    has_bar = np.searchsorted(bars, line) < np.searchsorted(bars, start)
    return _Ends(start, end, stop, is_stop[some], breaks, edge, line, has_bar, text)


def _runs(letters: NDArray[np.uint8], classes: NDArray[np.uint8]) -> tuple[Places, Places]:
    """Where runs of white space start and end, without the single blanks between words, which most of them are."""
    blank = (classes & _BLANK).view(bool)  # the lowest bit: 0 or 1
    marked = (classes[:-2] & (_STOP | _CLOSING) > 0) | (letters[1:-1] == ord("\n")) | blank[2:]
    start = np.flatnonzero(marked & (blank[1:-1] > blank[:-2])) + 1
    end = start + 1
    # Each run of more has one end, and those are in the same order.
    two = blank[1:] & blank[:-1]
    end[blank[end]] = np.flatnonzero(two[:-1] > two[1:]) + 2
    return start, end


def _wrapped(whole: _Whole, ends: _Ends) -> list[int]:
    """The numbers of those `ends` that only wrap a full line: see `after_line`."""
    classes = whole.classes
    full = (ends.start - ends.line >= MIN_WRAPPED_CHARS) & (classes[ends.start - 1] & (_LETTER | _OPEN) > 0)
    maybe = np.flatnonzero(full & (ends.breaks == 1) & ~ends.is_stop & ~ends.has_bar)
    # Surely, if a word in small letters follows.
    follows = ends.end[maybe]
    behind = follows
    for _ in range(_MAX_WORD_LETTERS):
        behind = behind + (classes[behind] & _LOWER > 0)
    behind = behind + (classes[behind] & _AFTER_WORD > 0)
    sure = (classes[follows] & _LOWER > 0) & (classes[behind] & _BLANK > 0)
    found: list[int] = maybe[sure].tolist()
    others = maybe[~sure]
    text = ends.text[others]
    at = ends.edge[others] - 1 - whole.begins[text]
    for number, own, place in zip(others.tolist(), text.tolist(), at.tolist(), strict=True):
        if is_wrapped_line(whole.texts[own], place):
            found.append(number)
    return found


def _false_ends(whole: _Whole, ends: _Ends, kept: Flags) -> list[int]:
    """The numbers of those `kept` that end no sentence but a number, an abbreviation or a cell.

    That depends on where their sentence began, so on what became of the end before.
    """
    letters, classes, stop = whole.letters, whole.classes, ends.stop
    before = np.append(0, np.maximum.accumulate(np.where(kept, ends.edge, 0)))[:-1]
    since = np.maximum(before, whole.begins[ends.text])
    last, inner = letters[ends.start - 1], classes[ends.start - 2]
    # A number ends in a sign of one, or in a letter alone; an abbreviation in either, or before a blank.
    number_too = ((last == ord(".")) | (last == ord(")"))) & (ends.edge - since <= MAX_ITEM_NUMBER_CHARS)
    number_too &= (inner & _NUMERAL > 0) | ((inner & _LETTER > 0) & (classes[ends.start - 3] & _LETTER == 0))
    short_too = (last == ord(".")) & (inner & (_LETTER | _NUMERAL | _BLANK) > 0)
    short_too &= (ends.end - ends.start == 1) & (letters[ends.start] == ord(" "))
    # None is as long as a word.
    word = np.ones(len(kept), dtype=bool)
    for step in range(1, MIN_WORD_CHARS + 1):
        word &= classes[stop - step] & _LETTER > 0
    short_too &= ~word
    row_too = ends.has_bar & (ends.breaks == 0)
    some = np.flatnonzero(kept & (number_too | short_too | row_too))
    columns = (ends.text, whole.begins[ends.text], before, ends.edge, stop, number_too, short_too, row_too)
    rows = zip(some.tolist(), *(column[some].tolist() for column in columns), strict=True)
    found: list[int] = []
    begins: dict[int, int] = {}
    for number, own, offset, previous, edge, at, maybe_number, maybe_short, maybe_row in rows:
        text = whole.texts[own]
        # Where the end before is none, the sentence began where that one's did.
        begin = max(begins.get(previous, previous) - offset, 0)
        if (
            (maybe_number and is_item_number(text, begin, edge - offset))
            or (maybe_short and is_abbreviation(text, begin, at - offset))
            or (maybe_row and is_table_row(text, begin, edge - offset))
        ):
            found.append(number)
            begins[edge] = begin + offset
    return found


# Stems as numbers, and where the words of texts begin: what a query's words are looked for in.
#
# A stem has at most six letters. In Latin-1 these are the lower bytes of its key, so the keys of all words of all texts
# come of one load of eight bytes each and a mask. Any other stem has a key with the top bit set: its hash, so that two
# stems of one corpus share a key has a chance of one in a million million; or its characters, if they are at most two.
# So the pairs of a text without spaces, which has as many of them as characters, come of one array: its words are found
# in a fourteenth of the time.


_OTHER = 1 << 63
_CHAR_BITS = 21
_PAIR = 2
"""Characters of the longest stem whose key has them."""
_FIRST_BEYOND_LATIN1 = "\u0100"
"""The first character beyond Latin-1."""
_EXPANDING_LETTERS = "ßµ".encode("latin-1")
"""Letters that have more than one letter, or one beyond Latin-1, in `plain` text."""
_WORD = re.compile(r"\w+")
_ACCENTED = re.compile("(?:\\w[\u0300-\u036f]*)+")
"""A word with accents that are characters of their own."""
_PREFIX_MASK, _LOWEST, _HIGHEST = (np.uint64(byte * 0x01_01_01_01_01_01) for byte in (0xFF, 0x01, 0x80))
"""All bits of a stem, and the lowest and the highest one of each letter."""


class WordKeys(NamedTuple):
    """The words of a text, in order."""

    starts: NDArray[np.intp]
    """Where each begins, or in a script without spaces its sentence, if `plain` text has other places."""
    keys: NDArray[np.uint64]
    """The key of each one's stem."""


@lru_cache(16_384)
def prefix_key(stem: str) -> int:
    """The key of a stem as `stems` makes them."""
    if stem.isascii() or max(stem) < _FIRST_BEYOND_LATIN1:
        return int.from_bytes(stem.encode("latin-1"), "little")
    if len(stem) <= _PAIR:
        return _OTHER | ord(stem[0]) << _CHAR_BITS | ord(stem[1:] or "\0")
    return hash(stem) & (_OTHER - 1) | _OTHER


def _letter(char: str) -> str:
    """The letter of `plain` text for `char`; a zero if it is part of no word."""
    same = char if ord(char) in _EXPANDING_LETTERS else normalize(char)
    return same if len(same) == 1 and (same.isalnum() or same == "_") else "\0"


_FOLDED = bytes(ord(_letter(chr(byte))) if chr(byte) in LATIN1_CHARACTERS else 0 for byte in range(256))


def packed_words(whole: bytes) -> WordKeys:
    """The words of texts as `pack_texts` makes them; they begin at places in the bytes."""
    folded = whole.translate(_FOLDED)
    is_part = np.frombuffer(folded, np.uint8) != 0
    at = np.flatnonzero(is_part[1:] > is_part[:-1]) + 1
    loads: NDArray[np.uint64] = np.ndarray((len(folded) - PADDING + 1,), "<u8", folded, 0, (1,))
    keys = loads[at] & _PREFIX_MASK
    # The highest bit of the first letter that is none: with that, the stem ends (Warren, Hacker's Delight, 6-1).
    end = (keys - _LOWEST) & ~keys & _HIGHEST
    keys &= (end & -end) - np.uint64(1)
    for letter in _EXPANDING_LETTERS:
        if letter in folded:
            found = np.flatnonzero(np.frombuffer(folded, np.uint8) == letter)
            of = np.searchsorted(at, found, "right") - 1
            for number in of[found - at[of] < PREFIX_LENGTH].tolist():
                place = at[number].item()
                keys[number] = _expanding_key(folded[place : place + PREFIX_LENGTH].partition(b"\0")[0])
    return WordKeys(at, keys)


@lru_cache(4_096)
def _expanding_key(letters: bytes) -> int:
    return prefix_key(normalize(letters.decode("latin-1"))[:PREFIX_LENGTH])


def string_words(text: str, sentences: Sequence[Span]) -> WordKeys:
    """The words of a text in any script, which has these `sentences`."""
    same = normalize(text)
    if is_spaced(same):
        return _hash_words(_spaced(text, same))
    if len(same) == len(text):
        return _pair_words(same)
    return _hash_words((begin, stem) for begin, end in sentences for stem in prefixes(text[begin:end]))


def _spaced(text: str, same: str) -> Iterator[tuple[int, str]]:
    if len(same) == len(text):
        return ((match.start(), match[0][:PREFIX_LENGTH]) for match in _WORD.finditer(same))
    # Plain text may be longer or shorter: then the words of the text are made plain one by one.
    return ((match.start(), stem) for match in _ACCENTED.finditer(text) for stem in prefixes(match[0]))


def _hash_words(found: Iterable[tuple[int, str]]) -> WordKeys:
    places, own = [], []
    for at, stem in found:
        places.append(at)
        own.append(stem)
    keys = np.fromiter(map(hash, own), np.int64, len(own)).view(np.uint64) | np.uint64(_OTHER)
    for number in [number for number, stem in enumerate(own) if stem < _FIRST_BEYOND_LATIN1 or len(stem) <= _PAIR]:
        keys[number] = prefix_key(own[number])
    return WordKeys(np.array(places, dtype=np.intp), keys)


def _pair_words(text: str) -> WordKeys:
    """The words of a plain text in a script without spaces: see `terms`."""
    codes, table = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4"), _unspaced()
    unspaced = np.append(table[np.minimum(codes, len(table) - 1)], False)
    goes_on = unspaced[1:]
    # A pair begins at each character but the last one of a run, and one that stands alone is a word, too.
    begins = unspaced[:-1] & (goes_on | ~np.append(False, unspaced[:-2]))
    at = np.flatnonzero(begins)
    second = np.where(goes_on[at], np.append(codes, 0)[at + 1], 0).astype(np.uint64)
    keys = codes[at].astype(np.uint64) << np.uint64(_CHAR_BITS) | second | np.uint64(_OTHER)
    others = _hash_words((match.start(), match[0][:PREFIX_LENGTH]) for match in spaced_words(text))
    if not len(others.starts):
        return WordKeys(at, keys)
    at, keys = np.append(at, others.starts), np.append(keys, others.keys)
    order = np.argsort(at)
    return WordKeys(at[order], keys[order])


@cache
def _unspaced() -> NDArray[np.bool_]:
    """Whether each character is of a script without spaces; the last one stands for all beyond."""
    table = np.zeros(max(ord(last) for _, last in UNSPACED) + 2, dtype=bool)
    for first, last in UNSPACED:
        table[ord(first) : ord(last) + 1] = True
    return table


# What is read of a text whatever is asked: where its sentences and its words begin.
#
# Many texts are read at once, as one string of bytes (`breaks.py`, `stem_keys.py`); those in other scripts one by one,
# with the functions that those rules come from. On 2,500 chunks of papers, standards, minutes and encyclopedia in four
# languages both find the same words, and the same sentences but in six chunks.


Number = TypeVar("Number", bound=np.integer)
# A section begins at a heading, or after two blank lines.
_SECTION = re.compile(r"\n(?:\n\n+|(?=#{1,6} ))")


class TextIndex(NamedTuple):
    """What was read of a text: numbers as bytes, which are cut and put together faster than arrays."""

    sentences: bytes
    """Where each sentence but the first begins, times two, and 1 more where a section begins: uint32."""
    word_starts: bytes
    """Where each word begins: uint32."""
    keys: bytes
    """The key of each word's stem: uint64."""
    is_ended: bool
    """Whether a sentence ends where the text does."""

    @property
    def nbytes(self) -> int:
        """What it takes in memory: about two bytes a character."""
        return sum(map(getsizeof, self))


def concat_numbers(parts: Iterable[bytes], dtype: type[Number]) -> NDArray[Number]:
    """The numbers in these `parts` of readings, one after the other."""
    return np.frombuffer(b"".join(parts), dtype)


def index_texts(texts: Sequence[str]) -> list[TextIndex]:
    """The readings of `texts`, which are read together: one by one they would take several times as long."""
    if not texts:
        return []
    whole = pack_texts(texts)
    places, words = sentence_starts(whole, texts), packed_words(whole.data)
    sentences, first = _split_by_text(places, whole.starts)
    at, begin = _split_by_text(words.starts, whole.starts)
    coded = (2 * sentences + _section_starts(whole.data, places)).astype(np.uint32).tobytes()
    placed, keys = at.astype(np.uint32).tobytes(), words.keys.tobytes()
    strange = whole.unpackable | _texts_with_long_sentence(whole, texts, places)
    return [
        _index_string(text)
        if number in strange
        else TextIndex(coded[4 * a : 4 * b], placed[4 * c : 4 * d], keys[8 * c : 8 * d], _is_ended(text))
        for number, (text, (a, b), (c, d)) in enumerate(zip(texts, pairwise(first), pairwise(begin), strict=True))
    ]


def _split_by_text(places: NDArray[np.intp], begins: NDArray[np.intp]) -> tuple[NDArray[np.intp], list[int]]:
    """The `places` in each text that begins at one of `starts`, and where those of each text begin and at last end."""
    bounds = np.append(np.searchsorted(places, begins), len(places))
    return places - np.repeat(begins, np.diff(bounds)), bounds.tolist()


def _texts_with_long_sentence(whole: PackedTexts, texts: Sequence[str], places: NDArray[np.intp]) -> frozenset[int]:
    """The numbers of the texts with a sentence that is cut: see `sentence_spans`."""
    begins = whole.starts
    edges = np.sort(np.concatenate([places, begins, begins + [len(text) for text in texts]]))
    long = edges[:-1][np.diff(edges) > MAX_SENTENCE_CHARS]
    return frozenset((np.searchsorted(begins, long, "right") - 1).tolist())


def _is_ended(text: str) -> bool:
    """Whether a sentence ends where `text` does: after a stop and a blank, or a line break."""
    if not text[-1:].isspace():
        return False
    words = text.rstrip()
    return "\n" in text[len(words) :] or words.rstrip(CLOSING)[-1:] in STOPS


def _section_starts(whole: bytes, places: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether a section begins at each of `places`."""
    letters = np.frombuffer(whole, np.uint8)
    after_line = letters[places - 1] == ord("\n")
    heads: NDArray[np.bool_] = after_line & (letters[places - 2] == ord("\n")) & (letters[places - 3] == ord("\n"))
    for number in np.flatnonzero(after_line & (letters[places] == ord("#"))).tolist():
        at = int(places[number])
        heads[number] |= whole[at : at + 7].lstrip(b"#")[:1] == b" "
    return heads


def _index_string(text: str) -> TextIndex:
    """The reading of a text in any script."""
    spans = sentence_spans(text)
    heads = {match.end() for match in _SECTION.finditer(text)}
    sentences = np.array([2 * begin + (begin in heads) for begin, _ in spans[1:]], dtype=np.uint32)
    words = string_words(text, spans)
    return TextIndex(
        sentences.tobytes(), words.starts.astype(np.uint32).tobytes(), words.keys.tobytes(), _is_ended(text)
    )


_SLOT_BITS = 16
_HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""2 to the 64 by the golden ratio: it spreads keys over slots (Knuth, The Art of Computer Programming, 6.4)."""


class TermOccurrences(NamedTuple):
    """Words of a query that occur in a text."""

    term_ids: NDArray[np.int64]
    """The number of each among `QueryTerms.terms`."""
    word_indexes: NDArray[np.int64]
    """The number of each among the words of the text."""


class QueryTerms:
    """The stems and long words of `query`. A word that begins like a long one is found as that and as its stem."""

    def __init__(self, query: str) -> None:
        self.prefix_of = long_prefixes(query)
        """The stem of each long word."""
        own = list(dict.fromkeys(prefixes(query)))
        self.terms: Sequence[str] = [*own, *self.prefix_of]
        self._term_ids = {word: number for number, word in enumerate(self.terms)}
        self._long_terms: dict[str, list[str]] = {}
        """The long words with a stem, the longest first: of two that begin alike it is meant."""
        for long in sorted(self.prefix_of, key=len, reverse=True):
            self._long_terms.setdefault(self.prefix_of[long], []).append(long)
        keys = np.array([prefix_key(stem) for stem in own], dtype=np.uint64)
        self._order = np.argsort(keys)
        self._keys = keys[self._order]
        self._slot_filter = np.zeros(1 << _SLOT_BITS, dtype=bool)
        self._slot_filter[_slots(keys)] = True

    def find_occurrences(self, keys: NDArray[np.uint64]) -> TermOccurrences:
        """The stems among those with `keys`; a long word has no key: see `find_long_term`."""
        # Nearly all keys are none of the query's, which a look into a table tells several times as fast as a search.
        at = np.flatnonzero(self._slot_filter[_slots(keys)]) if len(self._keys) else np.zeros(0, dtype=np.int64)
        key_index = np.minimum(np.searchsorted(self._keys, keys[at]), len(self._keys) - 1)
        same = self._keys[key_index] == keys[at]
        return TermOccurrences(self._order[key_index[same]], at[same])

    def find_long_term(self, text: str, term_id: int, offset: int) -> int | None:
        """The number of the long word that `text` has at a place where the stem with the number `word` was found."""
        for long in self._long_terms.get(self.terms[term_id], ()):
            # Plain text may be longer or shorter than the text.
            if normalize(text[offset : offset + 2 * len(long)]).startswith(long):
                return self._term_ids[long]
        return None


def _slots(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return (keys * _HASH_MULTIPLIER) >> np.uint64(64 - _SLOT_BITS)
