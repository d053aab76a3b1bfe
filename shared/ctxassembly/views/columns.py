"""The fragments as they were retrieved, next to the text that the model reads, block by block.

Both are in the colors of their documents. A fragment shows what the context has of it, and why it has no more; the text
distinguishes hits from neighbors.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxassembly.data.candidates import GAP
from ctxassembly.data.chunks import RetrievedFragment, Span
from ctxassembly.data.citations import Citation, ContextData
from ctxassembly.data.trace import Decision
from ctxassembly.safe_repr import pluralize
from ctxassembly.tracing.retained_hits import MAX_HIT_CHARS, MAX_SHOWN_HITS
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
    format_share,
    join_html,
    more_line,
    split_at_marks,
    tag,
    take_fitting,
    truncate,
)
from ctxassembly.views.names import DocumentNames
from ctxassembly.views.runs import BlockParts, TextRun, block_parts

FRAGMENTS_BYTES = 150_000
"""Bytes of the fragments with their markup."""
FRAGMENT_CHARS = 1_500
"""Characters shown of a fragment. A longer one without evidence is shown by its two ends, where chunks overlap."""
_MAX_LABELS = 5
"""Most labels named on a fragment."""
CONTEXT_BYTES = 250_000
"""Bytes of the text with its markup: some 30,000 tokens of text."""
_CARD_BYTES = 1_000
"""Bytes of the markup around a block."""
_MAX_NAMED_CHUNKS = 20
"""Most chunks named on a label."""


def before_and_after(context: ContextData, names: DocumentNames) -> Html:
    """Return the fragments before assembly and the text after it, with a legend."""
    marks = [
        (tag("span", "● 2", class_="cxa-chip"), "the second hit begins here"),
        (tag("span", "○ 2±1", class_="cxa-chip"), "its neighbor, one chunk away, begins here"),
        (tag("span", "text", class_="cxa-hit"), "from a hit, and in the context"),
        *([(tag("mark", "text", class_="cxa-evidence"), "evidence")] if names.marks.has_any else []),
    ]
    items = [tag("li", mark, f" {meaning}") for mark, meaning in marks]
    columns = (
        _column("Before: the fragments as they were retrieved", _fragment_cards(context, names), "cxa-before"),
        _column("After: the context as the model reads it", _context_column(context, names), "cxa-reading"),
    )
    return join_html(
        tag("h3", "Before and after"),
        tag("ul", *items, class_="cxa-legend cxa-d0", aria_label="How to read the marks"),
        tag("div", *columns, class_="cxa-columns"),
    )


def _column(title: str, content: Html, css_class: str) -> Html:
    scroll = tag("div", content, class_="cxa-scroll", tabindex="0", role="region", aria_label=title)
    return tag("div", tag("h4", title), scroll, class_=css_class)


def _fragment_cards(context: ContextData, names: DocumentNames) -> Html:
    """Return the hits in the order of the retriever that fit, a card each."""
    decisions = {decision.rank: decision for decision in context.trace.decisions if not decision.distance}
    shown = [hit for hit in context.hits if hit.rank < MAX_SHOWN_HITS]
    cards = take_fitting((_fragment_card(hit, decisions.get(hit.rank), names) for hit in shown), FRAGMENTS_BYTES)
    if not shown:
        return tag("p", "The context has no fragments.", class_="cxa-soft")
    return join_html(*cards, more_line(max(context.trace.hits, len(shown)) - len(cards), "fragments"))


def _fragment_card(hit: RetrievedFragment, decision: Decision | None, names: DocumentNames) -> Html:
    facts: list[str] = [tag("b", f"{hit.rank + 1}")]
    document_class = ""
    if decision is not None:
        document = names.documents[decision.document_id]
        document_class = document.css_class
        outcome = truncate(_format_outcome(hit, decision, names), 2 * ID_CHARS)
        facts += [
            document.letter_tag,
            truncate(decision.chunk_id, ID_CHARS),
            f"score {format_score(hit.score)}",
            tag("a", outcome, href=names.decision_link(decision.chunk_id, decision.rank, 0)),
            _passage_link(hit.rank, names),
            names.search_badges(hit.chunk),
        ]
    header = tag("div", *(tag("span", fact) for fact in facts if fact), class_="cxa-line")
    text_class = f"cxa-text{font_class(hit.chunk.text)}"
    return tag(
        "article",
        header,
        tag("div", *_highlighted_text(hit, names), class_=text_class, lang="", dir="auto"),
        class_=f"cxa-card cxa-fragment {document_class}".rstrip(),
        id_=f"{names.anchor}-f{hit.rank}",
        tabindex="-1",
        aria_label=f"Fragment {hit.rank + 1}",
    )


def _format_outcome(hit: RetrievedFragment, decision: Decision, names: DocumentNames) -> str:
    """Return the outcome of a hit, the reason if it is another word, and the share of its text that is kept."""
    outcome = f"{decision.outcome} of {decision.because_of}" if decision.because_of else str(decision.outcome)
    if decision.outcome not in ("kept", decision.reason):
        outcome += f": {decision.reason}"
    kept = sum(end - start for start, end in names.kept_spans.get(hit.rank, ()))
    return outcome + (f", {format_share(kept, hit.characters)} of its text" if 0 < kept < hit.characters else "")


def _passage_link(rank: int, names: DocumentNames) -> Html:
    """Return the labels of the blocks that have the text of a hit, as a link to the first of them."""
    labels = [f"[{label}]" for label in names.labels.get(rank, ())]
    if not labels:
        return Html()
    text = " ".join(labels[:_MAX_LABELS]) + (" …" if len(labels) > _MAX_LABELS else "")
    return tag("a", f"in {text}", href=names.passage_link(rank), title="Its place in the context")


def _highlighted_text(hit: RetrievedFragment, names: DocumentNames) -> Iterator[Html]:
    """Yield the text, or its two ends if it is long and has no evidence, with what the context has of it marked."""
    text, hidden = hit.chunk.text, hit.characters - len(hit.chunk.text)
    is_whole = len(text) <= (MAX_HIT_CHARS if hit.rank in names.marks.fragment_marks else FRAGMENT_CHARS)
    half = FRAGMENT_CHARS // 2
    shown: list[Span] = [(0, len(text))] if is_whole else [(0, half), (len(text) - half, len(text))]
    # Of a text too long to be kept, the fragment has the two ends.
    regions = [(0, len(text) // 2, 0), (len(text) // 2, len(text), hidden)] if hidden else [(0, len(text), 0)]
    marks = [
        ((max(start - offset, first), min(end - offset, last)), (0,))
        for first, last, offset in regions
        for start, end in names.kept_spans.get(hit.rank, ())
        if max(start - offset, first) < min(end - offset, last)
    ]
    for start, end in shown:
        at = start
        if start:
            yield tag("span", f"\n… {start - shown[0][1] + hidden:,} characters …\n", class_="cxa-gap")
        for part, numbers in split_at_marks(text[start:end], marks, start):
            written = highlight_evidence(part, names.marks.fragment_marks.get(hit.rank, ()), at)
            yield tag("span", written, class_="cxa-hit") if numbers else written
            at += len(part)


def _context_column(context: ContextData, names: DocumentNames) -> Html:
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
    own_marks = names.marks.context_marks.get(run.candidate.key, ())
    marked = highlight_evidence(run.text, own_marks, run.source.chunk_span[0])
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
    known = {name: value for name, value in where.items() if value not in (None, "")}
    facts = " · ".join(f"{name} {truncate(value, NOTE_CHARS)}" for name, value in known.items())
    best = "" if citation.score is None else f", best score {format_score(citation.score)}"
    summary = tag(
        "span",
        f"[{citation.label}] ",
        names.documents[citation.document_id].letter_tag,
        f" {truncate(citation.source, ID_CHARS)} ",
        tag("span", pluralize(chunks, "chunk") + best, class_="cxa-does"),
    )
    return fold(summary, tag("p", facts, class_="cxa-soft"))
