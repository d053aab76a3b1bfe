"""Words that end in a full stop inside sentences: a closed list for each language, without accents and in lower case.

Units are in none: "500 mg. Children" are two sentences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.text.kinds import LETTER, LOWER, NEWLINE, SPACE, is_digit, run_lengths, table_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ctxassembly.text.kinds import Bytes, Codes

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.intp]

MAX_SHORT = 4
"""Letters of the longest word in the lists, which are read in one load."""
_NAMED = {
    "en": "capt cf dept dr drs eds esp gen gov hon lt mr mrs ms prof rep rev sen sgt st univ viz vs",
    "nl": "afb bijv blz ca dhr drs evt ing ir jkvr jl mej mevr mw nl nrs resp zgn zgv",
    "de": "abb abs abt allg aufl bsp bspw bzgl bzw dipl evtl fa ggf geb gegr gest hrsg inkl exkl kap nr rn rz sog str "
    "verf vgl vorm zzgl",
    "fr": "av bd boul env ets fasc mgr mlle mme mmes mm qqn ste",
    "es, pt": "av avda dna dpto dr dra dras dres ee ej jj lic num pags rr sr sra sras sres srta ud uds vd",
    "it": "avv dott ecc rag sig ssa",
    "pl": "inz np prof prz rys tzn tzw ul",
    "ru": "гл им обл пер пр проф рис см ср стр табл ул",  # noqa: RUF001
}
"""Such words go on whatever follows."""
_COUNTED = "mio mrd tsd mill mld тыс млн млрд"
"""These go on after a number, too: "5 Mio. Menschen"."""
_NUMBERED = {
    "en": "app apr art arts aug ch chap cl dec eq eqs ex feb fig figs fn inc incl jan jul jun lit mar max min no nos "
    "nov oct op para pl pp pt ref refs sec sect sep sept ser tab tel ver vol vols",
    "nl": "art bijl dec fig hfst jan kb mrt nr okt par pag tel",
    "de": "anh anl anm apr art aug bl dez feb fn jan jul jun lit mai nov okt tab tel tz ziff",
    "fr": "al ann apr art arts avr chap dec fig janv juil nos oct par ref tabl tel",
    "es": "abr ago art arts cap dic ene fig figs inc par sec secc tel",
    "pl": "art pkt poz ust",
    "ru": "п пп ст ч т илл тел",
    "ends of lists and names": "al bros co corp enz etc ff jr ltd sr usf usw",
}
"""These go on before a number, a bracket or a small letter alone: "art. 9", but "modern art. It"."""
_LONGER = "prox schn schl sbes rspr tspr"
"""The last letters of longer ones, which go on: approx., Abschn., einschl., insbes., urspr., entspr."""
_IS_ROMAN, _IS_OPENING = table_of("ivx"), table_of("([")
_IS_HALF_DAY = table_of("ap")
_FULL_STOP = ord(".")


def _keys(*groups: str) -> NDArray[np.uint64]:
    """Return the numbers of the words of all `groups`, of at most `MAX_SHORT` letters, ascending."""
    words = {word for group in groups for word in group.split()}
    numbers = [sum(ord(letter) << 16 * place for place, letter in enumerate(word)) for word in words]
    return np.array(sorted(numbers), np.uint64)


_NAMED_KEYS, _NUMBERED_KEYS = _keys(*_NAMED.values()), _keys(*_NUMBERED.values())
_COUNTED_KEYS, _LONGER_KEYS = _keys(_COUNTED), _keys(_LONGER)


_STREET = _keys("str")[0]  # Hauptstr. 5


def letters_before(stops: Ints, kinds: Bytes) -> Ints:
    """Return how many letters are before each of `stops`, one more than `MAX_SHORT` at most."""
    return run_lengths((kinds[stops[:, None] - np.arange(1, MAX_SHORT + 2)] & LETTER) > 0)


def is_abbreviated(stops: Ints, starts: Ints, kinds: Bytes, plain: Codes) -> Bools:
    """Return whether each of `stops` ends an abbreviation in a sentence, which goes on at `starts`."""
    run, is_small = letters_before(stops, kinds), (kinds[starts] & LOWER) > 0
    fours: NDArray[np.uint64] = np.ndarray((len(plain) - MAX_SHORT,), "<u8", plain, 0, (2,))  # four letters in one load
    keys = fours[stops - MAX_SHORT] >> (16 * np.maximum(MAX_SHORT - run, 0)).astype(np.uint64)
    is_longer = _has(_LONGER_KEYS, keys) | (keys >> np.uint64(16) == _STREET)
    is_named = np.where(run > MAX_SHORT, is_longer, _has(_NAMED_KEYS, keys))
    is_roman = _IS_ROMAN[plain[starts]] & (_IS_ROMAN[plain[starts + 1]] | ((kinds[starts + 1] & LETTER) == 0))
    is_number = is_digit(plain[starts]) | (is_roman & ~is_small)
    is_numbered = (run <= MAX_SHORT) & _has(_NUMBERED_KEYS, keys) & (is_number | is_small | _IS_OPENING[plain[starts]])
    # An initial; but one after a number is a unit, and "5 p.m." is none.
    is_counted = follows_number(stops - run, kinds, plain) & ~is_number
    is_hour = (plain[stops - 1] == ord("m")) & (plain[stops - 2] == _FULL_STOP) & _IS_HALF_DAY[plain[stops - 3]]
    is_initial = (run == 1) & ~is_digit(plain[stops - 1]) & ~is_hour
    found: Bools = is_numbered | ((is_named | is_initial) & ~is_counted) | _has(_COUNTED_KEYS, keys)
    found &= plain[stops] == _FULL_STOP
    return found


def follows_number(places: Ints, kinds: Bytes, plain: Codes) -> Bools:
    """Return whether a digit and a blank are before each of `places`."""
    found: Bools = ((kinds[places - 1] & (SPACE | NEWLINE)) == SPACE) & is_digit(plain[places - 2])
    return found


def _has(table: NDArray[np.uint64], keys: NDArray[np.uint64]) -> Bools:
    """Return whether `table`, ascending, has each of `keys`."""
    found: Bools = table.take(np.searchsorted(table, keys), mode="clip") == keys
    return found
