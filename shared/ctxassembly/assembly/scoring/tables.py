"""Tables: where a line of one is among the best sentences, the other lines of the table are nearly as relevant.

The lines of a balance sheet, or the rows below a header, hardly have a word of the question, and a table may go on in
the next chunk. So without this the context has some lines of several tables, and not the statement that was asked for.
"""

from __future__ import annotations

import re

from ctxassembly.assembly.scoring.sentences import ScoredSentences

MAX_BEST = 30
"""The best sentences, whose tables count."""
DISTANCE = 1.0
"""How much lower the lines of a table score than its best one at most, on the scale of `Weights`."""
MAX_CHARS = 2_000
"""The characters of a table before and after its best line that count."""
MAX_TABLE_LINE_CHARS = 120
"""Length of the longest line of a table without bars: anything longer is prose."""
MAX_LABELS = 4
"""Lines without a digit in a row: more of them are no table of figures."""
MIN_LINES, MIN_DIGIT_SHARE = 5, 0.1
"""Lines of the shortest table, and the share of its characters that are digits: prose and lists have less."""

_DIGITS = re.compile(r"\d+")


def raise_tables(sentences: ScoredSentences) -> ScoredSentences:
    """Return `sentences` with higher scores for the lines of tables of which a line is among the best sentences."""
    scores = sentences.scores.copy()
    seen: set[int] = set()
    for index in sentences.best(MAX_BEST):
        if index in seen or not _is_line(sentences, index):
            continue
        lines = _lines_around(sentences, index)
        seen.update(lines)
        if _is_table(sentences, lines):
            part = slice(lines.start, lines.stop)
            scores[part] = scores[part].clip(min=sentences.scores[index] - DISTANCE)
    return sentences.raised(scores - sentences.scores)


def _is_table(sentences: ScoredSentences, lines: range) -> bool:
    """Return True if there are enough `lines`, and enough of their characters are digits."""
    text = sentences.text[sentences.boundaries[lines.start] : sentences.boundaries[lines.stop]]
    return len(lines) >= MIN_LINES and sum(map(len, _DIGITS.findall(text))) >= MIN_DIGIT_SHARE * len(text)


def _lines_around(sentences: ScoredSentences, index: int) -> range:
    """Return the indexes of the lines around the one at `index`, from the label of the first figure to the last figure.

    Without figures it is the line alone.
    """
    first, last = _last_figure(sentences, index, -1), _last_figure(sentences, index, 1)
    if first < index and sentences.continues[first] and _is_line(sentences, first - 1):
        first -= 1
    return range(first, last + 1)


def _last_figure(sentences: ScoredSentences, index: int, step: int) -> int:
    """Return the index of the last line with a digit in the direction of `step`, of the same table."""
    boundaries, continues = sentences.boundaries, sentences.continues
    last = at = index
    while (
        0 <= at + step < len(continues)
        and continues[max(at, at + step)]
        and abs(boundaries[at + step] - boundaries[index]) <= MAX_CHARS
        and abs(at + step - last) <= MAX_LABELS
        and _is_line(sentences, at + step)
    ):
        at += step
        if _DIGITS.search(sentences.text, boundaries[at], boundaries[at + 1]):
            last = at
    return last


def _is_line(sentences: ScoredSentences, index: int) -> bool:
    """Return True if the sentence at `index` begins a line, and is short or a row with bars."""
    length = sentences.boundaries[index + 1] - sentences.boundaries[index]
    return sentences.lines.begins_line(index) and (length <= MAX_TABLE_LINE_CHARS or sentences.lines.is_row(index))
