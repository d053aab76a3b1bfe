"""The retrieved fragments as they came, with the text that they share marked.

Shared text is found by windows of `MIN_SHARED_CHARS` characters: a window that occurs in two fragments is shared, and
windows that touch make one stretch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ctxassembly.data.chunks import RetrievedFragment, Span
from ctxassembly.data.citations import ContextData
from ctxassembly.data.sanitize import sanitize_chunk, sanitize_score
from ctxassembly.data.trace import Decision
from ctxassembly.tracing.decisions import MAX_HIT_CHARS, MAX_SHOWN_HITS
from ctxassembly.views.html import (
    Html,
    font_class,
    format_score,
    format_share,
    join_html,
    more_line,
    tag,
    take_fitting,
    truncate,
)
from ctxassembly.views.limits import FRAGMENT_CHARS, FRAGMENTS_BYTES, ID_CHARS, MIN_HIDDEN_CHARS
from ctxassembly.views.links import css_class
from ctxassembly.views.names import DocumentNames

MIN_SHARED_CHARS = 21
"""Fewest characters that count as shared: by default the engine takes as many for an overlap."""

_MAX_LABELS = 5
"""Most labels named on a fragment."""


def fragment_cards(context: ContextData, names: DocumentNames) -> Html:
    """The hits in the order of the retriever, a card each."""
    decisions = {decision.rank: decision for decision in context.trace.decisions if not decision.distance}
    shown = [hit for hit in context.hits if hit.rank < MAX_SHOWN_HITS]
    cards = take_fitting(_fragment_cards(shown, names, decisions), FRAGMENTS_BYTES)
    names.links.show_fragments(hit.rank for hit in shown[: len(cards)])
    if not shown:
        cards.append(tag("p", "No fragments are at hand.", class_="cxa-soft"))
    hits = max(context.trace.hits, len(shown))
    return join_html(*cards, more_line(hits - len(cards), "fragments") if shown else "")


def shared_spans(texts: Sequence[str]) -> list[list[Span]]:
    """The stretches of each text that occur in another one, too, ascending and apart.

    >>> shared_spans(["Drink water until two hours before.", "So: Drink water until two hours"])
    [[(0, 27)], [(4, 31)]]
    """
    first_text: dict[str, int] = {}
    repeated: set[str] = set()
    windows = [list(_iter_windows(text)) for text in texts]
    for place, found in enumerate(windows):
        for _, window in found:
            if first_text.setdefault(window, place) != place:
                repeated.add(window)
    return [_merge_windows(found, repeated) for found in windows]


def _iter_windows(text: str) -> Iterator[tuple[int, str]]:
    """The windows of `text` with their offsets. A long text is searched at its two ends only, where chunks overlap."""
    size = MIN_SHARED_CHARS
    for begin, end in _end_spans(text, MAX_HIT_CHARS, MAX_HIT_CHARS):
        for at in range(begin, end - size + 1):
            yield at, text[at : at + size]


def _end_spans(text: str, shown_chars: int, max_chars: int) -> list[Span]:
    """The span of a text of at most `max_chars` characters; the spans of the ends of a longer one."""
    half = shown_chars // 2
    return [(0, len(text))] if len(text) <= max_chars else [(0, half), (len(text) - half, len(text))]


def _merge_windows(windows: Sequence[tuple[int, str]], repeated: set[str]) -> list[Span]:
    spans: list[Span] = []
    for at, window in windows:
        if window in repeated:
            start = spans.pop()[0] if spans and spans[-1][1] >= at else at
            spans.append((start, at + MIN_SHARED_CHARS))
    return spans


def _fragment_cards(
    hits: Sequence[RetrievedFragment], names: DocumentNames, decisions: dict[int, Decision]
) -> Iterator[Html]:
    first: dict[tuple[str, int], int] = {}
    for hit, spans in zip(hits, shared_spans([hit.chunk.text for hit in hits]), strict=True):
        rank, text, decision = hit.rank, hit.chunk.text, decisions.get(hit.rank)
        facts: list[str] = [tag("b", f"{rank + 1}")]
        document_class = ""
        if decision is not None:
            document = names.document(decision.document_id)
            document_class = document.css_class
            note = decision.outcome + (f" of {decision.because_of}" if decision.because_of else "")
            address = names.decision_link(decision.chunk_id, decision.rank, 0)
            facts += [
                document.letter_tag,
                truncate(decision.chunk_id, ID_CHARS),
                f"score {format_score(sanitize_score(hit.score)[0])}",
            ]
            facts.append(tag("a", truncate(note, ID_CHARS), href=address))
            facts.append(_passage_link_tag(rank, names))
            facts.append(names.search_badges(sanitize_chunk(hit.chunk, rank)[0]))
        first_rank = first.setdefault((text, hit.characters), rank)
        if first_rank != rank:
            facts.append(tag("mark", f"same text as {first_rank + 1}"))
        elif repeated := sum(stop - start for start, stop in spans):
            ends = " of both ends" if hit.characters > len(text) else ""
            note = f"{format_share(repeated, len(text))}{ends} repeated"
            facts.append(tag("span", note, class_="cxa-soft"))
        header = tag("div", *(tag("span", fact) for fact in facts), class_="cxa-line")
        highlighted = _highlighted_text(hit, spans, names)
        body = tag("div", *highlighted, class_=f"cxa-text{font_class(text)}", lang="", dir="auto")
        yield tag(
            "article",
            header,
            body,
            class_=f"cxa-card cxa-fragment {css_class([rank])} {document_class}".rstrip(),
            id_=f"{names.anchor}-f{rank}",
            tabindex="-1",
            aria_label=f"Fragment {rank + 1}",
        )


def _passage_link_tag(rank: int, names: DocumentNames) -> Html:
    """The labels below which the text of a hit stands, as a way there."""
    labels = names.links.labels(rank)
    label_text = " ".join(f"[{label}]" for label in labels[:_MAX_LABELS]) + (" …" if len(labels) > _MAX_LABELS else "")
    link = names.links.passage_link(rank)
    return tag("a", f"in {label_text}", href=link, title="Where it stands in the context") if link else Html()


def _highlighted_text(hit: RetrievedFragment, spans: Sequence[Span], names: DocumentNames) -> Iterator[Html | str]:
    """The text, or its two ends if it is long and has no evidence, with `spans` marked."""
    text, max_chars = hit.chunk.text, FRAGMENT_CHARS + MIN_HIDDEN_CHARS - 1
    if hit.rank in names.marks.fragment_marks:
        max_chars = MAX_HIT_CHARS
    missing = hit.characters - len(text)
    at = 0
    for begin, end in _end_spans(text, FRAGMENT_CHARS, max_chars):
        if begin:
            yield tag("span", f"\n… {begin - at + missing:,} characters …\n", class_="cxa-gap")
        at = begin
        for span in spans:
            start, stop = max(span[0], begin), min(span[1], end)
            if start < stop:
                yield names.highlight_fragment(hit.rank, text[at:start], at)
                yield tag("mark", names.highlight_fragment(hit.rank, text[start:stop], start))
                at = stop
        yield names.highlight_fragment(hit.rank, text[at:end], at)
        at = end
