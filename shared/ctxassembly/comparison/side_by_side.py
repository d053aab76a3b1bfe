"""A comparison as HTML: a row for each configuration, and the texts side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ctxassembly.comparison.align import AlignedDocument, ContextSentence, SentenceRow, align_documents, joined_marks
from ctxassembly.comparison.row import AbsenceReasons, ComparisonRow, document_sources, row_titles
from ctxassembly.comparison.style import style_tags
from ctxassembly.data.chunks import Span
from ctxassembly.safe_repr import pluralize
from ctxassembly.views.evidence import Mark, highlight_evidence
from ctxassembly.views.evidence_report import evidence_status, quote_evidence, status_tag
from ctxassembly.views.fragments import MIN_SHARED_CHARS, shared_spans
from ctxassembly.views.html import (
    Html,
    byte_size,
    font_class,
    format_number,
    join_html,
    meter,
    more_line,
    row,
    table,
    tag,
    take_fitting,
)
from ctxassembly.views.limits import EVIDENCE_BYTES, ID_CHARS, MAX_LABELS, VALUE_CHARS
from ctxassembly.views.names import NamedDocument, name_documents

SIDE_BY_SIDE_BYTES = 400_000
"""Bytes of the texts side by side with their markup: some 50,000 tokens in all."""


def side_by_side(rows: Sequence[ComparisonRow], documents: Mapping[str, NamedDocument]) -> Html:
    """The table with a column for each of `rows`; nothing if there is one alone."""
    if len(rows) < 2:
        return Html()
    names = row_titles(rows, ID_CHARS)
    absences = [AbsenceReasons.from_context(row.context) for row in rows]
    room, left_chars, bodies = SIDE_BY_SIDE_BYTES, 0, []
    for document in align_documents([each.context for each in rows], [each.marks for each in rows]):
        written = [_document_heading(document, documents[document.document_id], rows)]
        for band in document.rows:
            line = Html() if left_chars else _band_row(band, document, names, absences)
            room -= byte_size(line)
            if left_chars or room < 0:
                left_chars += _char_count(band)
            else:
                written.append(line)
        bodies.append(tag("tbody", *written))
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names)))
    caption = tag("caption", "By document, sentence by sentence; documents in the order in which they first stand")
    whole = tag("table", caption, head, *bodies, class_="cxa-both", style=f"--contexts:{len(rows)}")
    scroll = tag("div", whole, class_="cxa-scroll cxa-wide", tabindex="0", role="region", aria_label="Side by side")
    legend = _legend(len(rows), with_evidence=any(row.located_evidence for row in rows))
    return join_html(tag("h3", "Side by side"), legend, scroll, more_line(left_chars, "characters"))


def _legend(contexts: int, *, with_evidence: bool) -> Html:
    all_word = "both" if contexts == 2 else "all"
    marks = (
        join_html(tag("span", "text", class_="cxa-only"), " one context has and another lacks"),
        join_html(tag("span", "text", class_="cxa-soft"), f" {all_word} have"),
        *([join_html(tag("mark", "text", class_="cxa-evidence"), " evidence")] if with_evidence else []),
    )
    return tag("ul", *(tag("li", mark) for mark in marks), class_="cxa-legend", aria_label="How to read the marks")


def _document_heading(row: AlignedDocument, document: NamedDocument, rows: Sequence[ComparisonRow]) -> Html:
    """The line above a document: its name, and how much of it the contexts have in common."""
    shared = sum(len(band.cells[0]) for band in row.rows if band.is_shared)
    own_count = sum(
        len({one.normalized for cell in band.cells for one in cell}) for band in row.rows if not band.is_shared
    )
    summary = f"{pluralize(shared, 'sentence')} in common" + (f", {own_count:,} not" if own_count else "")
    name = tag("b", f" {document.name} ")
    return tag(
        "tr",
        tag("th", document.letter_tag, name, summary, class_=f"cxa-doc {document.css_class}", colspan=str(len(rows))),
    )


def _band_row(
    band: SentenceRow, row: AlignedDocument, names: Sequence[str], absences: Sequence[AbsenceReasons]
) -> Html:
    if band.is_shared:
        contexts_with = "both" if len(names) == 2 else "all"
        return tag(
            "tr",
            *(
                tag("td", _context_name(contexts_with), _highlighted_cell(cell), class_="cxa-same")
                for cell in band.cells
            ),
        )
    texts = [_cell_text(cell) for cell in band.cells]
    cells = []
    for at, text in enumerate(texts):
        if not band.cells[at]:
            missing = [one for other in band.cells for one in other]
            cells.append(
                tag("td", _context_name(names[at]), absences[at].explain(missing, row.sentences[at]), class_="cxa-none")
            )
        elif common := common_spans(text, texts[:at] + texts[at + 1 :]):
            highlighted = _text_tag(text, *_highlight_differences(text, common, joined_marks(band.cells[at])))
            cells.append(tag("td", _context_name(names[at]), highlighted, class_="cxa-partly"))
        else:
            cells.append(tag("td", _context_name(names[at]), _highlighted_cell(band.cells[at]), class_="cxa-only"))
    return tag("tr", *cells)


def _highlight_differences(text: str, common: Sequence[Span], evidence: Sequence[Mark]) -> Iterator[Html]:
    """`text` with all of it marked that isn't in `common`, and what is evidence."""
    at = 0
    for start, end in (*common, (len(text), len(text))):
        if text[at:start]:
            yield tag("span", highlight_evidence(text[at:start], evidence, at), class_="cxa-only")
        yield highlight_evidence(text[start:end], evidence, start)
        at = end


def common_spans(text: str, others: Sequence[str]) -> list[Span]:
    """The stretches of whole words of `text` that occur in each of `others`, too; none if `others` are none.

    >>> common_spans("Water until two hours before the operation.", ["Water until two hours before"])
    [(0, 28)]
    """
    common = [(0, len(text))] if others else []
    for other in others:
        shared = shared_spans([text, other])[0]
        common = [
            (max(a, c), min(b, d)) for a, b in common for c, d in shared if min(b, d) - max(a, c) >= MIN_SHARED_CHARS
        ]
    return [span for span in (_trim_to_words(text, *span) for span in common) if span[0] < span[1]]


def _trim_to_words(text: str, start: int, end: int) -> Span:
    """The part of a stretch that has no part of a word."""
    while start < end and start and not text[start - 1].isspace():
        start += 1
    while end > start and end < len(text) and not text[end].isspace():
        end -= 1
    return start, end


def _context_name(name: str) -> Html:
    """The name of a context, which is seen where the contexts stand below one another."""
    return tag("span", name, class_="cxa-who")


def _highlighted_cell(cell: Sequence[ContextSentence]) -> Html:
    text = _cell_text(cell)
    return _text_tag(text, highlight_evidence(text, joined_marks(cell)))


def _text_tag(text: str, *parts: str) -> Html:
    """`text` as `parts` have it, in its typeface."""
    return tag("div", *parts, class_=f"cxa-says{font_class(text)}", lang="", dir="auto")


def _cell_text(cell: Sequence[ContextSentence]) -> str:
    return "".join(one.text for one in cell).rstrip()


def _char_count(band: SentenceRow) -> int:
    return max(sum(len(one.text) for one in cell) for cell in band.cells)


_NUMERIC_COLUMNS = (1, 2, 3, 4, 5, 6)


def comparison_html(rows: Sequence[ComparisonRow]) -> Html:
    """The table, below it the letters of the documents, and the texts."""
    documents = documents_by_id(rows)
    max_tokens = max((compared.tokens for compared in rows), default=0) or 1
    columns = ("configuration", "tokens", "chunks", "documents", "passages", "mean run", "evidence", "order of labels")
    caption = "Mean run: characters of a passage. Evidence: the share of it that is read"
    table_rows = [
        row(*_row_cells(title, compared, max_tokens, documents), numeric_columns=_NUMERIC_COLUMNS)
        for title, compared in zip(row_titles(rows, VALUE_CHARS), rows, strict=True)
    ]
    whole = table(caption, columns, table_rows, _NUMERIC_COLUMNS)
    items = [tag("li", documents[known].letter_tag, f" {documents[known].name}") for known in document_sources(rows)]
    legend = tag("ul", *items, class_="cxa-legend", aria_label="Documents")
    title = tag("h2", "The same hits, configured differently")
    content = title, whole, legend, _evidence_table(rows), side_by_side(rows, documents)
    return join_html(style_tags(), tag("section", *content, class_="cxa", lang="en", aria_label="Comparison"))


def documents_by_id(rows: Sequence[ComparisonRow]) -> dict[str, NamedDocument]:
    """All documents that stand in one of `rows`, by id; first those of `document_sources`, with the same letters."""
    first = document_sources(rows)
    return name_documents({**first, **document_sources(rows, None), **first})


def _evidence_table(rows: Sequence[ComparisonRow]) -> Html:
    """The outcome of each piece of evidence in each context."""
    pieces = rows[0].located_evidence if rows else ()
    if not pieces:
        return Html()

    def cells(place: int) -> Iterator[Html]:
        yield join_html(f"{place + 1} ", quote_evidence(pieces[place]))
        for compared in rows:
            status, explanation = evidence_status(compared.context, compared.located_evidence[place])
            yield join_html(status_tag(status), tag("div", explanation, class_="cxa-does"))

    written = take_fitting((row(*cells(place)) for place in range(len(pieces))), EVIDENCE_BYTES)
    whole = table("What became of each piece", ("evidence", *row_titles(rows, ID_CHARS)), written)
    shown = tag("div", whole, class_="cxa-asked")
    return join_html(tag("h3", "Evidence"), shown, more_line(len(pieces) - len(written), "pieces of evidence"))


def _row_cells(
    title: str, compared: ComparisonRow, max_tokens: int, documents: Mapping[str, NamedDocument]
) -> Iterator[str]:
    yield title
    yield join_html(format_number(compared.tokens), meter(compared.tokens / max_tokens))
    yield from map(format_number, (compared.chunks, compared.documents, compared.passages))
    yield format_number(compared.mean_passage_chars, 0)
    yield join_html(format_number(compared.evidence, 2), "" if compared.evidence is None else meter(compared.evidence))
    keys = [documents[document_id].letter_tag for document_id, _ in compared.order[:MAX_LABELS]]
    rest = len(compared.order) - MAX_LABELS
    yield join_html(*keys, f" and {rest:,} more" if rest > 0 else "" if keys else "–")
