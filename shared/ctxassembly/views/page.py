"""The view of a context as HTML: a part of a notebook, or a page of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING

from ctxassembly.data.candidates import GAP
from ctxassembly.data.citations import ContextData
from ctxassembly.views.budget import chunk_counts, summarize, usage_parts
from ctxassembly.views.evidence import Evidence, LocatedEvidence, check_evidence, count_read, locate_evidence
from ctxassembly.views.html import format_number, render, render_section, wrap_page
from ctxassembly.views.model import ContextModel
from ctxassembly.views.retrieval import retrieval_part
from ctxassembly.wording.formats import FORMATS, shows_labels

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

_VIEW_NUMBERS = count()
"""Numbers of the views in notebooks. `next` is atomic, so it needs no lock."""
MAX_DECISIONS = 200
"""Rows of the table of decisions, and of the table of excluded hits."""
STAGE_PURPOSES: Mapping[str, str] = {
    "admit": "checks the retrieved chunks",
    "dedup": "removes exact copies",
    "expand": "fetches neighbors",
    "near dedup": "removes near-duplicates",
    "semantic dedup": "removes paraphrases",
    "score": "calls the scorer for sentences",
    "budget": "selects what fits the budget",
    "repeats": "removes repeated sentences",
    "render": "joins, labels, writes",
}
"""The purpose of each stage of an assembly."""


def _path(context: ContextData) -> str:
    """Return the number of chunks after each stage that changed it."""
    return " → ".join(map(format_number, chunk_counts(context.trace))) or "0"


def _facts(context: ContextData) -> Iterator[tuple[str, str]]:
    """Yield the numbers at the head of the page, each with its name."""
    trace = context.trace
    yield f"{context.token_count:,}", f"of {trace.max_tokens:,} tokens" if trace.max_tokens else "tokens"
    if trace.max_characters is not None:
        yield f"{trace.character_count:,}", f"of {trace.max_characters:,} characters"
    yield _path(context), "chunks, stage by stage"
    is_cited = context.format not in FORMATS or shows_labels(context.format)
    yield f"{len(context.citations):,}", "labels to cite" if is_cited else "blocks without a label"
    yield f"{trace.round_trips:,}", "calls to the store"
    yield f"{sum(stage.elapsed_ms for stage in trace.stages):,.1f} ms", "in all"


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
        model = ContextModel(context, f"cxa-{digest}", self.evidence)
        outcome, changes = summarize(context)
        retrieved = context.retrieved
        page = render(
            "context.html",
            context=context,
            trace=trace,
            model=model,
            outcome=outcome,
            changes=changes,
            facts=list(_facts(context)),
            usage=usage_parts(context, model.documents),
            evidence=list(enumerate(self.evidence, 1)),
            evidence_title=count_read(self.evidence),
            retrieval=retrieval_part(retrieved, model.documents, trace.decisions) if retrieved else "",
            path=_path(context),
            purposes=STAGE_PURPOSES,
            max_decisions=MAX_DECISIONS,
            gap=GAP,
        )
        return render_section("What the model reads", page)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from ctxassembly.views.terminal import render_context, render_encodable

        yield from render_encodable(render_context(self._context, self.evidence), console, options)
