"""The view of a context as HTML: a piece for a notebook, or a page of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxassembly.data.citations import ContextData
from ctxassembly.views.budget import budget_bar, chunk_counts
from ctxassembly.views.context_text import context_column
from ctxassembly.views.evidence import (
    Evidence,
    LocatedEvidence,
    check_evidence,
    locate_evidence,
    mark_evidence,
    notebook_anchor,
    page_anchor,
)
from ctxassembly.views.evidence_report import evidence_report
from ctxassembly.views.fragments import fragment_cards
from ctxassembly.views.html import Html, join_html, tag, truncate
from ctxassembly.views.limits import NOTE_CHARS
from ctxassembly.views.names import DocumentNames
from ctxassembly.views.retrieval import retrieval_section
from ctxassembly.views.style import STYLE
from ctxassembly.views.summary import summarize
from ctxassembly.views.trace import decisions_table, excluded_hits, notes_list, stages_table
from ctxassembly.wording.formats import FORMATS, shows_labels

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""The content security policy of a page: it loads and runs nothing but its own style."""
_TOGGLE = Html('<input type="checkbox" class="cxa-toggle">')


def render_page(context: ContextData, evidence: Sequence[Evidence] = ()) -> str:
    """A whole page, ready for a file.

    Raises:
        InputError: a piece of `evidence` is neither a text nor a span.
    """
    pieces = locate_evidence(context, check_evidence(evidence))
    return wrap_page(_render_view(context, pieces, page_anchor(context, pieces)))


def wrap_page(content: str) -> str:
    """A page around the markup of a view."""
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">'
        "<title>What the model reads</title>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body class="cxa-page">{content}</body></html>\n'


def render_view(context: ContextData, evidence: Sequence[Evidence] = ()) -> str:
    """The view as a piece of HTML, for a notebook. Its style applies to nothing else there.

    Raises:
        InputError: a piece of `evidence` is neither a text nor a span.
    """
    pieces = locate_evidence(context, check_evidence(evidence))
    return _render_view(context, pieces, notebook_anchor(context, pieces))


def _render_view(context: ContextData, evidence: tuple[LocatedEvidence, ...], anchor: str) -> str:
    names = DocumentNames(context, anchor, mark_evidence(evidence))
    decision_table = decisions_table(context, names)  # first, since parts above it link to its rows
    columns = _before_and_after(context, names)
    return join_html(
        style_tag(),
        tag(
            "section",
            _header(context),
            budget_bar(context, names),
            evidence_report(context, evidence, lambda number: names.evidence_link(number, columns)),
            excluded_hits(context, names),
            columns,
            retrieval_section(context, names),
            tag("h3", "How it got there"),
            stages_table(context),
            tag("h3", "Every decision"),
            decision_table,
            notes_list(context),
            class_="cxa",
            lang="en",
            aria_label="What the model reads",
        ),
    )


def style_tag() -> Html:
    """The style sheet as an element."""
    return Html(f"<style>{STYLE}</style>")


def _header(context: ContextData) -> Html:
    trace = context.trace
    elapsed = sum(stage.elapsed_ms for stage in trace.stages)
    labels = len(context.citations)
    singular, plural = (
        ("block without a label", "blocks without a label")
        if context.format in FORMATS and not shows_labels(context.format)
        else ("label to cite", "labels to cite")
    )
    limit = f"of {trace.max_tokens:,} tokens" if trace.max_tokens else "tokens"
    facts = [
        (f"{context.token_count:,}", limit),
        (" → ".join(f"{chunks:,}" for chunks in chunk_counts(trace)) or "0", "chunks, stage by stage"),
        (f"{labels:,}", singular if labels == 1 else plural),
        (f"{trace.round_trips:,}", "call to the store" if trace.round_trips == 1 else "calls to the store"),
        (f"{elapsed:,.1f} ms", "in all"),
    ]
    if trace.max_characters is not None:
        facts.insert(1, (f"{trace.character_count:,}", f"of {trace.max_characters:,} characters"))
    items = [tag("li", tag("b", value), summary) for value, summary in facts]
    query_line = tag("p", "Query: ", tag("q", truncate(context.query, NOTE_CHARS), lang="")) if context.query else ""
    outcome, changes = summarize(context)
    summary = tag("p", tag("b", f"{outcome}. "), changes, class_="cxa-lede")
    return join_html(tag("h2", "What the model reads"), query_line, summary, tag("ul", *items, class_="cxa-facts"))


def _before_and_after(context: ContextData, names: DocumentNames) -> Html:
    toggle = tag("label", _TOGGLE, "Show what was stripped or cut, in its place")
    before = fragment_cards(context, names)  # first, since the marks in the text lead to those that have room
    after = context_column(context, names)
    all_id = f"{names.anchor}-all"
    columns = tag(
        "div",
        _column(
            "Before: the fragments as they came",
            before,
            "cxa-before",
            tag("p", tag("a", "Show all fragments", href=f"#{all_id}"), class_="cxa-all"),
            id_=all_id,
        ),
        _column("After: the context as the model reads it", after, "cxa-reading"),
        class_="cxa-columns",
    )
    return join_html(
        tag("h3", "Before and after"),
        _legend(bool(names.marks.context_marks or names.marks.fragment_marks)),
        tag("p", toggle),
        columns,
    )


def _legend(with_evidence: bool) -> Html:
    """The meaning of the marks in the two columns."""
    marks = [
        (tag("span", "● 2", class_="cxa-chip"), "here begins the hit that came second"),
        (tag("span", "○ 2±1", class_="cxa-chip"), "here a neighbor, one chunk away from it"),
        (tag("span", "text", class_="cxa-hit"), "from a hit; without color: from a neighbor"),
        (tag("mark", "text"), "stands in another fragment, too"),
        *([(tag("mark", "text", class_="cxa-evidence"), "evidence")] if with_evidence else []),
    ]
    items = [tag("li", mark, f" {said}") for mark, said in marks]
    return tag("ul", *items, class_="cxa-legend cxa-d0", aria_label="How to read the marks")


def _column(title: str, content: Html, css_class: str, above: str = "", id_: str | None = None) -> Html:
    scroll = tag("div", content, class_="cxa-scroll", id_=id_, tabindex="0", role="region", aria_label=title)
    return tag("div", tag("h4", title), above, scroll, class_=css_class)


class View:
    """A context and the places of its evidence. A notebook shows it as HTML, `rich.print` on a terminal.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> context = assemble([Hit(Chunk("gastro#0", "gastro", "Drink water."))])
    >>> "Evidence: 1 of 1 piece read" in context.view(evidence=["Drink water."]).to_html()
    True
    """

    def __init__(self, context: ContextData, evidence: Sequence[Evidence]) -> None:
        self._context = context
        self._pieces = check_evidence(evidence)
        self.evidence: tuple[LocatedEvidence, ...] = locate_evidence(context, self._pieces)

    def to_html(self) -> str:
        """The view as a page, ready for a file."""
        return render_page(self._context, self._pieces)

    def _repr_html_(self) -> str:

        return render_view(self._context, self._pieces)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from ctxassembly.views.terminal import render_context, render_encodable

        yield from render_encodable(render_context(self._context, self.evidence), console, options)
