"""The words of the query at four widths: in the sentence, in those next to it, in its chunk and in its section.

Words weigh as in BM25 (Robertson and Zaragoza 2009): more the fewer chunks have them, and each repetition adds less. A
function word of the query weighs half.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.score.weights import Weights
from ctxassembly.assembly.units import Units, best_of_chunks
from ctxassembly.text.scan import scan
from ctxassembly.text.terms import Terms, find_terms, query_terms
from ctxassembly.text.words import words
from ctxassembly.wording.languages import stop_words

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Bools, Floats, Ints
    from ctxassembly.text.scan import Keys

SATURATION, LENGTH_SHARE = 1.2, 0.75
"""k1 and b of BM25 at their usual values."""
STOP_WORD_WEIGHT = 0.5
"""The weight of a function word relative to another word that is as rare."""
FEW_CHUNKS = 9
"""Below so many chunks, which words are rare is counted by sentences: of three chunks each may have all words."""
SECTION_CHARS = 4_000
"""Characters of the longest section."""
_HASH, _NEWLINE = ord("#"), ord("\n")


def word_values(
    text: Text, units: Units, query: str, tables: tuple[Ints, Ints], offered: Bools, weights: Weights
) -> tuple[Floats, Floats]:
    """Return the value of each sentence by the words of `query`, and how much its section's heading has of them.

    `tables` has the numbers of rows of tables and of their heads. A row has the words of its head, too: else the head,
    whose words no row repeats, would be the best of its table, with the rows next to it. `offered` are the sentences
    that may be chosen. The second is 1 for as much as the best sentence has, and 0 for up to half of that.
    """
    terms = query_terms(query)
    starts, size, number = units.starts, len(units.starts), len(terms.keys) + len(terms.stems)
    if not number:
        return np.zeros(size), np.zeros(size)
    offsets, found = find_terms(scan(text.text), terms)
    at = np.searchsorted(starts, offsets, "right") - 1
    counts = np.bincount(at * number + found, minlength=size * number).reshape(size, number).astype(float)
    rows, heads = tables
    counts[rows] = np.maximum(counts[rows], counts[heads])
    total = np.zeros((size + 1, number))
    np.cumsum(counts, 0, out=total[1:])
    by_chunk = total[units.lasts] - total[units.firsts]
    stops = _stop_word_keys(query)
    rarity = _rarities((by_chunk > 0).sum(0), len(by_chunk), terms, stops)
    lengths = np.array(text.ends) - text.begins
    chunk = best_of_chunks(units, _bm25(by_chunk, lengths, rarity), 0.0)
    if len(by_chunk) < FEW_CHUNKS:
        rarity_of_sentences = _rarities((counts[offered] > 0).sum(0), int(offered.sum()), terms, stops)
    else:
        rarity_of_sentences = rarity
    sentence = np.minimum(counts, 1.0) @ rarity_of_sentences
    around = smooth(smooth(sentence, units.continues), units.continues)
    headings = _headings(text, units)
    edges = np.append(_section_starts(units, headings), size)
    lengths = np.append(starts, units.ends[-1:])[edges[1:]] - starts[edges[:-1]]
    section = np.repeat(_bm25(total[edges[1:]] - total[edges[:-1]], lengths, rarity), np.diff(edges))
    values = np.zeros(size)
    signals = (chunk, sentence, around, section)
    for weight, signal in zip(
        (weights.chunk, weights.sentence, weights.surroundings, weights.section), signals, strict=True
    ):
        values += weight / (signal.max(initial=0.0) or 1.0) * signal
    return values, _heading_shares(units, headings, sentence / (sentence.max(initial=0.0) or 1.0))


def _bm25(counts: Floats, lengths: Ints | Floats, rarity: Floats) -> Floats:
    """Return the score of each text; `counts` has a row for each and a column for each term."""
    norm = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * lengths / max(float(lengths.mean()), 1.0))
    scores: Floats = (counts * (SATURATION + 1) / (counts + norm[:, None])) @ rarity
    return scores


def _rarities(having: Ints, size: int, terms: Terms, stops: Keys) -> Floats:
    """Return the weight of each term that `having` of `size` texts have; `stops` are the keys of function words."""
    rarity: Floats = np.where(having > 0, np.log1p((size - having + 0.5) / (having + 0.5)), 0.0)
    for place, stem in enumerate(terms.stems, len(terms.keys)):
        if stem >= 0:
            rarity[place] = max(rarity[place] - rarity[stem], 0.0)  # what it adds to its stem
    if len(stops) < len(terms.keys):
        rarity[np.searchsorted(terms.keys, stops)] *= STOP_WORD_WEIGHT
    return rarity


def _stop_word_keys(query: str) -> Keys:
    """Return the keys of the function words of `query`, which are among its terms."""
    return query_terms(" ".join(sorted(stop_words(words(query))))).keys


def smooth(values: Floats, continues: Bools) -> Floats:
    """Return half of each value plus a quarter of each neighbor; at the ends of a text the one neighbor counts twice.

    Without that, words that all sentences have would lift the inner ones above the first and the last.
    """
    has_before, has_after = np.append(False, continues[1:]), np.append(continues[1:], False)
    before, after = np.append(0.0, values[:-1]), np.append(values[1:], 0.0)
    left = np.where(has_before, before, np.where(has_after, after, values))
    right = np.where(has_after, after, left)
    smoothed: Floats = values / 2 + (left + right) / 4
    return smoothed


def _headings(text: Text, units: Units) -> Bools:
    """Return which sentences begin a section by a heading of Markdown or after two blank lines."""
    plain, starts = scan(text.text).plain, units.starts
    before = plain[starts - 1] == _NEWLINE
    is_apart = before & (plain[starts - 2] == _NEWLINE) & (plain[starts - 3] == _NEWLINE)
    is_heading: Bools = (before & (plain[starts] == _HASH)) | (is_apart & units.continues)
    return is_heading


def _section_starts(units: Units, headings: Bools) -> Ints:
    """Return the units that begin a section: a text, a heading, or what is beyond 4,000 characters of one."""
    starts, begins = units.starts, ~units.continues | headings
    begins[:1] = True
    part = (starts - np.maximum.accumulate(np.where(begins, starts, 0))) // SECTION_CHARS
    begins[1:] |= part[1:] != part[:-1]
    return np.flatnonzero(begins)


def _heading_shares(units: Units, headings: Bools, matches: Floats) -> Floats:
    """Return for each sentence what its section's first line has of the words of the query, from 0 to 1."""
    number = np.maximum.accumulate(np.where(headings | ~units.continues, np.arange(len(headings)), 0))
    applies = headings[number] & (units.starts - units.starts[number] < SECTION_CHARS)
    shares: Floats = (2 * matches[number] - 1).clip(min=0.0) * applies
    return shares
