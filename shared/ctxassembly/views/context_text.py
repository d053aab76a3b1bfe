"""The text that the model reads, block by block in the colors of its documents, hits distinct from neighbors."""

from __future__ import annotations

from ctxassembly.data.candidates import GAP
from ctxassembly.data.citations import Citation, ContextData
from ctxassembly.safe_repr import pluralize
from ctxassembly.views.evidence import highlight_evidence
from ctxassembly.views.html import (
    ID_CHARS,
    NOTE_CHARS,
    VALUE_CHARS,
    Html,
    byte_size,
    fold,
    font_class,
    format_score,
    join_html,
    more_line,
    tag,
    truncate,
)
from ctxassembly.views.names import DocumentNames
from ctxassembly.views.runs import BlockParts, TextRun, block_parts

CONTEXT_BYTES = 250_000
"""Bytes of the text with its markup: some 30,000 tokens of text."""
_CARD_BYTES = 1_000
"""Bytes of the markup around a block."""
_MAX_NAMED_CHUNKS = 20
"""Most chunks named on a label."""


def context_column(context: ContextData, names: DocumentNames) -> Html:
    """Return the blocks of the context that fit, and the number of characters that don't."""
    max_bytes, hidden, cards = CONTEXT_BYTES, 0, []
    for parts in block_parts(context):
        if hidden or max_bytes < _CARD_BYTES:
            hidden += len(parts.block.text)
            continue
        card, hidden = _block_card(parts, names, max_bytes)
        max_bytes -= byte_size(card)
        cards.append(card)
    if not context.blocks:
        cards.append(tag("p", "Nothing: the context has no chunks.", class_="cxa-soft"))
    return join_html(*cards, more_line(hidden, f"characters of {len(context.blocks):,} blocks"))


def _block_card(parts: BlockParts, names: DocumentNames, max_bytes: int) -> tuple[Html, int]:
    """Return a block, and the number of its characters that have no room."""
    css_class = ""
    title = tag("span", "Supplement, no label", class_="cxa-soft")
    if parts.citation is not None:
        css_class = names.documents[parts.citation.document_id].css_class
        title = _label_details(parts.citation, len(parts.candidates), names)
    written = [_header_tag("header", parts.header), _header_tag("summary", parts.summary)]
    max_bytes -= byte_size(join_html(title, *written)) + _CARD_BYTES
    hidden = 0
    for run in parts.runs:
        marker = names.hit_marker(run.candidate) if run.candidate and run.is_chunk_start else ""
        shown = join_html(marker, _run_tag(run, names))
        max_bytes -= byte_size(shown)
        if max_bytes < 0:
            hidden += len(run.text)
        else:
            written.append(shown)
    body = tag("div", *written, class_="cxa-text", lang="", dir="auto")
    return tag("article", title, body, class_=f"cxa-card {css_class}".rstrip()), hidden


def _header_tag(kind: str, text: str) -> Html:
    if not text.strip():
        return Html()
    label = tag("span", kind, class_="cxa-tag")
    return tag("span", label, truncate(text.strip(), 4 * VALUE_CHARS), class_="cxa-head", dir="auto")


def _run_tag(run: TextRun, names: DocumentNames) -> Html:
    """Return a run of text with its evidence marked."""
    if run.candidate is None or run.source is None:
        return tag("span", run.text, class_="cxa-gap" if GAP in run.text else "cxa-ours")
    offset = run.source.chunk_span[0] - (run.candidate.text_offset or 0)
    marked = highlight_evidence(run.text, names.marks.context_marks.get(run.candidate.key, ()), offset)
    css_class = ("cxa-hit" if run.candidate.is_hit else "cxa-near") + font_class(run.candidate.chunk.text)
    id_ = names.passage_id(run.candidate)
    return tag("span", marked, class_=css_class, id_=id_, tabindex="-1" if id_ else None)


def _label_details(citation: Citation, chunks: int, names: DocumentNames) -> Html:
    """Return the name of a label; unfolded, its metadata and chunks."""
    where = {
        "document": citation.document_id,
        "page": ", ".join(map(str, citation.pages)),
        "section": citation.section,
        "sheet": citation.sheet,
        "row": citation.row,
        "line": citation.start_line,
        "chunks": ", ".join(citation.chunk_ids[:_MAX_NAMED_CHUNKS]),
    }
    facts = " · ".join(
        f"{name} {truncate(value, NOTE_CHARS)}" for name, value in where.items() if value not in (None, "")
    )
    best = "" if citation.score is None else f", best score {format_score(citation.score)}"
    summary = tag(
        "span",
        f"[{citation.label}] ",
        names.documents[citation.document_id].letter_tag,
        f" {truncate(citation.source, ID_CHARS)} ",
        tag("span", pluralize(chunks, "chunk") + best, class_="cxa-does"),
    )
    return fold(summary, tag("p", facts, class_="cxa-soft"))
