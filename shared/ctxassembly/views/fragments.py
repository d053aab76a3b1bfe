"""The retrieved fragments as they were found, with the text that the context has, and why it has no more."""

from __future__ import annotations

from collections.abc import Iterator

from ctxassembly.data.chunks import RetrievedFragment, Span
from ctxassembly.data.citations import ContextData
from ctxassembly.data.trace import Decision
from ctxassembly.tracing.decisions import MAX_HIT_CHARS, MAX_SHOWN_HITS
from ctxassembly.views.evidence import highlight_evidence
from ctxassembly.views.html import (
    ID_CHARS,
    Html,
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

FRAGMENTS_BYTES = 150_000
"""Bytes of the fragments with their markup."""
FRAGMENT_CHARS = 1_500
"""Characters shown of a fragment. A longer one without evidence is shown by its two ends, where chunks overlap."""
_MAX_LABELS = 5
"""Most labels named on a fragment."""


def fragment_cards(context: ContextData, names: DocumentNames) -> Html:
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
        facts += [
            document.letter_tag,
            truncate(decision.chunk_id, ID_CHARS),
            f"score {format_score(hit.score)}",
            tag(
                "a",
                truncate(_format_outcome(hit, decision, names), 2 * ID_CHARS),
                href=names.decision_link(decision.chunk_id, decision.rank, 0),
            ),
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
