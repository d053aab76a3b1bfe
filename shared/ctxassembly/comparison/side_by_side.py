"""A comparison as HTML: a row for each configuration, the texts side by side, and a slider over them.

What only some contexts have is marked by a line at its side, not only by a color. The slider is a group of radio
buttons on a line, so arrow keys move it; `:has` shows the pane of the selected one, and without `:has` all panes are
shown. Each view has a form of its own, so two views on a page never share their buttons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b

from ctxassembly.comparison.align import (
    AlignedDocument,
    ContextSentence,
    SentenceRow,
    align_documents,
    decisions_by_chunk,
    explain_absence,
    joined_marks,
)
from ctxassembly.comparison.rows import ComparisonRow, document_sources, row_numbers, row_titles
from ctxassembly.data.trace import Decision
from ctxassembly.safe_repr import pluralize
from ctxassembly.views.evidence import (
    EVIDENCE_BYTES,
    evidence_report,
    evidence_status,
    highlight_evidence,
    quote_evidence,
    status_tag,
)
from ctxassembly.views.html import (
    ID_CHARS,
    VALUE_CHARS,
    Html,
    byte_size,
    font_class,
    join_html,
    meter,
    more_line,
    row,
    table,
    tag,
    take_fitting,
)
from ctxassembly.views.names import NamedDocument, name_documents
from ctxassembly.views.page import style_tag

SIDE_BY_SIDE_BYTES = 400_000
"""Bytes of the texts side by side with their markup: some 50,000 tokens in all."""
SLIDER_BYTES = 600_000
"""Bytes of the texts of all stops of a slider: each has an equal share."""
COLUMNS = ("configuration", "tokens", "chunks", "documents", "passages", "mean run", "evidence", "order of labels")
_NUMERIC_COLUMNS = (1, 2, 3, 4, 5, 6)


def comparison_html(rows: Sequence[ComparisonRow]) -> Html:
    """Return the table, the letters of the documents, what became of the evidence, and the texts side by side."""
    documents = documents_by_id(rows)
    items = [tag("li", documents[known].letter_tag, f" {documents[known].name}") for known in document_sources(rows)]
    texts = side_by_side(rows, documents, SIDE_BY_SIDE_BYTES) if len(rows) > 1 else Html()
    content = (
        tag("h2", "The same hits, configured differently"),
        _numbers_table(rows, documents),
        tag("ul", *items, class_="cxa-legend", aria_label="Documents"),
        _evidence_table(rows),
        tag("h3", "Side by side") if texts else "",
        texts,
    )
    return join_html(_style_tags(), tag("section", *content, class_="cxa", lang="en", aria_label="Comparison"))


def slider_html(stops: Sequence[ComparisonRow], setting: str) -> Html:
    """Return a slider whose stops show each context next to the one before it."""
    documents = documents_by_id(stops)
    digest = blake2b("\0".join(stop.context.text for stop in stops).encode("utf-8", "replace"), digest_size=4)
    group = f"cxa-{digest.hexdigest()}-stop"
    title = setting[:1].upper() + setting[1:]
    buttons, panes = [], []
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
    track = tag("div", *buttons, class_="cxa-track")
    fieldset = tag("fieldset", tag("legend", title), track, class_="cxa-slider")
    form = tag("form", fieldset, method="dialog")  # Enter in a form of another method would leave the page
    heading = tag("h2", f"What the model reads, by {setting}")
    view = tag("section", heading, form, *panes, class_="cxa", lang="en", aria_label=f"Contexts by {setting}")
    return join_html(_style_tags(len(stops)), view)


def documents_by_id(rows: Sequence[ComparisonRow]) -> dict[str, NamedDocument]:
    """Return all documents of `rows` by id; the documents of `document_sources` come first, with the same letters."""
    return name_documents({**document_sources(rows), **document_sources(rows, None)})


def _numbers_table(rows: Sequence[ComparisonRow], documents: Mapping[str, NamedDocument]) -> Html:
    max_tokens = max((compared.tokens for compared in rows), default=0) or 1
    written = []
    for title, compared in zip(row_titles(rows, VALUE_CHARS), rows, strict=True):
        tokens, *numbers, evidence = row_numbers(compared)
        keys = [documents[document_id].letter_tag for document_id in compared.document_order]
        cells = (
            title,
            join_html(tokens, meter(compared.tokens / max_tokens)),
            *numbers,
            join_html(evidence, "" if compared.evidence is None else meter(compared.evidence)),
            join_html(*keys, compared.more_labels if keys else "–"),
        )
        written.append(row(*cells, numeric_columns=_NUMERIC_COLUMNS))
    caption = "Mean run: characters of a passage. Evidence: the share of it that is read"
    return table(caption, COLUMNS, written, _NUMERIC_COLUMNS)


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

    written = take_fitting((row(*cells(index)) for index in range(len(pieces))), EVIDENCE_BYTES)
    whole = table("What became of each piece", ("evidence", *row_titles(rows, ID_CHARS)), written)
    rest = more_line(len(pieces) - len(written), "pieces of evidence")
    return join_html(tag("h3", "Evidence"), tag("div", whole, class_="cxa-asked"), rest)


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


_RULES = """
.cxa .cxa-both{width:100%;min-width:calc(var(--contexts)*15rem);margin:0;
 border-collapse:separate;border-spacing:0;table-layout:fixed;border:0;font-size:14px;
 color:var(--ink)}
.cxa .cxa-both caption{caption-side:top;padding:0 0 .35rem;text-align:left;color:var(--soft);font-size:13px}
.cxa .cxa-both tr,.cxa .cxa-both tr:nth-child(n){background:none}
.cxa .cxa-both th,.cxa .cxa-both td{padding:.3rem .7rem;border:0;text-align:start;vertical-align:top;
 font-weight:400;line-height:1.55;white-space:normal;overflow-wrap:anywhere;max-width:none}
.cxa .cxa-both thead th{position:sticky;top:0;z-index:1;background:var(--paper);border-bottom:1px solid var(--line);
 font-weight:650;font-size:13px;text-align:left}
.cxa .cxa-both .cxa-doc{padding-top:1rem;font-size:13px;color:var(--soft);text-align:left}
.cxa .cxa-both .cxa-doc b{color:var(--doc,var(--ink));font-weight:600}
.cxa .cxa-both .cxa-says{white-space:pre-wrap;unicode-bidi:plaintext}
.cxa .cxa-both .cxa-same{color:var(--soft)}
.cxa .cxa-both .cxa-only .cxa-says{margin-left:-.7rem;padding:.15rem .5rem .15rem calc(.7rem - 4px);
 background:var(--raised);border-left:4px solid var(--link)}
.cxa .cxa-both .cxa-none{color:var(--soft);font-style:italic;font-size:13px}
.cxa .cxa-who{display:none;margin-right:.5em;color:var(--ink);font-size:12px;font-weight:650;font-style:normal}
.cxa .cxa-legend .cxa-only{padding:.15rem .5rem;color:var(--ink);background:var(--raised);
 border-left:4px solid var(--link)}
.cxa .cxa-slider{margin:1.25rem 0 .5rem;padding:0;border:0;min-width:0}
.cxa .cxa-slider legend{padding:0;margin:0 0 .5rem;color:var(--ink);font-size:13px;font-weight:650}
.cxa .cxa-track{display:flex;overflow-x:auto;padding:3px 0 .25rem}
.cxa .cxa-track label{position:relative;flex:1 0 3.5rem;display:flex;flex-direction:column;align-items:center;
 gap:.3rem;margin:0;padding:0 .25rem;color:var(--soft);font-size:13px;font-weight:400;line-height:1.3;text-align:center;
 font-variant-numeric:tabular-nums;cursor:pointer}
.cxa .cxa-track label::before{content:"";position:absolute;top:8px;right:50%;width:100%;height:4px;
 background:var(--line)}
.cxa .cxa-track label:first-child::before{display:none}
.cxa .cxa-track label:has(:checked)::before,.cxa .cxa-track label:has(~ label :checked)::before{background:var(--link)}
.cxa .cxa-track label:has(:checked){color:var(--ink);font-weight:650}
.cxa .cxa-track input{appearance:none;-webkit-appearance:none;position:relative;flex:none;width:20px;height:20px;
 margin:0;padding:0;border:2px solid var(--soft);border-radius:50%;background:var(--paper);cursor:pointer;z-index:1}
.cxa .cxa-track input:checked{border-color:var(--link);background:var(--link);box-shadow:inset 0 0 0 3px var(--paper)}
.cxa .cxa-track label:has(~ label :checked) input{border-color:var(--link);background:var(--link)}
.cxa .cxa-track input:focus-visible{border-radius:50%}
.cxa .cxa-pane>.cxa-meter{margin:.25rem 0 .75rem}
@container (max-width:46rem){
.cxa .cxa-both,.cxa .cxa-both tbody,.cxa .cxa-both tr,.cxa .cxa-both th,.cxa .cxa-both td{display:block;width:auto;
 min-width:0}
.cxa .cxa-both col,.cxa .cxa-both colgroup{display:none}
.cxa .cxa-both caption{display:block}
.cxa .cxa-both thead{display:none}
.cxa .cxa-both .cxa-who{display:inline}
.cxa .cxa-both tr{padding:.1rem 0}
.cxa .cxa-both .cxa-same ~ .cxa-same{display:none}
.cxa .cxa-scroll:has(.cxa-both){max-height:none}}
@supports selector(:has(*)){.cxa .cxa-pane{display:none}}
"""


def _style_tags(stops: int = 0) -> Html:
    """Return the style sheets of a comparison, with a rule for each stop of a slider."""
    pane_rules = "".join(
        f".cxa:has(.cxa-stop{stop}:checked) .cxa-pane{stop}{{display:block}}" for stop in range(1, stops + 1)
    )
    return join_html(style_tag(), Html(f"<style>{(_RULES + pane_rules).replace('.cxa ', '.cxa.cxa ')}</style>"))
