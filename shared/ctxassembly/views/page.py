"""The view of a context as HTML: a part of a notebook, or a page of its own."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import count
from typing import NamedTuple

from ctxassembly.data.candidates import GAP
from ctxassembly.data.citations import ContextData
from ctxassembly.data.trace import Trace
from ctxassembly.tokens.counter import counter_for
from ctxassembly.views.evidence import Evidence, LocatedEvidence, check_evidence, evidence_status, locate_evidence
from ctxassembly.views.html import format_number, render, render_section, wrap_page
from ctxassembly.views.model import ContextModel, NamedDocument, block_parts
from ctxassembly.views.retrieval import retrieval_part
from ctxassembly.wording.formats import FORMATS, shows_labels

_VIEW_NUMBERS = count()
"""Numbers of the views in notebooks. `next` is atomic, so it needs no lock."""
MAX_DECISIONS = 200
"""Rows of the table of decisions, and of the table of excluded hits."""
MAX_DOCUMENTS = 8
"""Documents with a line of their own in the budget; the others share one."""


class View:
    """A context and the places of its evidence, which a notebook shows as HTML.

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
        page = render(
            "context.html",
            context=context,
            trace=trace,
            model=model,
            path=" → ".join(map(format_number, chunk_counts(trace))) or "0",
            is_cited=context.format not in FORMATS or shows_labels(context.format),
            usage=usage_parts(context, model.documents),
            evidence=self.evidence,
            status=evidence_status,
            retrieval=retrieval_part(context.retrieved, model.documents, trace.decisions) if context.retrieved else "",
            max_decisions=MAX_DECISIONS,
            gap=GAP,
        )
        return render_section("What the model reads", page)


class UsagePart(NamedTuple):
    """A part of the budget: a document, the headers, what is unused, ..."""

    name: str
    amount: int
    letter: str = ""
    css_class: str = ""


def usage_parts(context: ContextData, names: Mapping[str, NamedDocument]) -> tuple[str, list[UsagePart]]:
    """Return the unit and the parts of the budget, the unused one last. They add up exactly.

    The unit is tokens, or characters if the context has no counter: then the budget is the text.
    """
    counts_tokens = context.encoding is not None
    count = counter_for(context.encoding) if context.encoding is not None else len
    documents: Tally[str] = Tally()
    headers = summaries = 0
    supplement = count(context.supplement) if context.supplement else 0
    for block in block_parts(context):
        if block.citation is not None:
            headers += count(block.header)
            summaries += count(block.summary)
            documents[block.citation.document_id] += count("".join(run.text for run in block.runs))
    total = context.token_count if counts_tokens else len(context.text)
    largest = dict(documents.most_common(MAX_DOCUMENTS))
    rest = documents.total() - sum(largest.values())
    named = [(names[one], amount) for one, amount in documents.items() if one in largest]
    optional = (
        UsagePart(f"{len(documents) - MAX_DOCUMENTS:,} more documents", rest, "+"),
        UsagePart("headers", headers, "h"),
        UsagePart("page summaries", summaries, "s"),
        UsagePart("supplement", supplement, "x"),
        # A token may cross the boundary of two parts.
        UsagePart("where parts meet", total - documents.total() - headers - summaries - supplement),
    )
    return "tokens" if counts_tokens else "characters", [
        *(UsagePart(document.name, amount, document.letter, document.css_class) for document, amount in named),
        *(part for part in optional if part.amount),
        UsagePart("free", max(context.trace.max_tokens - total, 0) if counts_tokens else 0, "", "cxa-free"),
    ]


def chunk_counts(trace: Trace) -> list[int]:
    """Return the number of chunks at the start, and after each stage that changed it."""
    numbers = [trace.stages[0].chunks_in] if trace.stages else []
    for stage in trace.stages:
        for chunks in (stage.chunks_in, stage.chunks_out):
            if chunks != numbers[-1]:
                numbers.append(chunks)
    return numbers
