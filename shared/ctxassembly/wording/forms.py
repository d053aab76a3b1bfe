"""Every form that is ours, in one table: labels, headers, separators, summaries and the words of sections.

What is written (`formats`, `render`, `prompts`), what no document may pass off as ours (`guards`) and what is read from
an answer (`markers`, `answer`) are all made of this table. A language or a format is added here, and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ctxassembly.data.pieces import GAP

RULE = "---"
"""Alone on its line: parts the context from the question, and ends a supplement that stands before the documents."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of one language."""

    numbered: str
    """With {label}, {source} and {page}, which is empty or one of the two below."""
    one_page: str
    many_pages: str
    row: str
    summary: str
    """With {}, on a line of its own."""
    unknown: str
    supplement: str
    """The line above supplementary text."""
    cited_as: tuple[str, ...]
    """What an answer may write before the number of a label, as in [source 2]."""
    context: str
    """Stands above the context in a prompt."""
    nothing: str
    """Stands there in the place of a context that is empty."""
    question: str
    """Stands before the question."""


WORDINGS: Mapping[str, Wording] = {
    "en": Wording(
        numbered="{label} Source: {source}{page}",
        one_page=", page {}",
        many_pages=", pages {}",
        row="Row {}",
        summary="[Page context: {}]",
        unknown="unknown",
        supplement="--- SUPPLEMENTARY INFORMATION ---",
        cited_as=("source", "sources"),
        context="Context:",
        nothing="(No documents were found.)",
        question="Question:",
    ),
    "nl": Wording(
        numbered="{label} Uit {source}{page}:",
        one_page=" (pagina {})",
        many_pages=" (pagina's {})",
        row="Rij {}",
        summary="[Pagina context: {}]",
        unknown="onbekend",
        supplement="--- AANVULLENDE INFORMATIE ---",
        cited_as=("bron", "bronnen"),
        context="Contextdocumenten:",
        nothing="(Er zijn geen documenten gevonden.)",
        question="Vraag:",
    ),
}


@dataclass(frozen=True, slots=True)
class Frame:
    """What marks a block in one format, in every language the same."""

    label: str = ""
    """With {} for the number; empty if no label is shown. It begins the header, and an answer repeats it."""
    lead: str = ""
    """What the header of a format without labels begins with."""
    footer: str = ""
    markup: bool = False
    """Whether all text is escaped by entities, so that nothing in it can be a tag."""


FRAMES: Mapping[str, Frame] = {
    "numbered": Frame(label="[{}]"),
    "source": Frame(label="[SOURCE {}]"),
    "xml": Frame(label='<chunk index="{}"', footer="</chunk>", markup=True),
    "grouped": Frame(lead="## "),
    "minimal": Frame(),
}

MAX_DIGITS = 6
"""Of a number that an answer cites."""
BRACKETS = (("[", "]"), ("【", "】"))
"""The pairs that an answer may put around numbers; models write the second one by themselves."""
DASHES = "\\-\N{EN DASH}\N{EM DASH}"
"""In a range of labels, as a set of a pattern has them."""
SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_ENDING = re.compile(r"(?:(?<=\w{4})\w{1,2})?[\W_]*\Z")
"""The signs at the end of a line, and the letters before them that another form of its last word may not have."""

Wordings = Mapping[str, Wording]
Frames = Mapping[str, Frame]


def sayable(line: str) -> bool:
    """Whether `line` can be a form of ours: {} stands for numbers, and what can't be seen or sent says nothing."""
    return "{}" not in line and line.strip().isprintable()


def _without_ending(line: str) -> str:
    """`line` as far as it has to be there; one word alone is all of it, or any word that begins alike would be it."""
    return (_ENDING.sub("", line) if " " in line else "") or line


def line_forms(
    frame: str, wordings: Wordings = WORDINGS, frames: Frames = FRAMES, separator: str | None = None
) -> list[str]:
    """How our lines begin, {} standing for a number: what no text may begin a line with in the format `frame`.

    Labels of all formats count, since an answer doesn't say which one it has read, and the words of all languages. A
    lead counts in its own format: elsewhere it is a mere heading. Tags are left to the escaping of their format. A
    separator's last word may end as in another language, or where a chunk was cut: only its stem counts. `separator` is
    the caller's own.
    """
    labels = [each.label for each in frames.values() if not each.markup]
    forms = [*labels, frames[frame].lead if frame in frames else "", GAP, RULE]
    for each in wordings.values():
        forms += (each.numbered.partition("{label}")[0] + FRAMES["numbered"].label, each.summary.partition("{")[0])
        forms += (_ENDING.sub("", each.supplement), each.context, each.nothing, each.question)
    forms.append(_without_ending(separator or ""))
    return list(dict.fromkeys(filter(None, forms)))


def marker_words(wordings: Wordings = WORDINGS, frames: Frames = FRAMES) -> list[str]:
    """What may stand before a number in brackets, the longest first: the words of the languages and of the labels."""
    words = {word for each in wordings.values() for word in each.cited_as}
    words |= {each.label.partition("{")[0].lstrip("[").strip() for each in frames.values() if not each.markup}
    return sorted({word.casefold() for word in words if word}, key=lambda word: (-len(word), word))
