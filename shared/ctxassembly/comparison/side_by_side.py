"""A comparison as HTML: a row for each configuration, and the texts side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ctxassembly.comparison.align import Band, Row, Sentence, evidence_of, side_by_side
from ctxassembly.comparison.row import Absent, Compared, sources, titles
from ctxassembly.comparison.style import styles
from ctxassembly.data.chunks import Span
from ctxassembly.safe_repr import counted
from ctxassembly.views.evidence import Mark, evident
from ctxassembly.views.evidence_report import outcome, quoted, verdict
from ctxassembly.views.fragments import LEAST_SHARED_CHARS, shared_spans
from ctxassembly.views.html import Html, face, joined, meter, more, number, row, size, table, tag, within
from ctxassembly.views.limits import EVIDENCE_BYTES, ID_CHARS, ORDER_LABELS, VALUE_CHARS
from ctxassembly.views.names import Named, named

BOTH_BYTES = 400_000
"""Bytes of the texts side by side with their markup: some 50,000 tokens in all."""


def both(rows: Sequence[Compared], documents: Mapping[str, Named]) -> Html:
    """The table with a column for each of `rows`; nothing if there is one alone."""
    if len(rows) < 2:
        return Html()
    names = titles(rows, ID_CHARS)
    absent = [Absent.of(row.context) for row in rows]
    room, left, bodies = BOTH_BYTES, 0, []
    for document in side_by_side([each.context for each in rows], [each.marks for each in rows]):
        written = [_heading(document, documents[document.document_id], rows)]
        for band in document.bands:
            line = Html() if left else _line(band, document, names, absent)
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


_NUMBERS = (1, 2, 3, 4, 5, 6)


def contrast(rows: Sequence[Compared]) -> Html:
    """The table, below it the letters of the documents, and the texts."""
    documents = documents_of(rows)
    most = max((compared.tokens for compared in rows), default=0) or 1
    columns = ("configuration", "tokens", "chunks", "documents", "passages", "mean run", "evidence", "order of labels")
    said = "Mean run: characters of a passage. Evidence: the share of it that is read"
    written = [
        row(*_cells(title, compared, most, documents), numbers=_NUMBERS)
        for title, compared in zip(titles(rows, VALUE_CHARS), rows, strict=True)
    ]
    whole = table(said, columns, written, _NUMBERS)
    items = [tag("li", documents[known].key, f" {documents[known].name}") for known in sources(rows)]
    legend = tag("ul", *items, class_="cxa-legend", aria_label="Documents")
    title = tag("h2", "The same hits, configured differently")
    inside = title, whole, legend, _evidence(rows), both(rows, documents)
    return joined(styles(), tag("section", *inside, class_="cxa", lang="en", aria_label="Comparison"))


def documents_of(rows: Sequence[Compared]) -> dict[str, Named]:
    """All documents that stand in one of `rows`, by id; first those of `sources`, with the same letters."""
    first = sources(rows)
    return named({**first, **sources(rows, None), **first})


def _evidence(rows: Sequence[Compared]) -> Html:
    """The outcome of each piece of evidence in each context."""
    pieces = rows[0].located if rows else ()
    if not pieces:
        return Html()

    def cells(place: int) -> Iterator[Html]:
        yield joined(f"{place + 1} ", quoted(pieces[place]))
        for compared in rows:
            became, where = verdict(compared.context, compared.located[place])
            yield joined(outcome(became), tag("div", where, class_="cxa-does"))

    written = within((row(*cells(place)) for place in range(len(pieces))), EVIDENCE_BYTES)
    whole = table("What became of each piece", ("evidence", *titles(rows, ID_CHARS)), written)
    shown = tag("div", whole, class_="cxa-asked")
    return joined(tag("h3", "Evidence"), shown, more(len(pieces) - len(written), "pieces of evidence"))


def _cells(title: str, compared: Compared, most: int, documents: Mapping[str, Named]) -> Iterator[str]:
    yield title
    yield joined(number(compared.tokens), meter(compared.tokens / most))
    yield from map(number, (compared.chunks, compared.documents, compared.passages))
    yield number(compared.mean_run_chars, 0)
    yield joined(number(compared.evidence, 2), "" if compared.evidence is None else meter(compared.evidence))
    keys = [documents[document_id].key for document_id, _ in compared.order[:ORDER_LABELS]]
    rest = len(compared.order) - ORDER_LABELS
    yield joined(*keys, f" and {rest:,} more" if rest > 0 else "" if keys else "–")
