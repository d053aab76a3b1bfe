"""The details of a label, folded below its name: its facts, and its chunks with their source and fate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Span
from ctxassembly.data.citations import Citation, Source
from ctxassembly.data.trace import Decision
from ctxassembly.inspect.documents import Names
from ctxassembly.inspect.limits import DETAILED_CHUNKS, ID_CHARS, NOTE_CHARS, VALUE_CHARS
from ctxassembly.inspect.links import lit
from ctxassembly.inspect.markup import Html, more, shortened, tag
from ctxassembly.inspect.runs import Share
from ctxassembly.inspect.tables import fold, score
from ctxassembly.safe_repr import counted


def details(citation: Citation, share: Share, names: Names, decisions: dict[tuple[str, int, int], Decision]) -> Html:
    """The name of a label; unfolded, its facts and its chunks with the slices that stand.

    `decisions` has those of the trace by chunk id, rank and distance.
    """
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
    ranks = dict.fromkeys(rank for candidate in candidates.values() for rank in names.links.ranks(candidate))
    shown = [rank for rank in ranks if names.links.fragment(rank)]
    return fold(
        summary,
        tag("p", facts, class_="cxa-soft"),
        tag("ul", *chunks, class_="cxa-chunks"),
        more(len(candidates) - DETAILED_CHUNKS, "chunks"),
        class_=lit(shown, leads=True) or None,
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
