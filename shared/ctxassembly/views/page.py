"""The view of a context as HTML: a part of a notebook, or a page of its own."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING

from ctxassembly.data.citations import ContextData
from ctxassembly.views.budget import budget_bar, chunk_counts, summarize
from ctxassembly.views.columns import before_and_after
from ctxassembly.views.evidence import (
    Evidence,
    LocatedEvidence,
    check_evidence,
    evidence_report,
    locate_evidence,
    mark_evidence,
)
from ctxassembly.views.html import (
    NOTE_CHARS,
    Html,
    format_number,
    join_html,
    notes_list,
    render_section,
    tag,
    truncate,
    wrap_page,
)
from ctxassembly.views.names import DocumentNames
from ctxassembly.views.trace import decisions_table, excluded_hits, retrieval_section, stages_table
from ctxassembly.wording.formats import FORMATS, shows_labels

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

_VIEW_NUMBERS = count()
"""Numbers of the views in notebooks. `next` is atomic, so it needs no lock."""


def _header(context: ContextData) -> Html:
    trace = context.trace
    is_cited = context.format not in FORMATS or shows_labels(context.format)
    facts = [
        (f"{context.token_count:,}", f"of {trace.max_tokens:,} tokens" if trace.max_tokens else "tokens"),
        (" → ".join(f"{chunks:,}" for chunks in chunk_counts(trace)) or "0", "chunks, stage by stage"),
        (f"{len(context.citations):,}", "labels to cite" if is_cited else "blocks without a label"),
        (f"{trace.round_trips:,}", "calls to the store"),
        (f"{sum(stage.elapsed_ms for stage in trace.stages):,.1f} ms", "in all"),
    ]
    if trace.max_characters is not None:
        facts.insert(1, (f"{trace.character_count:,}", f"of {trace.max_characters:,} characters"))
    items = [tag("li", tag("b", value), name) for value, name in facts]
    query_line = tag("p", "Query: ", tag("q", truncate(context.query, NOTE_CHARS), lang="")) if context.query else ""
    outcome, changes = summarize(context)
    summary = tag("p", tag("b", f"{outcome}. "), changes, class_="cxa-lede")
    return join_html(query_line, summary, tag("ul", *items, class_="cxa-facts"))


class View:
    """A context and the places of its evidence. A notebook shows it as HTML, `rich.print` on a terminal.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> context = assemble([Hit(Chunk("gastro#0", "gastro", "Drink water."))])
    >>> "Evidence: 1 of 1 piece read" in context.view(evidence=["Drink water."]).to_html()
    True
    """

    def __init__(self, context: ContextData, evidence: Sequence[Evidence] = ()) -> None:
        self._context = context
        self.evidence: tuple[LocatedEvidence, ...] = locate_evidence(context, check_evidence(evidence))

    def to_html(self) -> str:
        """Return the view as a page, ready for a file. The same context gives the same ids."""
        return wrap_page(self._render())

    def _repr_html_(self) -> str:
        # Each view in a notebook has ids of its own, since the links of a second view of one context would else lead
        # into the first. They are numbered in the order in which the views are shown, so a notebook that runs from its
        # beginning gets the same ids again.
        return self._render(f"{next(_VIEW_NUMBERS)}")

    def _render(self, view_number: str = "") -> str:
        context, trace = self._context, self._context.trace
        # By the text, the decisions and the evidence, not by the times in the trace.
        content = (repr(trace.decisions), context.text, *(one.text for one in self.evidence), view_number)
        digest = blake2b("\0".join(content).encode("utf-8", "replace"), digest_size=4).hexdigest()
        names = DocumentNames(context, f"cxa-{digest}", mark_evidence(self.evidence))
        path = " → ".join(map(format_number, chunk_counts(trace))) or "0"
        return render_section(
            "What the model reads",
            _header(context),
            budget_bar(context, names),
            evidence_report(context, self.evidence),
            excluded_hits(context, names),
            before_and_after(context, names),
            retrieval_section(context, names),
            tag("h3", "How it got there"),
            stages_table(f"{path} chunks", trace.stages),
            tag("h3", "Every decision"),
            decisions_table(names),
            tag("h4", "Notes") if trace.notes else "",
            notes_list(trace.notes),
        )

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from ctxassembly.views.terminal import render_context, render_encodable

        yield from render_encodable(render_context(self._context, self.evidence), console, options)
