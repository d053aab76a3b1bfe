r"""The forms of lines, and the other lines that one needs to be understood.

Chosen alone, some lines say nothing or something wrong: a row without the header of its table, an introduction without
its list, the opening hours without the name above them. Each needs others:

- a row the header of its table and the rule below it; the header the first row;
- a heading, a label or an introduction ("The following:") the sentence or item after it;
- a line of an entry, such as an address, a record of a roster or a block of code, the other lines;
- a part of a JSON object all of it;
- a short sentence the better one of the two next to it.

All of this is read off the form of lines, in any language. An entry is a paragraph of short lines without stops.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence

from ctxassembly.cached_property import cached_property
from ctxassembly.text.sentences import is_ended
from ctxassembly.text.tables import RULE_CHARACTERS

MIN_PART_CHARS = 60
"""A shorter sentence of prose says little without the one next to it."""
MAX_ENTRY_CHARS, MAX_ENTRY_LINES, MAX_LINE_CHARS = 600, 12, 100
"""Limits of an entry: anything longer is a text, of which a part can be understood."""
MAX_RECORD_SENTENCES = 30
"""Most lines and sentences of a JSON object that is kept whole."""

_SIGN = re.compile(
    r"[ \t]*(?=[|(*+•·‣▪◦\u2013\u2014\dA-Za-z-])"  # most lines begin with none of them
    r"(?:(\|)|(?:[-*+•·‣▪◦\u2013\u2014]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z])[.)])(\s))"
    r"|\s*(?=[#*_])(?:#{1,6}(?=[ \t]\s*\S)|\*\*[^*]+\*\*\s*\Z|__[^_]+__\s*\Z)()"
)
"""What a row, an item (with the blank behind it) or a heading begins with."""
_BRACE = re.compile(r"\s*\{")
_IN_RECORD = re.compile(r"\s*[{}\[\]\"]")
"""The beginning of a line of JSON."""
_COLONS = (":", "\uff1a")

# The form of a sentence is a set of these.
_ENDS_LINE, _ENDS_PARAGRAPH, _ROW_LINE, _ITEM_LINE, _HEADING_LINE = (1 << bit for bit in range(5))
_SHORT, _PROSE, _ENTRY_LINE = (1 << bit for bit in range(5, 8))
_WHOLE_LINE = 1 << 8
"""A line without a stop at its end that isn't a row."""
_ENDS_IN_COLON = 1 << 9
_INTRODUCES = _HEADING_LINE | _ENDS_IN_COLON
_LEADS, _FOLLOWS = _ENTRY_LINE | _ENDS_PARAGRAPH, _ENTRY_LINE | _ITEM_LINE | _HEADING_LINE
"""Of these a line of an entry is only `_ENTRY_LINE` if another one follows, or if it follows another one."""
_SIGN_FORMS = (0, _ROW_LINE, _ITEM_LINE, _HEADING_LINE)
"""The form by the number of the group of `_SIGN`."""


class LineForms(dict[int, int]):
    """The form of each sentence of a text by its index, read when it is first looked up."""

    __slots__ = ("_boundaries", "_continues", "_text")

    def __init__(self, text: str, boundaries: Sequence[int], continues: Sequence[bool]) -> None:
        super().__init__()
        self._text, self._boundaries, self._continues = text, boundaries, continues

    def __missing__(self, index: int) -> int:
        """Read the form of the sentence at `index`."""
        begin, continues, is_continued = self._boundaries[index], self._continues[index], self._continues[index + 1]
        text = self._text[begin : self._boundaries[index + 1]]
        stripped = text.rstrip()
        line, break_count = stripped.lstrip(), text.count("\n", len(stripped))
        length, has_stop = len(line), is_ended(line)
        begins_word = length > 1 and line[:2].isalpha()
        form = _SHORT if length < MIN_PART_CHARS else _PROSE if begins_word and has_stop else 0
        if break_count or not is_continued:
            form |= _ENDS_PARAGRAPH | _ENDS_LINE if break_count > 1 else _ENDS_LINE
        if not has_stop and line.rstrip("*_ ")[-1:] in _COLONS:
            form |= _ENDS_IN_COLON
        if not continues or self._text[begin - 1] == "\n":
            if not begins_word and (sign := _SIGN.match(text)):
                form |= _SIGN_FORMS[sign.lastindex or 0]
            if line and not (has_stop or form & _ROW_LINE) and (break_count or continues or is_continued):
                form |= _WHOLE_LINE | _ENTRY_LINE if length <= MAX_LINE_CHARS else _WHOLE_LINE
        self[index] = form
        return form


class TextLines:
    """The lines of a text by the indexes of its sentences, and what each of them needs."""

    def __init__(
        self, text: str, boundaries: Sequence[int], continues: Sequence[bool], document_ids: Sequence[str]
    ) -> None:
        self._text, self._boundaries, self._document_ids = text, boundaries, document_ids
        self._continues = [*continues, False]  # the last sentence isn't continued
        self._forms = LineForms(text, boundaries, self._continues)
        self._table_starts: dict[int, int] = {}
        self._list_heads: dict[int, tuple[int, ...]] = {}
        self._entries: dict[int, range] = {}

    def needed(self, index: int) -> Sequence[int] | None:
        """Return the sentences that the one at `index` needs, ascending; None if it needs one of those next to it.

        Its own may be among them.
        """
        if index in self._near_braces and (record := self._record(index)):
            return record
        form = self._forms[index]
        if form & _PROSE:  # as most sentences
            return ()
        if form & _ROW_LINE:
            return self._table_head(index)
        if form & _ENTRY_LINE and (entry := self.entry(index)):
            return [*(self._introduction(entry[0]) if self._forms[entry[0]] & _ITEM_LINE else ()), *entry]
        if form & _ITEM_LINE:
            return self._introduction(index)
        if self.introduces(index):
            return [index + 1] if self._continues[index + 1] else []
        return None if form & _SHORT and not form & _WHOLE_LINE else ()

    def introduces(self, index: int) -> bool:
        """Return True if the line at `index` introduces the next one: it ends in a colon, or is short, as a heading."""
        form = self._forms[index]
        if form & _INTRODUCES:
            return True
        is_label = form & (_SHORT | _WHOLE_LINE | _ITEM_LINE) == _SHORT | _WHOLE_LINE
        return is_label and not self._is_followed(index)

    def begins_line(self, index: int) -> bool:
        """Return True if the sentence at `index` begins a line."""
        return not self._continues[index] or self._text[self._boundaries[index] - 1] == "\n"

    def is_row(self, index: int) -> bool:
        """Return True if the sentence at `index` is a row of a table with bars."""
        return bool(self._forms[index] & _ROW_LINE)

    def is_whole_line(self, index: int) -> bool:
        """Return True if the sentence at `index` is a line without a stop at its end, and not a row with bars."""
        return bool(self._forms[index] & _WHOLE_LINE)

    def is_part(self, index: int) -> bool:
        """Return True if the sentence at `index` is a part of an entry or a record."""
        return bool(self.entry(index) or self._record(index))

    def entry(self, index: int) -> range:
        """Return the indexes of the lines of the entry that the line at `index` is part of; empty if it is of none."""
        if not self._forms[index] & _ENTRY_LINE:
            return range(0)
        if index not in self._entries:
            self._find_entry(index)
        return self._entries[index]

    def tables(self, indexes: Iterable[int]) -> Iterator[range]:
        """Yield the indexes of the rows of each table of which any row is among `indexes`."""
        checked: set[int] = set()
        for index in indexes:
            if self._forms[index] & _ROW_LINE and index not in checked:
                first = last = index
                while self._is_next_row(first):
                    first -= 1
                count = len(self._document_ids)
                while last + 1 < count and self._forms[last + 1] & _ROW_LINE and self._is_next_row(last + 1):
                    last += 1
                rows = range(first, last + 1)
                checked.update(rows)
                yield rows

    def lists(self, indexes: Iterable[int]) -> Iterator[range]:
        """Yield the indexes of each list, with its introduction, of which any line is among `indexes`."""
        forms, continues = self._forms, self._continues
        checked: set[int] = set()
        for index in indexes:
            is_item = forms[index] & _ITEM_LINE
            precedes_item = continues[index + 1] and forms[index + 1] & _ITEM_LINE
            if not (is_item or precedes_item) or index in checked:
                continue
            head = self._introduction(index + 1 if precedes_item else index)
            if head and (is_item or head[0] == index):
                last = index
                while continues[last + 1] and self._introduction(last + 1) == head:
                    last += 1
                own = range(head[0], last + 1)
                checked.update(own)
                yield own

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
        has_rule = self._continues[start + 1] and RULE_CHARACTERS.issuperset(self._sentence(start + 1).strip())
        if not (has_rule or self._continues[start]):
            return ()  # a chunk that begins inside a table
        head = [start, start + 1] if has_rule else [start]
        is_needy = index <= head[-1] and self._continues[head[-1] + 1] and self._forms[head[-1] + 1] & _ROW_LINE
        return [*head, head[-1] + 1] if is_needy else head

    def _is_next_row(self, index: int) -> bool:
        """Return True if the row at `index` comes after another one of its table, in the same or in another chunk."""
        if not index or not self._forms[index - 1] & _ROW_LINE:
            return False
        return self._continues[index] or (
            self._document_ids[index] == self._document_ids[index - 1]
            and self._sentence(index).count("|") == self._sentence(index - 1).count("|")
        )

    def _introduction(self, index: int) -> Sequence[int]:
        """Return the introduction of the list that the item at `index` is of, if it ends in a colon."""
        passed: list[int] = []
        at = index
        while at not in self._list_heads:
            passed.append(at)
            is_item = self._forms[at] & _ITEM_LINE
            if not self._continues[at] or not (is_item or self._is_inside_item(at)):
                self._list_heads[at] = ()
            elif is_item and not self._is_inside_item(at - 1) and self.introduces(at - 1):
                self._list_heads[at] = (at - 1,)
            else:
                at -= 1
        self._list_heads |= dict.fromkeys(passed, self._list_heads[at])
        return self._list_heads[at]

    def _is_inside_item(self, index: int) -> bool:
        """Return True if the sentence at `index` continues an item: it begins no line, or an indented one."""
        return not self.begins_line(index) or self._text[self._boundaries[index]].isspace()

    def _find_entry(self, index: int) -> None:
        """Record the entry of the line at `index` for its lines; the lines of a longer run are in none."""
        first = last = index
        while last - first < MAX_ENTRY_LINES and self._is_followed(first - 1):
            first -= 1
        while last - first < MAX_ENTRY_LINES and self._is_followed(last):
            last += 1
        is_too_long = self._boundaries[last + 1] - self._boundaries[first] > MAX_ENTRY_CHARS
        is_entry = first < last < first + MAX_ENTRY_LINES and not is_too_long
        lines = range(first, last + 1)
        self._entries |= dict.fromkeys(lines, lines if is_entry else range(0))

    def _is_followed(self, index: int) -> bool:
        """Return True if the line at `index` and the next one are of the same entry."""
        return (
            self._continues[index + 1]
            and self._forms[index] & _LEADS == _ENTRY_LINE
            and self._forms[index + 1] & _FOLLOWS == _ENTRY_LINE
        )

    @cached_property
    def _near_braces(self) -> Collection[int]:
        """The indexes of the sentences that begin with a brace, and of those after them that may be of its object."""
        found: set[int] = set()
        at, stop = self._text.find("{"), 0
        while at >= 0:
            index = bisect_right(self._boundaries, at) - 1
            if _BRACE.match(self._text, self._boundaries[index]):
                first, stop = max(index, stop), index + MAX_RECORD_SENTENCES + MAX_ENTRY_LINES + 1
                found.update(range(first, stop))
            at = self._text.find("{", self._boundaries[index + 1])
        return found

    def _record(self, index: int) -> Sequence[int]:
        """Return the indexes of the sentences of the JSON object that the one at `index` is part of; empty if of none.

        An object is on one line, or on the lines from a brace up to the closing brace with the same indentation.
        """
        line_start = self._line_start(index)
        if not _IN_RECORD.match(self._sentence(line_start)):
            return ()
        first = line_start
        while not _BRACE.match(self._sentence(first)):
            if not self._continues[first] or index - first >= MAX_RECORD_SENTENCES:
                return ()
            first = self._line_start(first - 1)
        text, last = self._sentence(first), first
        closing = text[: text.index("{")] + "}"
        is_one_line = text.strip() != "{"
        while last - first < MAX_RECORD_SENTENCES:
            if (is_one_line and self._forms[last] & _ENDS_LINE) or self._sentence(last).startswith(closing):
                return range(first, last + 1) if last >= index else ()
            if not self._continues[last + 1]:
                break
            last += 1
        return ()

    def _line_start(self, index: int) -> int:
        """Return the index of the first sentence of the line of the one at `index`, at most 12 sentences before."""
        for at in range(index, max(index - MAX_ENTRY_LINES, 0), -1):
            if self.begins_line(at):
                return at
        return max(index - MAX_ENTRY_LINES, 0)

    def _sentence(self, index: int) -> str:
        return self._text[self._boundaries[index] : self._boundaries[index + 1]]
