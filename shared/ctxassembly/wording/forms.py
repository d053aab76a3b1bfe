"""Our own forms as readers meet them: lines in a context and labels in an answer, from the records of both kinds.

Two readers use them. `guards` finds lines of documents that could pass for ours; `markers` and `answer` find the labels
that an answer cites. Neither knows a word or a label of its own. So a word that is added to a language or a format is
guarded and read from then on, without another change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ctxassembly.data.candidates import GAP
from ctxassembly.wording.formats import FORMATS, Format
from ctxassembly.wording.languages import LANGUAGES
from ctxassembly.wording.languages.record import Language, without_ending

RULE = "---"
"""A line of its own: between context and question, and at the end of a supplement that stands before the documents."""
FENCES = (RULE, "***", "___")
"""Rows of signs that end a context for a reader, guarded in any length: our rule, the dashes of LlamaIndex's prompts,
and what Markdown renders as our rule."""
FRAMEWORK_LINES = (
    *("Query:", "Answer:", "Helpful Answer:", "Final Answer:", "Refined Answer:", "Original Answer:", "New Answer:"),
    *("Context information is below", "Context information from multiple sources is below", "New Context:"),
)
"""The beginnings of lines in the prompts that LangChain and LlamaIndex put around a context by default. Those that a
language record has, such as `Question:`, are left out."""
MAX_DIGITS = 6
"""Most digits of a number that an answer cites."""
BRACKETS = (("[", "]"), ("【", "】"))
"""The brackets that an answer may put around numbers. Models write the second pair unasked."""
DASHES = "\\-\N{EN DASH}\N{EM DASH}"
"""The dashes in a range of labels, written for a character set of a pattern."""
SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"

_LABEL_WORDS = re.compile(r"[^\W\d_](?:.*\w)?")
"""From the first letter of what stands before a label's number to its last letter: SOURCE, of "[SOURCE "."""

Languages = Mapping[str, Language]
Formats = Mapping[str, Format]


def sayable(line: str) -> bool:
    """True if `line` can be a form of ours: without {}, which stands for numbers, and without invisible characters."""
    return "{}" not in line and line.strip().isprintable()


def line_forms(
    form: str, separator: str | None = None, *, languages: Languages = LANGUAGES, formats: Formats = FORMATS
) -> list[str]:
    """The beginnings of our lines, with {} for a number. In the format `form` no text may begin a line with them.

    Labels of all formats and words of all languages are among them, since an answer doesn't tell which context it has
    read. A lead counts in its own format alone: elsewhere `## ` is a mere heading. Tags are not among them: formats
    that have tags escape all text. `separator` is the caller's own line above a supplement.
    """
    labels = [known.label for known in formats.values() if not known.markup]
    lines = [*labels, formats[form].lead if form in formats else "", GAP, *FENCES, *FRAMEWORK_LINES]
    for language in languages.values():
        lines += language.guarded_lines()
    # The last word may end otherwise in another form, or where a chunk was cut: its stem is enough.
    lines.append(without_ending(separator or ""))
    return list(dict.fromkeys(filter(None, lines)))


def marker_words(languages: Languages = LANGUAGES, formats: Formats = FORMATS) -> list[str]:
    """Words that may stand before a number in brackets, the longest first: those of the languages and of the labels.

    Of a label only letters count. A sign taken for a word would make `[[1]]` a marker of its own beside `> [1]`.
    """
    words = {word for language in languages.values() for word in language.cited_as}
    begins = (form.label.partition("{")[0] for form in formats.values() if not form.markup)
    words |= {word[0] for begin in begins if (word := _LABEL_WORDS.search(begin))}
    return sorted({word.lower() for word in words if word}, key=lambda word: (-len(word), word))


def header_words(languages: Languages = LANGUAGES) -> list[str]:
    """The words between a label and its source, without their colon: Source, of "[1] Source: report.pdf"."""
    begins = (language.numbered.partition("{")[0].rstrip() for language in languages.values())
    return sorted({begin.rstrip(": ") for begin in begins if begin.endswith(":")})
