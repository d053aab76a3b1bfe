"""The text that the model reads, block by block in the colours of its documents, hits apart from neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ctxassembly.data.assembled import Assembled, Block, Citation, Source
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Span
from ctxassembly.data.pieces import GAP
from ctxassembly.data.trace import Decision
from ctxassembly.inspect.documents import Names
from ctxassembly.inspect.lede import counted
from ctxassembly.inspect.limits import DETAILED_CHUNKS, GONE_CHARS, ID_CHARS, NOTE_CHARS, READING_BYTES, VALUE_CHARS
from ctxassembly.inspect.markup import Html, joined, more, safe, shortened, size, tag
from ctxassembly.inspect.runs import Gone, Run, Share, shares
from ctxassembly.inspect.tables import fold, score


def reading(context: Assembled, names: Names) -> Html:
    """The blocks of the context, as many as have room, and the number of characters that have none."""
    decisions = {(made.chunk_id, made.rank, made.distance): made for made in context.trace.decisions}
    parts = dict(shares(context))
    room, written, shown = READING_BYTES, [], 0
    for block in context.blocks:
        card, cut = (
            _card(block.citation, parts[block], names, decisions, room) if block.citation else _supplement(block, room)
        )
        if size(card) > room:
            break
        written.append(card)
        room -= size(card)
        shown += len(block.text)
        if cut:
            shown -= cut
            break
    rest = sum(len(block.text) for block in context.blocks) - shown
    if not context.blocks:
        written.append(tag("p", "Nothing: no chunk stands in this context.", class_="cxa-soft"))
    return joined(*written, more(rest, f"characters of {len(context.blocks):,} blocks"))


def _supplement(block: Block, room: int) -> tuple[Html, int]:
    text, cut = _cut(block.text, room - 1_000)
    title = tag("span", "Supplement, no label", class_="cxa-soft")
    return tag("article", title, tag("div", text, class_="cxa-text", lang="", dir="auto"), class_="cxa-card"), cut


def _card(
    citation: Citation,
    share: Share,
    names: Names,
    decisions: dict[tuple[str, int, int], Decision],
    room: int,
) -> tuple[Html, int]:
    """The block of a label, and the number of its characters that have no room."""
    document = names.document(citation.document_id)
    details = _details(citation, share, names, decisions)
    heads = _head("header", share.header), _head("summary", share.summary)
    room -= size(details) + sum(map(size, heads)) + 1_000
    runs: list[Html] = []
    cut = 0
    for run in share.runs:
        left_out = 0
        if cut:
            cut += len(run.text)
            continue
        around = joined(*map(_gone, run.gone), names.chip(run.candidate) if run.begins and run.candidate else "")
        room -= size(around) + 100
        text, left_out = _cut(run.text, room)
        room -= size(text)
        runs += (around, _run(run, text))
        cut += left_out
    body = tag("div", *heads, *runs, class_="cxa-text", lang="", dir="auto")
    return tag("article", details, body, class_=f"cxa-card {document.look}"), cut


def _cut(text: str, room: int) -> tuple[Html, int]:
    """The beginning of `text` that has `room` bytes once escaped, and the number of characters left out."""
    shown = text[: max(room, 0)]  # a character takes at least a byte
    while size(safe(shown)) > max(room, 0):
        shown = shown[: len(shown) // 2]
    return Html(safe(shown)), len(text) - len(shown)


def _head(kind: str, text: str) -> Html:
    if not text.strip():
        return Html()
    return tag(
        "span",
        tag("span", kind, class_="cxa-tag"),
        shortened(text.strip(), 4 * VALUE_CHARS),
        class_="cxa-head",
        dir="auto",
    )


def _run(run: Run, text: Html) -> Html:
    if run.candidate is None:
        return tag("span", text, class_="cxa-gap" if GAP in text else "cxa-ours") if text else text
    return tag("span", text, class_="cxa-hit" if run.candidate.is_hit else "cxa-near")


def _gone(gone: Gone) -> Html:
    why = "already stands before" if gone.why == "overlap" else f"left out: {gone.why}"
    return tag("del", tag("span", why, class_="cxa-tag", dir="ltr"), shortened(gone.text, GONE_CHARS), title=why)


def _details(citation: Citation, share: Share, names: Names, decisions: dict[tuple[str, int, int], Decision]) -> Html:
    document = names.document(citation.document_id)
    sources: dict[int, list[Source]] = {}
    candidates = {piece.candidate.key: piece.candidate for piece in share.pieces}
    for run in share.runs:
        if run.candidate is not None and run.source is not None:
            sources.setdefault(run.candidate.key, []).append(run.source)
    chunks = [
        tag("li", *_chunk(candidate, sources.get(key, []), names, decisions))
        for key, candidate in list(candidates.items())[:DETAILED_CHUNKS]
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
        f"{name} {shortened(value, VALUE_CHARS)}" for name, value in where.items() if value not in (None, "")
    )
    best = "" if citation.score is None else f", best score {score(citation.score)}"
    summary = tag(
        "span",
        f"[{citation.label}] ",
        document.key,
        f" {shortened(citation.source, ID_CHARS)} ",
        tag("span", counted(len(candidates), "chunk") + best, class_="cxa-does"),
        title=shortened(f"{facts} · chunks {', '.join(citation.chunk_ids[:DETAILED_CHUNKS])}", NOTE_CHARS),
    )
    return fold(
        summary,
        tag("p", facts, class_="cxa-soft"),
        tag("ul", *chunks, class_="cxa-chunks"),
        more(len(candidates) - DETAILED_CHUNKS, "chunks"),
    )


def _chunk(
    candidate: Candidate, found: Sequence[Source], names: Names, decisions: dict[tuple[str, int, int], Decision]
) -> Iterator[str]:
    """The id of a chunk, its source, the decision on it, and the slice of it that stands."""
    chunk = candidate.chunk
    decision = decisions.get((chunk.id, candidate.rank, candidate.distance))
    steps = f", {counted(candidate.distance, 'chunk')} away" if candidate.distance else ""
    spans = _spans([source.chunk_span for source in found])
    where = _spans([(one.start, one.end) for one in found if one.start is not None and one.end is not None])
    facts = (
        f"hit {candidate.rank + 1}{steps}",
        f"score {score(candidate.score)}",
        f"{decision.outcome}: {decision.reason}" if decision else "",
        f"characters {spans} of the chunk" if spans else "no characters of its own",
        f"{where} of the document" if where else "",
    )
    yield from (names.chip(candidate), tag("b", shortened(chunk.id, ID_CHARS)), " ", names.badges(chunk))
    yield tag("div", " · ".join(filter(None, facts)), class_="cxa-soft")
    if found:
        yield tag("q", _slice(candidate, found), lang="", dir="auto")


def _slice(candidate: Candidate, found: Sequence[Source]) -> str:
    """The text of the candidate that stands; of a long one its beginning and its end."""
    text, skipped, half = candidate.chunk.text, candidate.read_from or 0, VALUE_CHARS // 2
    first, last = found[0].chunk_span[0] - skipped, found[-1].chunk_span[1] - skipped
    if last - first <= VALUE_CHARS:
        return text[first:last]
    return f"{text[first : first + half]} … {text[last - half : last]}"


def _spans(spans: Sequence[Span]) -> str:
    written = ", ".join(f"{start:,}–{end:,}" for start, end in spans[:5])
    return written + (f", and {len(spans) - 5:,} more" if len(spans) > 5 else "")
