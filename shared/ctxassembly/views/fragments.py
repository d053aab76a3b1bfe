"""The retrieved fragments as they came, with the text that they share marked.

Shared text is found by windows of `LEAST_SHARED_CHARS` characters: a window that occurs in two fragments is shared, and
windows that touch make one stretch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ctxassembly.data.chunks import Fragment, Span
from ctxassembly.data.citations import Assembled
from ctxassembly.data.sanitize import mended_chunk, mended_score
from ctxassembly.data.trace import Decision
from ctxassembly.tracing.decisions import COMPARED_CHARS, FRAGMENTS
from ctxassembly.views.html import Html, face, joined, more, score, share, shortened, tag, within
from ctxassembly.views.limits import FRAGMENT_CHARS, FRAGMENTS_BYTES, HIDDEN_CHARS, ID_CHARS
from ctxassembly.views.links import lit
from ctxassembly.views.names import Names

LEAST_SHARED_CHARS = 21
"""Fewest characters that count as shared: by default the engine takes as many for an overlap."""

_LABELS = 5
"""Most labels named on a fragment."""


def fragments(context: Assembled, names: Names) -> Html:
    """The hits in the order of the retriever, a card each."""
    decisions = {decision.rank: decision for decision in context.trace.decisions if not decision.distance}
    found = [hit for hit in context.hits if hit.rank < FRAGMENTS]
    cards = within(_cards(found, names, decisions), FRAGMENTS_BYTES)
    names.links.show(hit.rank for hit in found[: len(cards)])
    if not found:
        cards.append(tag("p", "No fragments are at hand.", class_="cxa-soft"))
    hits = max(context.trace.hits, len(found))
    return joined(*cards, more(hits - len(cards), "fragments") if found else "")


def shared_spans(texts: Sequence[str]) -> list[list[Span]]:
    """The stretches of each text that occur in another one, too, ascending and apart.

    >>> shared_spans(["Drink water until two hours before.", "So: Drink water until two hours"])
    [[(0, 27)], [(4, 31)]]
    """
    where: dict[str, int] = {}
    several: set[str] = set()
    windows = [list(_windows(text)) for text in texts]
    for place, found in enumerate(windows):
        for _, window in found:
            if where.setdefault(window, place) != place:
                several.add(window)
    return [_stretches(found, several) for found in windows]


def _windows(text: str) -> Iterator[tuple[int, str]]:
    """The windows of `text` with their offsets. A long text is searched at its two ends only, where chunks overlap."""
    size = LEAST_SHARED_CHARS
    for begin, end in _ends(text, COMPARED_CHARS, COMPARED_CHARS):
        for at in range(begin, end - size + 1):
            yield at, text[at : at + size]


def _ends(text: str, room: int, most: int) -> list[Span]:
    """The span of a text of at most `most` characters; of a longer one the spans of its ends, half of `room` each."""
    half = room // 2
    return [(0, len(text))] if len(text) <= most else [(0, half), (len(text) - half, len(text))]


def _stretches(windows: Sequence[tuple[int, str]], several: set[str]) -> list[Span]:
    spans: list[Span] = []
    for at, window in windows:
        if window in several:
            start = spans.pop()[0] if spans and spans[-1][1] >= at else at
            spans.append((start, at + LEAST_SHARED_CHARS))
    return spans


def _cards(found: Sequence[Fragment], names: Names, decisions: dict[int, Decision]) -> Iterator[Html]:
    first: dict[tuple[str, int], int] = {}
    for hit, spans in zip(found, shared_spans([hit.chunk.text for hit in found]), strict=True):
        place, text, decision = hit.rank, hit.chunk.text, decisions.get(hit.rank)
        facts: list[str] = [tag("b", f"{place + 1}")]
        look = ""
        if decision is not None:
            document = names.document(decision.document_id)
            look = document.look
            said = decision.outcome + (f" of {decision.because_of}" if decision.because_of else "")
            address = names.row(decision.chunk_id, decision.rank, 0)
            facts += [
                document.key,
                shortened(decision.chunk_id, ID_CHARS),
                f"score {score(mended_score(hit.score)[0])}",
            ]
            facts.append(tag("a", shortened(said, ID_CHARS), href=address))
            facts.append(_stands(place, names))
            facts.append(names.badges(mended_chunk(hit.chunk, place)[0]))
        twin = first.setdefault((text, hit.characters), place)
        if twin != place:
            facts.append(tag("mark", f"same text as {twin + 1}"))
        elif repeated := sum(stop - start for start, stop in spans):
            ends = " of both ends" if hit.characters > len(text) else ""
            said = f"{share(repeated, len(text))}{ends} repeated"
            facts.append(tag("span", said, class_="cxa-soft"))
        head = tag("div", *(tag("span", fact) for fact in facts), class_="cxa-line")
        written = _marked(hit, spans, names)
        body = tag("div", *written, class_=f"cxa-text{face(text)}", lang="", dir="auto")
        yield tag(
            "article",
            head,
            body,
            class_=f"cxa-card cxa-fragment {lit([place])} {look}".rstrip(),
            id_=f"{names.anchor}-f{place}",
            tabindex="-1",
            aria_label=f"Fragment {place + 1}",
        )


def _stands(rank: int, names: Names) -> Html:
    """The labels below which the text of a hit stands, as a way there."""
    labels = names.links.labels(rank)
    said = " ".join(f"[{label}]" for label in labels[:_LABELS]) + (" …" if len(labels) > _LABELS else "")
    where = names.links.standing(rank)
    return tag("a", f"in {said}", href=where, title="Where it stands in the context") if where else Html()


def _marked(hit: Fragment, spans: Sequence[Span], names: Names) -> Iterator[Html | str]:
    """The text, or its two ends if it is long and has no evidence, with `spans` marked."""
    text, most = hit.chunk.text, FRAGMENT_CHARS + HIDDEN_CHARS - 1
    if hit.rank in names.marks.fragments:
        most = COMPARED_CHARS
    missing = hit.characters - len(text)
    at = 0
    for begin, end in _ends(text, FRAGMENT_CHARS, most):
        if begin:
            yield tag("span", f"\n… {begin - at + missing:,} characters …\n", class_="cxa-gap")
        at = begin
        for span in spans:
            start, stop = max(span[0], begin), min(span[1], end)
            if start < stop:
                yield names.retrieved(hit.rank, text[at:start], at)
                yield tag("mark", names.retrieved(hit.rank, text[start:stop], start))
                at = stop
        yield names.retrieved(hit.rank, text[at:end], at)
        at = end
