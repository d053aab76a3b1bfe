r"""The sentences and lines that another one needs to be understood.

Chosen alone, some lines say nothing or something wrong: a row without the header of its table, an introduction without
its list, the opening hours without the name above them. So when a sentence is picked, its companions are picked with
it, or it isn't picked:

- of a row, the header of its table and the rule below it; of the header, the first row;
- of a heading, a label or an introduction ("The following:"), the sentence or item after it;
- of a line of an entry, such as an address, a record of a roster or a block of code, the other lines;
- of a part of a JSON object, all of it;
- of a short sentence, the better one of the two next to it.

A sentence that begins with "This" or "They" is read better with the one before it, its antecedent, which is picked with
it if there is room for both.

An entry is a paragraph of short lines without stops (`entries.py`). All of this is read off the form of lines, in any
language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from ctxassembly.assembly.scoring.sentences import EVERY_SENTENCE, ScoredSentences
from ctxassembly.assembly.selection.entries import MAX_ENTRY_CHARS, MAX_ENTRY_LINES, MAX_LINE_CHARS, is_ended

MIN_PART_CHARS = 60
"""A shorter sentence of prose says little without the one next to it."""
MAX_ANTECEDENT_CHARS = 400
"""Length of the longest antecedent."""
MAX_RECORD_SENTENCES = 30
"""Most lines and sentences of a JSON object that is kept whole."""
MAX_BEST = 10
"""Number of the best sentences: they are kept alone rather than not at all."""
MAX_COMPANIONS = 4
"""Most steps from a sentence to what it needs, such as from a heading to an introduction to an item."""

_ROW = re.compile(r"[ \t]*\|")
_RULE_CHARACTERS = frozenset("|:+-= \t")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]|\*\*[^*]+\*\*$|__[^_]+__$")
_ITEM = re.compile(r"[ \t]*(?:[-*+•·‣▪◦\u2013\u2014]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z])[.)])\s")
_BRACE = re.compile(r"\s*\{")
_IN_RECORD = re.compile(r"\s*[{}\[\]\"]")
"""The beginning of a line of JSON."""
_COLONS = (":", "\uff1a")


class Companions:
    """The companions of sentences, each found once."""

    def __init__(self, sentences: ScoredSentences) -> None:
        self._sentences = sentences
        self._scores: list[float] = sentences.scores.tolist()
        self._has_braces = "{" in sentences.text
        self._best = frozenset(sentences.indexes_by_score[:MAX_BEST])
        self._found: dict[int, tuple[int, ...]] = {}
        self._table_starts: dict[int, int] = {}
        self._list_heads: dict[int, tuple[int, ...]] = {}
        self._whole_lines: dict[int, bool] = {}
        self._entries: dict[int, Sequence[int]] = {}

    def of(self, index: int) -> tuple[int, ...]:
        """Return the indexes of the sentences that the one at `index` needs, ascending, without its own."""
        if index not in self._found:
            needed, last = {*self._needed(index)}, index
            for _ in range(MAX_COMPANIONS):
                if not needed or max(needed) <= last or not self._introduces(max(needed)):
                    break
                last = max(needed)
                needed.update(self._needed(last))
            allowed = (at for at in needed if at != index and self._scores[at] >= EVERY_SENTENCE)
            self._found[index] = tuple(sorted(allowed))
        return self._found[index]

    def antecedent(self, index: int) -> int | None:
        """Return the index of the sentence before the one at `index` if this one refers to it; None if it is long."""
        if not self._sentences.refers_back(index) or self._scores[index - 1] < EVERY_SENTENCE:
            return None
        boundaries = self._sentences.boundaries
        return index - 1 if boundaries[index] - boundaries[index - 1] <= MAX_ANTECEDENT_CHARS else None

    def can_do_without(self, index: int) -> bool:
        """Return True if the sentence at `index` may be kept alone where its companions don't fit.

        It is one of the best, so that it may be the answer, and is a row, an item or prose: a part of an entry could
        pass for a part of another, and an introduction says nothing.
        """
        says_nothing = self._introduces(index) or self._entry(index) or self._record(index)
        return index in self._best and not says_nothing

    def table(self, index: int) -> range:
        """Return the indexes of the rows of the table that the one at `index` is a row of; empty if it is none."""
        if not self._is_row(index):
            return range(0)
        first = last = index
        while self._is_next_row(first):
            first -= 1
        while last + 1 < len(self._scores) and self._is_row(last + 1) and self._is_next_row(last + 1):
            last += 1
        return range(first, last + 1)

    def _needed(self, index: int) -> Sequence[int]:
        line = self._line(index)
        if (  # prose, as most sentences are; where it begins no line, the line may be of a record
            len(line) >= MIN_PART_CHARS
            and line[0].isalpha()
            and line[1].isalpha()
            and is_ended(line)
            and (not self._has_braces or self._begins_line(index))
        ):
            return ()
        if self._is_row(index):
            return self._table_head(index)
        if record := self._record(index):
            return record
        if entry := self._entry(index):
            return [*entry, *(self._introduction(entry[0]) if self._is_item(entry[0]) else ())]
        if self._is_item(index):
            return self._introduction(index)
        if self._introduces(index):
            return [index + 1] if self._is_continued(index) else []
        is_short = len(line) < MIN_PART_CHARS and not self._is_whole_line(index)
        return self._better_neighbor(index) if is_short else []

    def _table_head(self, index: int) -> Sequence[int]:
        """Return the header of the table that the row at `index` is of, with the rule; of the header, also a row.

        A table may go on in another chunk of the document, with rows of as many cells. Empty if no header is known.
        """
        start = index
        passed: list[int] = []
        while start not in self._table_starts and self._is_next_row(start):
            passed.append(start)
            start -= 1
        start = self._table_starts.get(start, start)
        self._table_starts |= dict.fromkeys((*passed, start), start)
        has_rule = self._is_continued(start) and self._is_rule(start + 1)
        if not (has_rule or self._continues(start)):
            return ()  # a chunk that begins inside a table
        head = [start, start + 1] if has_rule else [start]
        is_needy = index <= head[-1] and self._is_continued(head[-1]) and self._is_row(head[-1] + 1)
        return [*head, head[-1] + 1] if is_needy else head

    def _is_next_row(self, index: int) -> bool:
        """Return True if the row at `index` comes after another one of its table, in the same or in another chunk."""
        if not index or not self._is_row(index - 1):
            return False
        document_ids = self._sentences.document_ids
        return self._continues(index) or (
            document_ids[index] == document_ids[index - 1]
            and self._line(index).count("|") == self._line(index - 1).count("|")
        )

    def _is_rule(self, index: int) -> bool:
        return _RULE_CHARACTERS.issuperset(self._line(index))

    def _introduction(self, index: int) -> Sequence[int]:
        """Return the introduction of the list that the item at `index` is of, if it ends in a colon."""
        passed: list[int] = []
        at = index
        while at not in self._list_heads:
            passed.append(at)
            if not self._continues(at) or not (self._is_item(at) or self._is_inside_item(at)):
                self._list_heads[at] = ()
            elif self._is_item(at) and not self._is_inside_item(at - 1) and self._introduces(at - 1):
                self._list_heads[at] = (at - 1,)
            else:
                at -= 1
        self._list_heads |= dict.fromkeys(passed, self._list_heads[at])
        return self._list_heads[at]

    def _is_item(self, index: int) -> bool:
        return self._begins_line(index) and _ITEM.match(self._text(index)) is not None

    def _is_inside_item(self, index: int) -> bool:
        """Return True if the sentence at `index` continues an item: it begins no line, or an indented one."""
        return self._text(index)[:1].isspace() or not self._begins_line(index)

    def _introduces(self, index: int) -> bool:
        """Return True if the line at `index` introduces the next one: it ends in a colon, or is short, as a heading."""
        line = self._line(index)
        is_label = len(line) < MIN_PART_CHARS and self._is_whole_line(index) and not self._is_item(index)
        is_label = is_label and (not self._can_extend(index) or self._begins_entry(index + 1))
        return is_label or line.rstrip("*_ ").endswith(_COLONS) or self._is_heading(index)

    def _entry(self, index: int) -> Sequence[int]:
        """Return the indexes of the lines of the entry that the line at `index` is part of; empty if of none."""
        if index not in self._entries:
            found = self._find_entry(index)
            self._entries |= dict.fromkeys((index, *found), found)
        return self._entries[index]

    def _find_entry(self, index: int) -> Sequence[int]:
        if not self._is_entry_line(index):
            return ()
        first = last = index
        while self._can_extend(first - 1) and not self._begins_entry(first) and last - first < MAX_ENTRY_LINES:
            first -= 1
        while self._can_extend(last) and not self._begins_entry(last + 1) and last - first < MAX_ENTRY_LINES:
            last += 1
        boundaries = self._sentences.boundaries
        is_too_long = last - first == MAX_ENTRY_LINES or boundaries[last + 1] - boundaries[first] > MAX_ENTRY_CHARS
        return range(first, last + 1) if last > first and not is_too_long else ()

    def _record(self, index: int) -> Sequence[int]:
        """Return the indexes of the sentences of the JSON object that the one at `index` is part of; empty if of none.

        An object is on one line, or on the lines from a brace up to the closing brace with the same indentation.
        """
        if not self._has_braces:
            return ()
        line_start = self._line_start(index)
        if not _IN_RECORD.match(self._text(line_start)):
            return ()
        first = line_start
        while not _BRACE.match(self._text(first)):
            if not self._continues(first) or index - first >= MAX_RECORD_SENTENCES:
                return ()
            first = self._line_start(first - 1)
        text, last = self._text(first), first
        closing = text[: text.index("{")] + "}"
        is_one_line = text.strip() != "{"
        while last - first < MAX_RECORD_SENTENCES:
            if (is_one_line and self._ends_line(last)) or self._text(last).startswith(closing):
                return range(first, last + 1) if last >= index else ()
            if not self._is_continued(last):
                break
            last += 1
        return ()

    def _line_start(self, index: int) -> int:
        """Return the index of the first sentence of the line of the one at `index`, at most 12 sentences before."""
        for at in range(index, max(index - MAX_ENTRY_LINES, 0), -1):
            if self._begins_line(at):
                return at
        return max(index - MAX_ENTRY_LINES, 0)

    def _can_extend(self, index: int) -> bool:
        """Return True if the lines at `index` and after it are of one entry, unless the second one begins another."""
        return (
            index >= 0
            and self._is_continued(index)
            and not self._ends_paragraph(index)
            and self._is_entry_line(index)
            and self._is_entry_line(index + 1)
        )

    def _begins_entry(self, index: int) -> bool:
        return self._is_item(index) or self._is_heading(index)

    def _is_entry_line(self, index: int) -> bool:
        return self._is_whole_line(index) and len(self._line(index)) <= MAX_LINE_CHARS

    def _is_whole_line(self, index: int) -> bool:
        """Return True if the sentence at `index` is a line without a stop at its end, and not a row of a table."""
        if index not in self._whole_lines:
            text = self._text(index)
            line = text.strip()
            self._whole_lines[index] = (
                bool(line)
                and self._begins_line(index)
                and ("\n" in text[len(text.rstrip()) :] or self._continues(index) or self._is_continued(index))
                and not is_ended(line)
                and not self._is_row(index)
            )
        return self._whole_lines[index]

    def _is_heading(self, index: int) -> bool:
        return self._begins_line(index) and _HEADING.match(self._line(index)) is not None

    def _better_neighbor(self, index: int) -> Sequence[int]:
        """Return the one of the two sentences next to it in the same chunk that has the higher score."""
        neighbors = [at for at in (index - 1, index + 1) if max(at, index) in self._continues_in_chunk]
        return [max(neighbors, key=self._scores.__getitem__)] if neighbors else []

    @cached_property
    def _continues_in_chunk(self) -> frozenset[int]:
        """The indexes of the sentences that continue another one in the same chunk."""
        return frozenset().union(*[span.sentence_range[1:] for span in self._sentences.candidate_spans])

    def _text(self, index: int) -> str:
        boundaries = self._sentences.boundaries
        return self._sentences.text[boundaries[index] : boundaries[index + 1]]

    def _line(self, index: int) -> str:
        return self._text(index).strip()

    def _continues(self, index: int) -> bool:
        return self._sentences.continues[index]

    def _is_continued(self, index: int) -> bool:
        return index + 1 < len(self._scores) and self._sentences.continues[index + 1]

    def _begins_line(self, index: int) -> bool:
        start = self._sentences.boundaries[index]
        return not self._continues(index) or self._sentences.text[start - 1] == "\n"

    def _ends_line(self, index: int) -> bool:
        text = self._text(index)
        return "\n" in text[len(text.rstrip()) :] or not self._is_continued(index)

    def _ends_paragraph(self, index: int) -> bool:
        text = self._text(index)
        return text[len(text.rstrip()) :].count("\n") > 1

    def _is_row(self, index: int) -> bool:
        return self._begins_line(index) and _ROW.match(self._text(index)) is not None
