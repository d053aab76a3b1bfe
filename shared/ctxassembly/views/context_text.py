"""The text that the model reads, block by block in the colours of its documents, hits apart from neighbours."""

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
from ctxassembly.data.citations import Assembled, Block, Citation, Source
from ctxassembly.data.trace import Decision
from ctxassembly.safe_repr import counted
from ctxassembly.views.html import Html, face, fold, joined, more, safe, score, shortened, size, tag
from ctxassembly.views.limits import DETAILED_CHUNKS, GONE_CHARS, ID_CHARS, NOTE_CHARS, READING_BYTES, VALUE_CHARS
from ctxassembly.views.links import lit
from ctxassembly.views.names import Names
from ctxassembly.views.runs import Gone, Run, Share, shares


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


# Not those that are shown by a picture or a number, as `visible` does: a mark among them would part what is one.
_BLANKS = re.compile(r"(?:\r\n|[^\S\x0b-\r\x1c-\x1f\x85\u2028\u2029])*")


def word_begins(text: str, places: Sequence[int]) -> list[int]:
    """Each of `places` in `text`, ascending, as the beginning of the word that it lies inside; blanks are passed over.

    >>> word_begins("Drink allowed water.", [6, 9, 13])
    [6, 6, 14]
    """
    boundaries = [0, *(match.start() for match in _boundary().finditer(text))]
    found: list[int] = []
    for place in places:
        at = place
        if found and at < found[-1]:  # the blanks may be many, and those of the place before the same ones
            at = found[-1]
        elif (blanks := _BLANKS.match(text, at)) and blanks.end() > at:
            at = blanks.end()
        else:
            at = boundaries[bisect_right(boundaries, at) - 1]
        found.append(at)
    return found


@cache
def _boundary() -> Any:
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


class Stretch(NamedTuple):
    """The slice `run.text[begin:end]`, and the runs whose marks stand before it."""

    run: Run
    begin: int
    end: int
    marked: tuple[Run, ...] = ()

    @property
    def text(self) -> str:
        """The slice."""
        return self.run.text[self.begin : self.end]


def stretches(runs: Sequence[Run]) -> Iterator[Stretch]:
    """The stretches of `runs`, whose texts together are one running text, in order."""
    begins = [0]
    for run in runs:
        begins.append(begins[-1] + len(run.text))
    noted = [(begin, run) for begin, run in zip(begins, runs, strict=False) if run.begins or run.gone]
    places = word_begins("".join(run.text for run in runs), [begin for begin, _ in noted])
    waiting: dict[int, list[Run]] = defaultdict(list)
    for place, (_, run) in zip(places, noted, strict=True):
        waiting[place].append(run)
    for begin, run in zip(begins, runs, strict=False):
        end = begin + len(run.text)
        cuts = [begin, *sorted(place for place in waiting if begin < place < end), end]
        for start, stop in pairwise(cuts):
            if start < stop or start in waiting:
                yield Stretch(run, start - begin, stop - begin, tuple(waiting.pop(start, ())))
    for left in waiting.values():
        yield Stretch(left[-1], 0, 0, tuple(left))


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
    unread = [tag("span", id_=id_, tabindex="-1") for id_ in names.links.left(joined(*written))]
    return joined(*written, *unread, more(rest, f"characters of {len(context.blocks):,} blocks"))


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
    folded = details(citation, share, names, decisions)
    heads = _head("header", share.header), _head("summary", share.summary)
    room -= size(folded) + sum(map(size, heads)) + 1_000
    runs: list[Html] = []
    cut = 0
    for stretch in stretches(share.runs):
        if cut:
            cut += len(stretch.text)
            continue
        around = joined(*(mark for run in stretch.marked for mark in _marks(run, names)))
        room -= size(around) + 100
        text = _with_evidence(stretch, names)
        if size(text) > room:
            text, cut = _cut(stretch.text, room)
        room -= size(text)
        runs += (around, _run(stretch.run, text, names))
    body = tag("div", *heads, *runs, class_="cxa-text", lang="", dir="auto")
    return tag("article", folded, body, class_=f"cxa-card {document.look}"), cut


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


def _with_evidence(stretch: Stretch, names: Names) -> Html:
    """The text of a stretch with its evidence marked."""
    candidate, source = stretch.run.candidate, stretch.run.source
    if candidate is None or source is None:
        return Html(safe(stretch.text))
    begin = source.chunk_span[0] - (candidate.read_from or 0) + stretch.begin
    return names.standing(candidate, stretch.text, begin)


def _marks(run: Run, names: Names) -> Iterator[Html]:
    """The marks before a run: what is missing there, and where it is from."""
    yield from map(_gone, run.gone)
    if run.begins and run.candidate:
        yield names.chip(run.candidate)


def _run(run: Run, text: Html, names: Names) -> Html:
    if run.candidate is None:
        return tag("span", text, class_="cxa-gap" if GAP in text else "cxa-ours") if text else text
    ranks = names.links.ranks(run.candidate)
    look = ("cxa-hit" if run.candidate.is_hit else "cxa-near") + face(run.candidate.chunk.text)
    return tag(
        "span",
        text,
        class_=f"{look} {lit(ranks)}".rstrip(),
        id_=names.links.place(ranks),
        tabindex="-1" if ranks else None,
    )


def _gone(gone: Gone) -> Html:
    why = "already stands before" if gone.why == "overlap" else f"left out: {gone.why}"
    return tag("del", tag("span", why, class_="cxa-tag", dir="ltr"), shortened(gone.text, GONE_CHARS), title=why)
