"""A comparison as HTML and on a terminal: a row for each configuration, the texts side by side, and a slider over them.

What only some contexts have is marked by a line at its side, not only by a color. The slider is a group of radio
buttons on a line, so arrow keys move it; `:has` shows the pane of the selected one, and without `:has` all panes are
shown. Each view has a form of its own, so two views on a page never share their buttons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from ctxassembly.comparison.align import (
    AlignedDocument,
    ContextSentence,
    SentenceRow,
    align_documents,
    decisions_by_chunk,
    explain_absence,
    joined_marks,
)
from ctxassembly.comparison.rows import NUMBERS, ComparisonRow, document_sources, row_numbers, row_titles
from ctxassembly.data.trace import Decision
from ctxassembly.safe_repr import pluralize
from ctxassembly.views.evidence import (
    evidence_report,
    evidence_status,
    highlight_evidence,
    quote_evidence,
    status_tag,
)
from ctxassembly.views.html import (
    ID_CHARS,
    STYLE,
    VALUE_CHARS,
    Html,
    byte_size,
    font_class,
    join_html,
    make_visible,
    meter,
    more_line,
    read_style,
    render_section,
    table,
    tag,
)
from ctxassembly.views.names import NamedDocument, name_documents

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

SIDE_BY_SIDE_BYTES = 400_000
"""Bytes of the texts side by side with their markup: some 50,000 tokens in all."""
SLIDER_BYTES = 600_000
"""Bytes of the texts of all stops of a slider: each has an equal share."""
_STYLES = STYLE + read_style("ctxassembly.comparison", "comparison.css")


def comparison_html(rows: Sequence[ComparisonRow]) -> Html:
    """Return the table, the letters of the documents, what became of the evidence, and the texts side by side."""
    documents = documents_by_id(rows)
    items = [tag("li", documents[known].letter_tag, f" {documents[known].name}") for known in document_sources(rows)]
    return render_section(
        "The same hits, configured differently",
        _numbers_table(rows, documents),
        tag("ul", *items, class_="cxa-legend", aria_label="Documents"),
        _evidence_table(rows),
        *((tag("h3", "Side by side"), side_by_side(rows, documents, SIDE_BY_SIDE_BYTES)) if len(rows) > 1 else ()),
        styles=_STYLES,
    )


def slider_html(stops: Sequence[ComparisonRow], setting: str) -> Html:
    """Return a slider whose stops show each context next to the one before it."""
    documents = documents_by_id(stops)
    digest = blake2b("\0".join(stop.context.text for stop in stops).encode("utf-8", "replace"), digest_size=4)
    group = f"cxa-{digest.hexdigest()}-stop"
    title = setting[:1].upper() + setting[1:]
    buttons, panes, rules = [], [], ""
    for number, name in enumerate(row_titles(stops, VALUE_CHARS), 1):
        checked = " checked" if number == 1 else ""
        button = Html(f'<input type="radio" name="{group}" class="cxa-stop{number}"{checked}>')
        buttons.append(tag("label", button, tag("span", name)))
        stop, neighbors = stops[number - 1], stops[max(number - 2, 0) : number]
        content = (
            _numbers_table([stop], documents),
            evidence_report(stop.context, stop.located_evidence),
            side_by_side(neighbors, documents, SLIDER_BYTES // len(stops)),
        )
        css_class = f"cxa-pane cxa-pane{number}"
        panes.append(tag("div", *content, class_=css_class, role="region", aria_label=f"{title} {name}"))
        rules += f".cxa.cxa:has(.cxa-stop{number}:checked) .cxa-pane{number}{{display:block}}"
    track = tag("div", *buttons, class_="cxa-track")
    fieldset = tag("fieldset", tag("legend", title), track, class_="cxa-slider")
    form = tag("form", fieldset, method="dialog")  # Enter in a form of another method would leave the page
    heading = f"What the model reads, by {setting}"
    return render_section(heading, form, *panes, styles=f"{_STYLES}<style>{rules}</style>")


def render_rows(rows: Sequence[ComparisonRow], setting: str = "configuration") -> Iterator[Table | Text]:
    """Yield a terminal's table with a row for each configuration, and the letters of the documents."""
    from rich.text import Text

    from ctxassembly.views.terminal import add_row, make_table

    documents = documents_by_id(rows)
    table = make_table(setting, *NUMBERS, "order of labels")
    for title, row in zip(row_titles(rows, VALUE_CHARS), rows, strict=True):
        order = " ".join(documents[document_id].letter for document_id in row.document_order)
        add_row(table, title, *row_numbers(row), order + row.more_labels)
    yield table
    for document_id in document_sources(rows):
        yield Text(f"{documents[document_id].letter} {make_visible(documents[document_id].name)}", style="dim")


def documents_by_id(rows: Sequence[ComparisonRow]) -> dict[str, NamedDocument]:
    """Return all documents of `rows` by id; the documents of `document_sources` come first, with the same letters."""
    return name_documents({**document_sources(rows), **document_sources(rows, None)})


def _numbers_table(rows: Sequence[ComparisonRow], documents: Mapping[str, NamedDocument]) -> Html:
    max_tokens = max((compared.tokens for compared in rows), default=0) or 1
    written = []
    for title, compared in zip(row_titles(rows, VALUE_CHARS), rows, strict=True):
        tokens, *numbers, evidence = row_numbers(compared)
        keys = [documents[document_id].letter_tag for document_id in compared.document_order]
        written.append(
            (
                title,
                join_html(tokens, meter(compared.tokens / max_tokens)),
                *numbers,
                join_html(evidence, "" if compared.evidence is None else meter(compared.evidence)),
                join_html(*keys, compared.more_labels if keys else "–"),
            )
        )
    caption = "Mean run: characters of a passage. Evidence: the share of it that is read"
    return table(caption, ("configuration", *NUMBERS, "order of labels"), written)


def _evidence_table(rows: Sequence[ComparisonRow]) -> Html:
    """Return the outcome of each piece of evidence in each context."""
    pieces = rows[0].located_evidence if rows else ()
    if not pieces:
        return Html()

    def cells(index: int) -> Iterator[Html]:
        yield join_html(f"{index + 1} ", quote_evidence(pieces[index]))
        for compared in rows:
            status, explanation = evidence_status(compared.context, compared.located_evidence[index])
            yield join_html(status_tag(status), tag("div", explanation, class_="cxa-does"))

    columns = ("piece", *row_titles(rows, ID_CHARS))
    written = (list(cells(index)) for index in range(len(pieces)))
    whole = table("What became of each piece", columns, written, len(pieces), "pieces of evidence")
    return join_html(tag("h3", "Evidence"), tag("div", whole, class_="cxa-asked"))


def side_by_side(rows: Sequence[ComparisonRow], documents: Mapping[str, NamedDocument], max_bytes: int) -> Html:
    """Return a table of the texts with a column for each of `rows`, and the number of characters that don't fit."""
    names = row_titles(rows, ID_CHARS)
    decisions = [decisions_by_chunk(row.context) for row in rows]
    hidden, bodies = 0, []
    for document in align_documents([each.context for each in rows], [each.marks for each in rows]):
        written = [_document_heading(document, documents[document.document_id], len(rows))]
        for aligned in document.rows:
            line = Html() if hidden else _aligned_row(aligned, document, names, decisions)
            max_bytes -= byte_size(line)
            if hidden or max_bytes < 0:
                hidden += max(sum(len(one.text) for one in cell) for cell in aligned.cells)
            else:
                written.append(line)
        bodies.append(tag("tbody", *written))
    if not bodies:
        return tag("p", "Nothing: these contexts have no chunks.", class_="cxa-soft")
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names)))
    caption = tag("caption", "By document, sentence by sentence; documents in the order in which they first appear")
    whole = tag("table", caption, head, *bodies, class_="cxa-both", style=f"--contexts:{len(rows)}")
    scroll = tag("div", whole, class_="cxa-scroll cxa-wide", tabindex="0", role="region", aria_label="Side by side")
    legend = _legend(len(rows), with_evidence=any(row.located_evidence for row in rows))
    return join_html(legend, scroll, more_line(hidden, "characters"))


def _legend(contexts: int, *, with_evidence: bool) -> Html:
    marks = []
    if contexts > 1:
        marks = [
            join_html(tag("span", "text", class_="cxa-only"), " one context has and another lacks"),
            join_html(tag("span", "text", class_="cxa-soft"), f" {_all_of(contexts)} have"),
        ]
    if with_evidence:
        marks.append(join_html(tag("mark", "text", class_="cxa-evidence"), " evidence"))
    return tag("ul", *(tag("li", mark) for mark in marks), class_="cxa-legend", aria_label="How to read the marks")


def _all_of(contexts: int) -> str:
    return "both" if contexts == 2 else "all"


def _document_heading(aligned: AlignedDocument, document: NamedDocument, contexts: int) -> Html:
    """Return the line above a document: its name, and how much of it the contexts have in common."""
    shared = sum(len(each.cells[0]) for each in aligned.rows if each.is_shared)
    own = sum(
        len({one.normalized for cell in each.cells for one in cell}) for each in aligned.rows if not each.is_shared
    )
    summary = pluralize(shared, "sentence") + (" in common" if contexts > 1 else "") + (f", {own:,} not" if own else "")
    name = tag("b", f" {document.name} ")
    css_class = f"cxa-doc {document.css_class}"
    return tag("tr", tag("th", document.letter_tag, name, summary, class_=css_class, colspan=str(contexts)))


def _aligned_row(
    aligned: SentenceRow, document: AlignedDocument, names: Sequence[str], decisions: Sequence[Mapping[str, Decision]]
) -> Html:
    cells = []
    for index, cell in enumerate(aligned.cells):
        # The name is shown on a narrow screen only, where the contexts are below one another.
        name = tag("span", _all_of(len(names)) if aligned.is_shared else names[index], class_="cxa-who")
        if cell:
            cells.append(tag("td", name, _cell_text(cell), class_="cxa-same" if aligned.is_shared else "cxa-only"))
        else:
            missing = [one for other in aligned.cells for one in other]
            reason = explain_absence(missing, document.sentences[index], decisions[index])
            cells.append(tag("td", name, reason, class_="cxa-none"))
    return tag("tr", *cells)


def _cell_text(cell: Sequence[ContextSentence]) -> Html:
    text = "".join(one.text for one in cell).rstrip()
    css_class = f"cxa-says{font_class(text)}"
    return tag("div", highlight_evidence(text, joined_marks(cell)), class_=css_class, lang="", dir="auto")
