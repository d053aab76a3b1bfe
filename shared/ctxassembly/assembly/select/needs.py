"""What a sentence needs to be understood: a row the head of its table, an item the stem of its list, and so on.

All of it is read off the form of lines, in any language. Each sentence needs at most one other; the lines of an entry
need each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.tables import read_rows, run_starts
from ctxassembly.assembly.units import Units
from ctxassembly.text.kinds import table_of
from ctxassembly.text.lines import entries, find_records, inside, read_lines
from ctxassembly.text.scan import scan

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Ints

SHORT = 60
"""Characters below which a sentence says little without the one next to it."""
MIN_ITEMS, MAX_STEM = 2, 200
"""The fewest items below a sentence that is their stem, and its most characters."""
_COLONS = table_of(":\uff1a")


def with_needs(text: Text, pool: Pool, units: Units) -> Units:
    """Return the sentences `units` with the number of the one that each needs, and of the first one of its entry."""
    known = scan(text.text)
    plain, size = known.plain, len(units.starts)
    lines = read_lines(units.starts, units.ends, known.kinds, plain)
    numbers = np.arange(size)
    begins_line = lines.begins | ~units.continues
    is_linked = np.append(units.continues[1:], False)  # the next sentence goes on
    ends_paragraph = lines.ends_paragraph | ~is_linked
    line = np.maximum.accumulate(np.where(begins_line, numbers, 0))
    is_separated, head = read_rows(text, pool, units, lines, plain)
    lines = lines._replace(is_row=lines.is_row | is_separated)
    is_row, is_item = lines.is_row, lines.is_item
    has_colon = _COLONS[plain[lines.last]]
    is_short = lines.last - lines.first + 1 < SHORT
    is_label = begins_line & ~lines.is_ended & ~is_row & ~is_item & is_short & ends_paragraph
    # "The contract ends" above "a) by notice", on a line of its own without a stop.
    has_items = lines.ends & ~lines.is_ended & ~is_row & ~is_item & np.append(is_item[1:], False)
    introduces = (has_colon | is_label | has_items | lines.is_heading) & is_linked

    needs = np.where(introduces, np.minimum(numbers + 1, size - 1), numbers)
    says_little = is_short & lines.is_ended & ~(begins_line & ends_paragraph) & ~introduces & ~is_item
    needs = np.where(says_little, _better_neighbor(units), needs)
    records = find_records(lines, units.continues, plain)
    entry = entries(lines, units.continues, records)
    entry = np.where(is_separated, line, entry)  # a row, whatever stops it has
    is_part = np.bincount(entry, minlength=size)[entry] > 1
    needs = np.where(is_part, numbers, needs)
    # Of a record that isn't read whole, a field needs the first one, which mostly is a name.
    record = inside(records, size)
    needs = np.where((record >= 0) & ~is_part, np.minimum(record + 1, size - 1), needs)
    # Sentences of an item that begin no line, or an indented one, belong to it.
    is_other = begins_line & (is_item | (lines.first == lines.starts))
    in_list = is_item[np.maximum.accumulate(np.where(is_other, numbers, 0))]
    list_starts = run_starts(in_list, ~units.continues)
    stem = list_starts - 1
    # "The tenant is forbidden the following." above two items or more; a single one may be a heading.
    is_long = np.bincount(list_starts, is_item & in_list, size)[list_starts] >= MIN_ITEMS
    is_sentence = lines.ends & lines.is_ended & is_linked & (lines.last - lines.first < MAX_STEM)
    has_stem = in_list & (stem >= 0) & (introduces[stem] | (is_long & is_sentence[stem]))
    needs = np.where(has_stem, stem, needs)
    if is_row.any():
        # A head says nothing without a row.
        is_head = is_row & (head == numbers) & np.append(is_row[1:], False) & is_linked
        needs = np.where(is_head, np.minimum(numbers + 1, size - 1), np.where(is_row, head, needs))
    return units._replace(needs=needs, entries=entry)


def _better_neighbor(units: Units) -> Ints:
    """Return for each unit the better one of the two next to it that it is linked with; its own number without any."""
    values = units.values
    numbers = np.arange(len(values))
    before = np.where(units.continues, np.append(-np.inf, values[:-1]), -np.inf)
    after = np.append(np.where(units.continues[1:], values[1:], -np.inf), -np.inf)
    better = np.where(before >= after, numbers - 1, numbers + 1)
    return np.where(np.maximum(before, after) > -np.inf, better, numbers)
