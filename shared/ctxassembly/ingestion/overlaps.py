"""The overlaps of all chunks of a call: the splitter that made them shows in all pairs together.

A splitter fills its overlap. So the matches of its pairs have one maximum in common: none is longer, and none would
have stayed below it with one unit more. Where no maximum explains the matches they are accidents ("The old limit was
50 / 50 is not allowed"), or rows that begin alike. Then only a long match counts.

Of 61,755 pairs without an overlap none seemed to have one; of the overlaps of a splitter with 200 characters .4 % are
missed, with 20 characters a quarter. A document alone shows less than all documents of a call.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

from ctxassembly.ingestion.matches import WHOLE, Match, find_match

LONE_OVERLAP = 80
"""Characters that prove an overlap without other pairs; of 61,755 pairs without one, none had them."""
MAX_SAMPLE = 400
"""Matches that a splitter is fitted to."""
SLACKS = ((1.0, 0.9), (1.7, 0.75))
"""How far the overlaps of a splitter vary, and the share of matches that has to agree: one that counts characters, and
one that counts tokens."""
NEAR = 50
"""Chunks on each side in which a text is looked for again."""
SHORT, LONG, TORN = 10, 20, 30
"""Characters of a line, of any text, and of one that tears a word, that aren't taken for an accident."""


class Splitter(NamedTuple):
    """What all pairs show of the splitter that made them."""

    maximum: int
    """Characters of the largest overlap."""
    slack: float
    """1 if it counts characters; more if it counts tokens, of which each has another length."""
    share: float
    """Of the pairs, with a match that is no accident."""
    keeps_lines: bool

    def explains(self, match: Match) -> bool:
        """Return True if it would have made this overlap, and none that is longer by one unit."""
        return match.length <= self.maximum * self.slack and match.length + match.unit > self.maximum / self.slack


def find_splitter(matches: Sequence[Match], *, of_call: bool = False) -> Splitter | None:
    """Return the splitter whose maximum overlap explains the `matches`; None if they are accidents.

    The matches of all documents of a call may be fewer than those in one document alone.
    """
    min_count, min_share = (8, 0.012) if of_call else (3, 0.15)
    usable = [
        match
        for match in matches
        if match.length > 1
        and match.has_word
        and (not match.tears_word or match.length >= TORN)
        and (match.begins_line or not match.ends_line)
    ]
    sample = usable[:: len(usable) // MAX_SAMPLE + 1]
    lengths, most = sorted(match.length for match in sample), sorted(match.length + match.unit for match in sample)
    for slack, agreement in SLACKS if sample else ():
        count, top = max((bisect_right(lengths, top * slack) - bisect_right(most, top / slack), top) for top in lengths)
        best = Splitter(top, slack, 0.0, keeps_lines=False)
        share = count / len(sample)
        if share < agreement or share * len(usable) < max(min_count, min_share * len(matches)):
            continue
        explained = [match for match in usable if best.explains(match)]
        keeps_lines = sum(match.keeps_lines for match in explained) >= 0.93 * len(explained)
        covered = sum(match.length > 5 for match in matches) / len(matches)
        is_short = max(match.length for match in explained) <= LONG
        # Rows that begin alike: a splitter that counts characters keeps lines, unless it cuts anywhere.
        is_fixed = len({match.length for match in explained}) == 1 and not any(one.begins_line for one in explained)
        are_rows = not of_call and (is_short or not keeps_lines) and covered < 0.6
        if is_fixed or (not are_rows and (slack > 1 or keeps_lines)):
            return best._replace(share=covered, keeps_lines=keeps_lines)
    return None


def is_overlap(splitter: Splitter | None, match: Match, *, is_repeated: bool, min_chars: int = LONE_OVERLAP) -> bool:
    """Return True if a match is an overlap; `is_repeated` says that the document has this text elsewhere, too.

    Where no splitter is known, a match inside lines needs more than `min_chars` characters.
    """
    if not match.length:
        return False
    if splitter is None:  # equal chunks are repeated rows
        is_alone = match.has_word and not (is_repeated or match.unit == WHOLE)
        least = LONE_OVERLAP if match.begins_line else min(min_chars + 1, LONE_OVERLAP)
        is_whole = match.keeps_lines or not match.begins_line
        return is_alone and is_whole and match.length >= least
    top, counts_tokens = splitter.maximum, splitter.slack > 1
    if counts_tokens and splitter.share > 0.8:  # it cuts anywhere
        return match.length >= 6 or (match.length > 1 and not match.tears_word)
    is_line = match.begins_line and match.ends_line
    is_own_line = is_line and not is_repeated
    longest = top * (5 if is_own_line else 2.6) if counts_tokens else top + 2
    if match.length > longest or (splitter.keeps_lines and not match.keeps_lines):
        return False
    if match.tears_word and match.length < LONG and not (counts_tokens and splitter.share > 0.3 and match.length > 2):
        return False
    if not match.has_word and not (match.begins_line and match.length > 1):
        return False
    if is_repeated and is_line and match.length <= LONG and splitter.share < 0.6:
        return False
    is_filled = match.length + match.unit > (top / 4 if counts_tokens else top - 1)
    return is_filled or is_own_line or match.length > LONG or (match.begins_line and match.length >= SHORT)


HALF = "\ufffd"
"""What a splitter by tokens leaves of a character that it cuts, at the edges of two chunks."""
MIN_BY_TOKENS = 3
"""Characters above which a match is an overlap in a document with halves, few of which have few tokens."""


def find_overlaps(documents: Sequence[Sequence[str]], apart: Sequence[Collection[int]] = ()) -> list[list[int]]:
    """Return the characters that each chunk repeats of the one before, for all documents of one call.

    `apart` are, for each document, the numbers of the chunks that begin another page or section, which a splitter reads
    for itself: only a long match is an overlap there.
    """
    apart = apart or [()] * len(documents)
    halves = [[len(text) - len(text.lstrip(HALF)) for text in chunks] for chunks in documents]
    are_cut = [any(text != text.strip(HALF) for text in chunks) for chunks in documents]
    documents = [[text.strip(HALF) for text in chunks] for chunks in documents]
    matches = [[find_match(*pair) for pair in pairwise(chunks)] for chunks in documents]
    inner = [
        [match for at, match in enumerate(pairs, 1) if at not in begins]
        for pairs, begins in zip(matches, apart, strict=True)
    ]
    of_call = find_splitter([match for pairs in inner for match in pairs], of_call=True)
    showing = sum(any(is_overlap(of_call, match, is_repeated=False) for match in pairs) for pairs in inner)
    if showing < max(3, 0.1 * sum(map(bool, inner))):  # one document with rows that begin alike, among others or alone
        of_call = None
    result = []
    for chunks, pairs, own, begins, more, is_cut in zip(documents, matches, inner, apart, halves, are_cut, strict=True):
        splitter, least = of_call or find_splitter(own), MIN_BY_TOKENS if is_cut else lone_overlap(own)
        lengths = [
            _length(None if at in begins else splitter, match, chunks, at, least) for at, match in enumerate(pairs, 1)
        ]
        overlaps = [0, *lengths][: len(chunks)]
        result.append([length and length + half for length, half in zip(overlaps, more, strict=True)])
    return result


def pair_overlaps(documents: Sequence[Sequence[tuple[str, str]]], min_chars: int) -> list[list[int]]:
    """Return the characters that the second chunk of each pair repeats of the first; not all pairs are at hand.

    A match of at most `min_chars` characters needs other pairs that show the splitter.
    """
    matches = [[find_match(*pair) for pair in pairs] for pairs in documents]
    of_call = find_splitter([match for own in matches for match in own])
    result = []
    for pairs, own in zip(documents, matches, strict=True):
        splitter, least = of_call or find_splitter(own), lone_overlap(own, min_chars)
        result.append([_length(splitter, match, pair, 1, least) for match, pair in zip(own, pairs, strict=True)])
    return result


def _length(splitter: Splitter | None, match: Match, chunks: Sequence[str], at: int, min_chars: int) -> int:
    """Return the overlap of the chunk at `at` with the one before, whose `match` it is; 0 for none."""
    is_found = is_overlap(splitter, match, is_repeated=False, min_chars=min_chars) and (
        is_overlap(splitter, match, is_repeated=True) or not _is_repeated(chunks, at, match.length)
    )
    return match.length if is_found else 0


def lone_overlap(matches: Sequence[Match], min_chars: int = LONG) -> int:
    """Return the characters above which a match inside lines is an overlap although no splitter is known.

    Where most pairs don't overlap, a long one is a repeated sentence. Of 39,220 pairs without an overlap, none had a
    match of more than 20 characters that begins inside a line of words.
    """
    return min_chars if 2 * sum(match.length > min_chars for match in matches) >= len(matches) else LONE_OVERLAP


def _is_repeated(chunks: Sequence[str], at: int, length: int) -> bool:
    """Return True if the text is near the chunk at `at` more often than at its beginning and the end before it."""
    near = "\0".join(chunks[max(at - NEAR, 0) : at + NEAR])
    return near.count(chunks[at][:length]) > 2
