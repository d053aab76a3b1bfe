"""The texts of a comparison side by side: what all contexts have in one line, what some lack marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ctxassembly.comparing.aligned import Band, Row, Sentence, evidence_of, side_by_side
from ctxassembly.comparing.compared import Compared, titles
from ctxassembly.comparing.missing import Absent
from ctxassembly.data.chunks import Span
from ctxassembly.inspect.documents import Named
from ctxassembly.inspect.evident import evident
from ctxassembly.inspect.fragments import LEAST_SHARED_CHARS, shared_spans
from ctxassembly.inspect.limits import ID_CHARS
from ctxassembly.inspect.marks import Mark
from ctxassembly.inspect.markup import Html, joined, more, size, tag
from ctxassembly.inspect.typeface import face
from ctxassembly.safe_repr import counted

BOTH_BYTES = 400_000
"""Bytes of the texts side by side with their markup: some 50,000 tokens in all."""


def both(rows: Sequence[Compared], documents: Mapping[str, Named]) -> Html:
    """The table with a column for each of `rows`; nothing if there is one alone."""
    if len(rows) < 2:
        return Html()
    names = titles(rows, ID_CHARS)
    absent = [Absent.of(row.context) for row in rows]
    room, left, bodies = BOTH_BYTES, 0, []
    for row in side_by_side([row.context for row in rows], [row.marks for row in rows]):
        written = [_heading(row, documents[row.document_id], rows)]
        for band in row.bands:
            line = Html() if left else _line(band, row, names, absent)
            room -= size(line)
            if left or room < 0:
                left += _characters(band)
            else:
                written.append(line)
        bodies.append(tag("tbody", *written))
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names)))
    caption = tag("caption", "By document, sentence by sentence; documents in the order in which they first stand")
    whole = tag("table", caption, head, *bodies, class_="cxa-both", style=f"--contexts:{len(rows)}")
    scroll = tag("div", whole, class_="cxa-scroll cxa-wide", tabindex="0", role="region", aria_label="Side by side")
    legend = _legend(len(rows), with_evidence=any(row.located for row in rows))
    return joined(tag("h3", "Side by side"), legend, scroll, more(left, "characters"))


def _legend(contexts: int, *, with_evidence: bool) -> Html:
    every = "both" if contexts == 2 else "all"
    marks = (
        joined(tag("span", "text", class_="cxa-only"), " one context has and another lacks"),
        joined(tag("span", "text", class_="cxa-soft"), f" {every} have"),
        *([joined(tag("mark", "text", class_="cxa-evidence"), " evidence")] if with_evidence else []),
    )
    return tag("ul", *(tag("li", mark) for mark in marks), class_="cxa-legend", aria_label="How to read the marks")


def _heading(row: Row, document: Named, rows: Sequence[Compared]) -> Html:
    """The line above a document: its name, and how much of it the contexts have in common."""
    shared = sum(len(band.cells[0]) for band in row.bands if band.same)
    own = sum(len({one.words for cell in band.cells for one in cell}) for band in row.bands if not band.same)
    said = f"{counted(shared, 'sentence')} in common" + (f", {own:,} not" if own else "")
    name = tag("b", f" {document.name} ")
    return tag("tr", tag("th", document.key, name, said, class_=f"cxa-doc {document.look}", colspan=str(len(rows))))


def _line(band: Band, row: Row, names: Sequence[str], absent: Sequence[Absent]) -> Html:
    if band.same:
        who = "both" if len(names) == 2 else "all"
        return tag("tr", *(tag("td", _who(who), _marked(cell), class_="cxa-same") for cell in band.cells))
    texts = [_text(cell) for cell in band.cells]
    cells = []
    for at, text in enumerate(texts):
        if not band.cells[at]:
            lacking = [one for other in band.cells for one in other]
            cells.append(tag("td", _who(names[at]), absent[at].why(lacking, row.known[at]), class_="cxa-none"))
        elif common := in_all(text, texts[:at] + texts[at + 1 :]):
            says = _says(text, *_contrasted(text, common, evidence_of(band.cells[at])))
            cells.append(tag("td", _who(names[at]), says, class_="cxa-partly"))
        else:
            cells.append(tag("td", _who(names[at]), _marked(band.cells[at]), class_="cxa-only"))
    return tag("tr", *cells)


def _contrasted(text: str, common: Sequence[Span], evidence: Sequence[Mark]) -> Iterator[Html]:
    """`text` with all of it marked that isn't in `common`, and what is evidence."""
    at = 0
    for start, end in (*common, (len(text), len(text))):
        if text[at:start]:
            yield tag("span", evident(text[at:start], evidence, at), class_="cxa-only")
        yield evident(text[start:end], evidence, start)
        at = end


def in_all(text: str, others: Sequence[str]) -> list[Span]:
    """The stretches of whole words of `text` that occur in each of `others`, too; none if `others` are none.

    >>> in_all("Water until two hours before the operation.", ["Water until two hours before"])
    [(0, 28)]
    """
    common = [(0, len(text))] if others else []
    for other in others:
        shared = shared_spans([text, other])[0]
        common = [
            (max(a, c), min(b, d)) for a, b in common for c, d in shared if min(b, d) - max(a, c) >= LEAST_SHARED_CHARS
        ]
    return [span for span in (_of_words(text, *span) for span in common) if span[0] < span[1]]


def _of_words(text: str, start: int, end: int) -> Span:
    """The part of a stretch that has no part of a word."""
    while start < end and start and not text[start - 1].isspace():
        start += 1
    while end > start and end < len(text) and not text[end].isspace():
        end -= 1
    return start, end


def _who(name: str) -> Html:
    """The name of a context, which is seen where the contexts stand below one another."""
    return tag("span", name, class_="cxa-who")


def _marked(cell: Sequence[Sentence]) -> Html:
    text = _text(cell)
    return _says(text, evident(text, evidence_of(cell)))


def _says(text: str, *parts: str) -> Html:
    """`text` as `parts` have it, in its typeface."""
    return tag("div", *parts, class_=f"cxa-says{face(text)}", lang="", dir="auto")


def _text(cell: Sequence[Sentence]) -> str:
    return "".join(one.text for one in cell).rstrip()


def _characters(band: Band) -> int:
    return max(sum(len(one.text) for one in cell) for cell in band.cells)
