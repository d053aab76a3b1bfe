"""What of ours a reader can come across, made of the records of languages and formats.

What no document may pass off as ours (`guards`) and what is read from an answer (`markers`, `answer`) are made of this.
Neither knows a word or a label by itself, so one that is added to a record is guarded and read at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ctxassembly.data.pieces import GAP
from ctxassembly.wording.formats import FORMATS, Format
from ctxassembly.wording.languages import LANGUAGES
from ctxassembly.wording.languages.record import Language, without_ending

RULE = "---"
"""Alone on its line: parts the context from the question, and ends a supplement that stands before the documents."""
MAX_DIGITS = 6
"""Of a number that an answer cites."""
BRACKETS = (("[", "]"), ("【", "】"))
"""The pairs that an answer may put around numbers; models write the second one by themselves."""
DASHES = "\\-\N{EN DASH}\N{EM DASH}"
"""In a range of labels, as a set of a pattern has them."""
SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"

_LABEL_WORDS = re.compile(r"[^\W\d_](?:.*\w)?")
"""From the first letter of what stands before a label's number to its last letter: SOURCE, of "[SOURCE "."""

Languages = Mapping[str, Language]
Formats = Mapping[str, Format]


def sayable(line: str) -> bool:
    """Whether `line` can be a form of ours: {} stands for numbers, and what can't be seen or sent says nothing."""
    return "{}" not in line and line.strip().isprintable()


def line_forms(
    form: str, separator: str | None = None, *, languages: Languages = LANGUAGES, formats: Formats = FORMATS
) -> list[str]:
    """How our lines begin, {} standing for a number: what no text may begin a line with in the format `form`.

    Labels of all formats count, since an answer doesn't say which one it has read, and the words of all languages. A
    lead counts in its own format: elsewhere it is a mere heading. Tags are left to the escaping of their format. A
    separator's last word may end as in another language, or where a chunk was cut: only its stem counts. `separator` is
    the caller's own.
    """
    labels = [each.label for each in formats.values() if not each.markup]
    lines = [*labels, formats[form].lead if form in formats else "", GAP, RULE]
    for each in languages.values():
        lines += each.guarded_lines()
    lines.append(without_ending(separator or ""))
    return list(dict.fromkeys(filter(None, lines)))


def marker_words(languages: Languages = LANGUAGES, formats: Formats = FORMATS) -> list[str]:
    """Words that may stand before a number in brackets, the longest first: those of the languages and of the labels.

    Of a label only letters count. A sign taken for a word would make `[[1]]` a marker of its own beside `> [1]`.
    """
    words = {word for each in languages.values() for word in each.cited_as}
    begins = (form.label.partition("{")[0] for form in formats.values() if not form.markup)
    words |= {word[0] for begin in begins if (word := _LABEL_WORDS.search(begin))}
    return sorted({word.lower() for word in words if word}, key=lambda word: (-len(word), word))
