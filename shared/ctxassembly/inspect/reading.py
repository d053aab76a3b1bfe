"""The text that the model reads, block by block in the colours of its documents, hits apart from neighbours."""

from __future__ import annotations

from collections.abc import Iterator

from ctxassembly.data.candidates import GAP
from ctxassembly.data.citations import Assembled, Block, Citation
from ctxassembly.data.trace import Decision
from ctxassembly.inspect.details import details
from ctxassembly.inspect.documents import Names
from ctxassembly.inspect.limits import GONE_CHARS, READING_BYTES, VALUE_CHARS
from ctxassembly.inspect.links import lit
from ctxassembly.inspect.markup import Html, joined, more, safe, shortened, size, tag
from ctxassembly.inspect.runs import Gone, Run, Share, shares
from ctxassembly.inspect.stretches import Stretch, stretches
from ctxassembly.inspect.typeface import face


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
