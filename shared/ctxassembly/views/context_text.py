"""The text that the model reads, block by block in the colors of its documents, hits apart from neighbors."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from ctxassembly.data.candidates import GAP, Candidate
from ctxassembly.data.chunks import Span
from ctxassembly.data.citations import Block, Citation, ContextData, Source
from ctxassembly.data.trace import Decision
from ctxassembly.safe_repr import pluralize
from ctxassembly.views.html import (
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
from ctxassembly.views.limits import CONTEXT_BYTES, ID_CHARS, MAX_LABEL_CHUNKS, MISSING_CHARS, NOTE_CHARS, VALUE_CHARS
from ctxassembly.views.links import css_class
from ctxassembly.views.names import DocumentNames
from ctxassembly.views.runs import BlockParts, MissingText, TextRun, block_parts


def label_details(
    citation: Citation, parts: BlockParts, names: DocumentNames, decisions: dict[tuple[str, int, int], Decision]
) -> Html:
    """The name of a label; unfolded, its facts and its chunks with the slices that stand.

    `decisions` has those of the trace by chunk id, rank and distance.
    """
    document = names.document(citation.document_id)
    sources: dict[int, list[Source]] = {}
    candidates = {piece.candidate.key: piece.candidate for piece in parts.pieces}
    for run in parts.runs:
        if run.candidate is not None and run.source is not None:
            sources.setdefault(run.candidate.key, []).append(run.source)
    chunks = [
        tag("li", *_chunk_details(candidate, sources.get(key, []), names, decisions))
        for key, candidate in list(candidates.items())[:MAX_LABEL_CHUNKS]
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
        document.letter_tag,
        f" {truncate(citation.source, ID_CHARS)} ",
        tag("span", pluralize(len(candidates), "chunk") + best, class_="cxa-does"),
        title=truncate(f"{facts} · chunks {', '.join(citation.chunk_ids[:MAX_LABEL_CHUNKS])}", NOTE_CHARS),
    )
    ranks = dict.fromkeys(rank for candidate in candidates.values() for rank in names.links.hit_ranks(candidate))
    shown = [rank for rank in ranks if names.links.fragment_link(rank)]
    return fold(
        summary,
        tag("p", facts, class_="cxa-soft"),
        tag("ul", *chunks, class_="cxa-chunks"),
        more_line(len(candidates) - MAX_LABEL_CHUNKS, "chunks"),
        class_=css_class(shown, isolates_fragments=True) or None,
    )


def _chunk_details(
    candidate: Candidate,
    sources: Sequence[Source],
    names: DocumentNames,
    decisions: dict[tuple[str, int, int], Decision],
) -> Iterator[str]:
    """The id of a chunk, its source, the decision on it, and the slice of it that stands."""
    chunk = candidate.chunk
    decision = decisions.get((chunk.id, candidate.rank, candidate.distance))
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
        yield tag("q", _quoted_text(candidate, sources), lang="", dir="auto")


def _quoted_text(candidate: Candidate, sources: Sequence[Source]) -> str:
    """The text of the candidate that stands; of a long one its beginning and its end."""
    text, skipped, half = candidate.chunk.text, candidate.text_offset or 0, VALUE_CHARS // 2
    first, last = sources[0].chunk_span[0] - skipped, sources[-1].chunk_span[1] - skipped
    if last - first <= VALUE_CHARS:
        return text[first:last]
    return f"{text[first : first + half]} … {text[last - half : last]}"


def _format_spans(spans: Sequence[Span]) -> str:
    written = ", ".join(f"{start:,}–{end:,}" for start, end in spans[:5])
    return written + (f", and {len(spans) - 5:,} more" if len(spans) > 5 else "")


# Not those that are shown by a picture or a number, as `visible` does: a mark among them would part what is one.
_BLANKS = re.compile(r"(?:\r\n|[^\S\x0b-\r\x1c-\x1f\x85\u2028\u2029])*")


def word_boundaries(text: str, offsets: Sequence[int]) -> list[int]:
    """Each of `offsets` in `text`, ascending, as the beginning of the word that it lies inside; blanks are passed over.

    >>> word_boundaries("Drink allowed water.", [6, 9, 13])
    [6, 6, 14]
    """
    boundaries = [0, *(match.start() for match in _boundary_pattern().finditer(text))]
    starts: list[int] = []
    for place in offsets:
        at = place
        if starts and at < starts[-1]:  # the blanks may be many, and those of the place before the same ones
            at = starts[-1]
        elif (blanks := _BLANKS.match(text, at)) and blanks.end() > at:
            at = blanks.end()
        else:
            at = boundaries[bisect_right(boundaries, at) - 1]
        starts.append(at)
    return starts


@cache
def _boundary_pattern() -> Any:
    """The default boundaries of Unicode (UAX 29), which know what `re` doesn't.

    That is combining marks, apostrophes, decimal points, emoji of several characters, and scripts without spaces, where
    nearly every character begins a word. `regex` imports threading, so it is imported when it is first needed.
    """
    import regex

    return regex.compile(r"\b", regex.WORD)


# The runs of a block, cut where the marks of other runs stand.
#
# The boundary between two chunks may lie inside a word, since overlap is stripped by characters. The mark of the second
# chunk then stands before that word, inside the run of the first.


class RunSlice(NamedTuple):
    """The slice `run.text[begin:end]`, and the runs whose marks stand before it."""

    run: TextRun
    start: int
    end: int
    marked_runs: tuple[TextRun, ...] = ()

    @property
    def text(self) -> str:
        """The slice."""
        return self.run.text[self.start : self.end]


def split_runs(runs: Sequence[TextRun]) -> Iterator[RunSlice]:
    """The stretches of `runs`, whose texts together are one running text, in order."""
    run_starts = [0]
    for run in runs:
        run_starts.append(run_starts[-1] + len(run.text))
    marked = [(begin, run) for begin, run in zip(run_starts, runs, strict=False) if run.is_chunk_start or run.missing]
    offsets = word_boundaries("".join(run.text for run in runs), [begin for begin, _ in marked])
    runs_by_offset: dict[int, list[TextRun]] = defaultdict(list)
    for place, (_, run) in zip(offsets, marked, strict=True):
        runs_by_offset[place].append(run)
    for begin, run in zip(run_starts, runs, strict=False):
        end = begin + len(run.text)
        cuts = [begin, *sorted(place for place in runs_by_offset if begin < place < end), end]
        for start, stop in pairwise(cuts):
            if start < stop or start in runs_by_offset:
                yield RunSlice(run, start - begin, stop - begin, tuple(runs_by_offset.pop(start, ())))
    for left in runs_by_offset.values():
        yield RunSlice(left[-1], 0, 0, tuple(left))


def context_column(context: ContextData, names: DocumentNames) -> Html:
    """The blocks of the context, as many as have room, and the number of characters that have none."""
    decisions = {(made.chunk_id, made.rank, made.distance): made for made in context.trace.decisions}
    block_parts_by_block = dict(block_parts(context))
    room, cards, shown = CONTEXT_BYTES, [], 0
    for block in context.blocks:
        card, cut = (
            _block_card(block.citation, block_parts_by_block[block], names, decisions, room)
            if block.citation
            else _supplement_card(block, room)
        )
        if byte_size(card) > room:
            break
        cards.append(card)
        room -= byte_size(card)
        shown += len(block.text)
        if cut:
            shown -= cut
            break
    rest = sum(len(block.text) for block in context.blocks) - shown
    if not context.blocks:
        cards.append(tag("p", "Nothing: no chunk stands in this context.", class_="cxa-soft"))
    excluded_anchors = [tag("span", id_=id_, tabindex="-1") for id_ in names.links.excluded_anchors(join_html(*cards))]
    return join_html(*cards, *excluded_anchors, more_line(rest, f"characters of {len(context.blocks):,} blocks"))


def _supplement_card(block: Block, max_bytes: int) -> tuple[Html, int]:
    text, cut = _fit_text(block.text, max_bytes - 1_000)
    title = tag("span", "Supplement, no label", class_="cxa-soft")
    return tag("article", title, tag("div", text, class_="cxa-text", lang="", dir="auto"), class_="cxa-card"), cut


def _block_card(
    citation: Citation,
    parts: BlockParts,
    names: DocumentNames,
    decisions: dict[tuple[str, int, int], Decision],
    room: int,
) -> tuple[Html, int]:
    """The block of a label, and the number of its characters that have no room."""
    document = names.document(citation.document_id)
    details_fold = label_details(citation, parts, names, decisions)
    header_tags = _header_tag("header", parts.header), _header_tag("summary", parts.summary)
    room -= byte_size(details_fold) + sum(map(byte_size, header_tags)) + 1_000
    runs: list[Html] = []
    left_chars = 0
    for stretch in split_runs(parts.runs):
        if left_chars:
            left_chars += len(stretch.text)
            continue
        around = join_html(*(mark for run in stretch.marked_runs for mark in _run_marks(run, names)))
        room -= byte_size(around) + 100
        text = _highlighted_text(stretch, names)
        if byte_size(text) > room:
            text, left_chars = _fit_text(stretch.text, room)
        room -= byte_size(text)
        runs += (around, _run_tag(stretch.run, text, names))
    body = tag("div", *header_tags, *runs, class_="cxa-text", lang="", dir="auto")
    return tag("article", details_fold, body, class_=f"cxa-card {document.css_class}"), left_chars


def _fit_text(text: str, max_bytes: int) -> tuple[Html, int]:
    """The beginning of `text` that has `max_bytes` bytes once escaped, and the number of characters left out."""
    shown = text[: max(max_bytes, 0)]  # a character takes at least a byte
    while byte_size(escape_html(shown)) > max(max_bytes, 0):
        shown = shown[: len(shown) // 2]
    return Html(escape_html(shown)), len(text) - len(shown)


def _header_tag(kind: str, text: str) -> Html:
    if not text.strip():
        return Html()
    return tag(
        "span",
        tag("span", kind, class_="cxa-tag"),
        truncate(text.strip(), 4 * VALUE_CHARS),
        class_="cxa-head",
        dir="auto",
    )


def _highlighted_text(run_slice: RunSlice, names: DocumentNames) -> Html:
    """The text of a stretch with its evidence marked."""
    candidate, source = run_slice.run.candidate, run_slice.run.source
    if candidate is None or source is None:
        return Html(escape_html(run_slice.text))
    begin = source.chunk_span[0] - (candidate.text_offset or 0) + run_slice.start
    return names.highlight_passage(candidate, run_slice.text, begin)


def _run_marks(run: TextRun, names: DocumentNames) -> Iterator[Html]:
    """The marks before a run: what is missing there, and where it is from."""
    yield from map(_missing_tag, run.missing)
    if run.is_chunk_start and run.candidate:
        yield names.hit_marker(run.candidate)


def _run_tag(run: TextRun, text: Html, names: DocumentNames) -> Html:
    if run.candidate is None:
        return tag("span", text, class_="cxa-gap" if GAP in text else "cxa-ours") if text else text
    ranks = names.links.hit_ranks(run.candidate)
    css_classes = ("cxa-hit" if run.candidate.is_hit else "cxa-near") + font_class(run.candidate.chunk.text)
    return tag(
        "span",
        text,
        class_=f"{css_classes} {css_class(ranks)}".rstrip(),
        id_=names.links.passage_anchor(ranks),
        tabindex="-1" if ranks else None,
    )


def _missing_tag(missing: MissingText) -> Html:
    reason_text = "already stands before" if missing.reason == "overlap" else f"left out: {missing.reason}"
    return tag(
        "del",
        tag("span", reason_text, class_="cxa-tag", dir="ltr"),
        truncate(missing.text, MISSING_CHARS),
        title=reason_text,
    )
