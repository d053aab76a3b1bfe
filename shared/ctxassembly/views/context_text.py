"""The text that the model reads, block by block in the colors of its documents, hits distinct from neighbors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from ctxassembly.data.candidates import GAP, Candidate
from ctxassembly.data.chunks import Span
from ctxassembly.data.citations import Block, ContextData, Source
from ctxassembly.data.trace import Decision
from ctxassembly.safe_repr import pluralize
from ctxassembly.views.html import (
    ID_CHARS,
    NOTE_CHARS,
    VALUE_CHARS,
    Html,
    byte_size,
    escape_html,
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

CONTEXT_BYTES = 300_000
"""Bytes of the text with its markup: some 40,000 tokens of text."""
MAX_LABEL_CHUNKS = 20
"""Chunks listed under one label."""
_MAX_WORD_CHARS = 40
"""Most characters by which a marker is moved to the beginning of a word."""


def context_column(context: ContextData, names: DocumentNames) -> Html:
    """Return the blocks of the context that fit, and the number of characters that don't."""
    decisions = {(one.chunk_id, one.rank, one.distance): one for one in context.trace.decisions}
    parts_by_span = {parts.block.span: parts for parts in block_parts(context)}
    max_bytes, hidden, cards = CONTEXT_BYTES, 0, []
    for block in context.blocks:
        if hidden:
            hidden += len(block.text)
            continue
        parts = parts_by_span.get(block.span)
        card, cut = (
            _supplement_card(block, max_bytes) if parts is None else _block_card(parts, names, decisions, max_bytes)
        )
        max_bytes -= byte_size(card)
        hidden = len(block.text) if max_bytes < 0 else cut
        if max_bytes >= 0:
            cards.append(card)
    if not context.blocks:
        cards.append(tag("p", "Nothing: the context has no chunks.", class_="cxa-soft"))
    shown = join_html(*cards)
    return join_html(
        shown, names.hidden_passages(shown), more_line(hidden, f"characters of {len(context.blocks):,} blocks")
    )


def _supplement_card(block: Block, max_bytes: int) -> tuple[Html, int]:
    text, hidden = _fit_text(block.text, max_bytes - 1_000)
    title = tag("span", "Supplement, no label", class_="cxa-soft")
    return tag("article", title, tag("div", text, class_="cxa-text", lang="", dir="auto"), class_="cxa-card"), hidden


def _block_card(
    parts: BlockParts, names: DocumentNames, decisions: dict[tuple[str, int, int], Decision], max_bytes: int
) -> tuple[Html, int]:
    """Return the block of a label, and the number of its characters that have no room."""
    details = _label_details(parts, names, decisions)
    written = [_header_tag("header", parts.header), _header_tag("summary", parts.summary)]
    max_bytes -= byte_size(details) + sum(map(byte_size, written)) + 1_000
    hidden = 0
    for marked, run, start, text in marked_slices(parts.runs):
        if hidden:
            hidden += len(text)
            continue
        markers = join_html(*map(names.hit_marker, marked))
        max_bytes -= byte_size(markers) + 100
        shown = _highlighted_text(run, text, start, names)
        if byte_size(shown) > max_bytes:
            shown, hidden = _fit_text(text, max_bytes)
        max_bytes -= byte_size(shown)
        written += (markers, _run_tag(run, shown, names))
    body = tag("div", *written, class_="cxa-text", lang="", dir="auto")
    css_class = names.document(parts.citation.document_id).css_class
    return tag("article", details, body, class_=f"cxa-card {css_class}"), hidden


def _fit_text(text: str, max_bytes: int) -> tuple[Html, int]:
    """Return the beginning of `text` that has `max_bytes` bytes once escaped, and the number of characters left."""
    shown = text[: max(max_bytes, 0)]  # a character takes at least a byte
    while byte_size(escape_html(shown)) > max(max_bytes, 0):
        shown = shown[: len(shown) // 2]
    return Html(escape_html(shown)), len(text) - len(shown)


def _header_tag(kind: str, text: str) -> Html:
    if not text.strip():
        return Html()
    label = tag("span", kind, class_="cxa-tag")
    return tag("span", label, truncate(text.strip(), 4 * VALUE_CHARS), class_="cxa-head", dir="auto")


def _highlighted_text(run: TextRun, text: str, start: int, names: DocumentNames) -> Html:
    """Return the slice `text` of a run from `start` on, with its evidence marked."""
    if run.candidate is None or run.source is None:
        return Html(escape_html(text))
    return names.highlight_passage(
        run.candidate, text, run.source.chunk_span[0] - (run.candidate.text_offset or 0) + start
    )


def _run_tag(run: TextRun, text: Html, names: DocumentNames) -> Html:
    if run.candidate is None:
        return tag("span", text, class_="cxa-gap" if GAP in text else "cxa-ours") if text else text
    css_class = ("cxa-hit" if run.candidate.is_hit else "cxa-near") + font_class(run.candidate.chunk.text)
    id_ = names.passage_id(run.candidate)
    return tag("span", text, class_=css_class, id_=id_, tabindex="-1" if id_ else None)


def marked_slices(runs: Sequence[TextRun]) -> Iterator[tuple[list[Candidate], TextRun, int, str]]:
    """Yield slices of `runs`, each with the chunks that begin before it, its run, its offset there and its text.

    The boundary between two chunks may be inside a word, since overlap is removed by characters. The marker of the
    second chunk is then shown before that word, inside the run of the first.
    """
    text = "".join(run.text for run in runs)
    ends = list(accumulate(len(run.text) for run in runs))
    markers: dict[int, list[Candidate]] = defaultdict(list)
    for run, end in zip(runs, ends, strict=True):
        if run.candidate is not None and run.is_chunk_start:
            markers[word_start(text, end - len(run.text))].append(run.candidate)
    index = 0
    for start, end in pairwise(sorted({0, *markers, *ends})):
        while ends[index] <= start:
            index += 1
        yield markers.get(start, []), runs[index], start - ends[index] + len(runs[index].text), text[start:end]


def word_start(text: str, offset: int) -> int:
    """Return the beginning of the word that contains `offset`, or of the next word if a blank is there.

    Words are separated by white space. In a script without spaces `offset` stays as it is.

    >>> [word_start("Drink allowed water.", offset) for offset in (6, 9, 13)]
    [6, 6, 14]
    """
    start = offset
    while start < len(text) and text[start].isspace():
        start += 1
    if start > offset:
        return start
    while start and not text[start - 1].isspace() and offset - start <= _MAX_WORD_CHARS:
        start -= 1
    return start if offset - start <= _MAX_WORD_CHARS else offset


def _label_details(parts: BlockParts, names: DocumentNames, decisions: dict[tuple[str, int, int], Decision]) -> Html:
    """Return the name of a label; unfolded, its metadata, and its chunks with the slices that the context has."""
    citation = parts.citation
    sources: dict[int, list[Source]] = defaultdict(list)
    for run in parts.runs:
        if run.candidate is not None and run.source is not None:
            sources[run.candidate.key].append(run.source)
    chunks = [
        tag("li", *_chunk_details(one, sources[one.key], decisions.get((one.chunk.id, one.rank, one.distance)), names))
        for one in parts.candidates[:MAX_LABEL_CHUNKS]
    ]
    where = {
        "document": citation.document_id,
        "page": ", ".join(map(str, citation.pages)),
        "section": citation.section,
        "sheet": citation.sheet,
        "row": citation.row,
        "line": citation.start_line,
    }
    facts = " · ".join(
        f"{name} {truncate(value, VALUE_CHARS)}" for name, value in where.items() if value not in (None, "")
    )
    best = "" if citation.score is None else f", best score {format_score(citation.score)}"
    summary = tag(
        "span",
        f"[{citation.label}] ",
        names.document(citation.document_id).letter_tag,
        f" {truncate(citation.source, ID_CHARS)} ",
        tag("span", pluralize(len(parts.candidates), "chunk") + best, class_="cxa-does"),
        title=truncate(f"{facts} · chunks {', '.join(citation.chunk_ids[:MAX_LABEL_CHUNKS])}", NOTE_CHARS),
    )
    return fold(
        summary,
        tag("p", facts, class_="cxa-soft"),
        tag("ul", *chunks, class_="cxa-chunks"),
        more_line(len(parts.candidates) - MAX_LABEL_CHUNKS, "chunks"),
    )


def _chunk_details(
    candidate: Candidate, sources: Sequence[Source], decision: Decision | None, names: DocumentNames
) -> Iterator[str]:
    """Yield the id of a chunk, how it was found, the decision on it, and the slice of it that the context has."""
    chunk = candidate.chunk
    steps = f", {pluralize(candidate.distance, 'chunk')} away" if candidate.distance else ""
    spans = _format_spans([source.chunk_span for source in sources])
    where = _format_spans([(one.start, one.end) for one in sources if one.start is not None and one.end is not None])
    facts = (
        f"hit {candidate.rank + 1}{steps}",
        f"score {format_score(candidate.score)}",
        f"{decision.outcome}: {decision.reason}" if decision else "",
        f"characters {spans} of the chunk" if spans else "no characters of its own",
        f"{where} of the document" if where else "",
    )
    yield from (names.hit_marker(candidate), tag("b", truncate(chunk.id, ID_CHARS)), " ", names.search_badges(chunk))
    yield tag("div", " · ".join(filter(None, facts)), class_="cxa-soft")
    if sources:
        skipped, half = candidate.text_offset or 0, VALUE_CHARS // 2
        quote = chunk.text[sources[0].chunk_span[0] - skipped : sources[-1].chunk_span[1] - skipped]
        yield tag("q", quote if len(quote) <= VALUE_CHARS else f"{quote[:half]} … {quote[-half:]}", lang="", dir="auto")


def _format_spans(spans: Sequence[Span]) -> str:
    written = ", ".join(f"{start:,}–{end:,}" for start, end in spans[:5])
    return written + (f", and {len(spans) - 5:,} more" if len(spans) > 5 else "")
