"""`Slider`: the contexts of a comparison one at a time, each with what is new and what is lost against the one before.

No script moves it. The stops are radio buttons, so arrow keys do; each view has a form of its own, so that two views on
a page never share their buttons, even if they show the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from typing import TYPE_CHECKING

from ctxassembly.comparison.align import ContextSentence, joined_marks, passage_sentences, sentences_by_document
from ctxassembly.comparison.row import ComparisonRow, row_titles
from ctxassembly.comparison.side_by_side import documents_by_id
from ctxassembly.comparison.style import style_tags
from ctxassembly.data.citations import Block, Passage
from ctxassembly.safe_repr import pluralize
from ctxassembly.views.evidence import EvidenceMarks, Mark, highlight_evidence
from ctxassembly.views.evidence_report import evidence_report
from ctxassembly.views.html import (
    Html,
    byte_size,
    fold,
    font_class,
    format_number,
    format_score,
    join_html,
    meter,
    more_line,
    row,
    table,
    tag,
    truncate,
)
from ctxassembly.views.limits import ID_CHARS, NOTE_CHARS, VALUE_CHARS
from ctxassembly.views.names import NamedDocument
from ctxassembly.views.page import wrap_page

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

MAX_ROWS = 20
"""Most chunks and sentences that a pane lists as lost."""
_NUMERIC_COLUMNS = (2, 3, 5)
_BLANK_LINES = re.compile(r"(\n[ \t]*\n\s*|\s+$)")
"""A blank line, which has no mark of its own."""


def slider_pane(
    stop: ComparisonRow,
    previous: Sequence[ContextSentence] | None,
    documents: Mapping[str, NamedDocument],
    max_tokens: int,
    max_bytes: int,
) -> Html:
    """The stop in some `max_bytes` bytes at most. `previous` has the sentences of the stop before, if any."""
    previous_counts = Counter(one.normalized for one in previous or ())
    found = [one for read in sentences_by_document(stop.context).values() for one in read]
    current = {one.normalized for one in found}
    lost = [one for one in previous or () if one.normalized not in current]
    new = 0 if previous is None else sum(one.normalized not in previous_counts for one in found)
    lists = join_html(_lost_sentences(lost), _excluded_chunks(stop, documents))
    evidence = evidence_report(stop.context, stop.located_evidence)
    cards, left = _block_cards(
        stop,
        None if previous is None else previous_counts,
        documents,
        max_bytes - byte_size(lists) - byte_size(evidence) - 2_000,
    )
    facts, change_line = _facts(stop, max_tokens), _change_line(previous is None, new, len(lost))
    return join_html(facts, evidence, change_line, cards, more_line(left, "characters"), lists)


def _facts(stop: ComparisonRow, max_tokens: int) -> Html:
    limit = stop.context.trace.max_tokens
    facts = [
        (format_number(stop.tokens), f"of {limit:,} tokens" if limit else "tokens"),
        (format_number(stop.chunks), "chunk" if stop.chunks == 1 else "chunks"),
        (format_number(stop.documents), "document" if stop.documents == 1 else "documents"),
        (format_number(stop.passages), "passage" if stop.passages == 1 else "passages"),
    ]
    if stop.evidence is not None:
        facts.append((format_number(stop.evidence, 2), "of the evidence is read"))
    items = [tag("li", tag("b", value), said) for value, said in facts]
    return join_html(tag("ul", *items, class_="cxa-facts"), meter(stop.tokens / (max_tokens or 1)))


def _change_line(is_first: bool, new: int, lost: int) -> Html:
    if is_first:
        return tag("p", "Marked at the next stops: what is new there.", class_="cxa-soft")
    mark = tag("span", "Marked", class_="cxa-new")
    lost_note = f"; {pluralize(lost, 'sentence')} no longer here" if lost else ""
    return tag(
        "p", mark, f": {pluralize(new, 'sentence')} new here against the stop before{lost_note}.", class_="cxa-soft"
    )


def _block_cards(
    stop: ComparisonRow, previous_counts: Counter[str] | None, documents: Mapping[str, NamedDocument], max_bytes: int
) -> tuple[Html, int]:
    """A card for each block, and the number of characters that have no room."""
    written, left, marks = [], 0, stop.marks
    for block in stop.context.blocks:
        card = Html() if left else _block_card(block, stop, marks, previous_counts, documents)
        max_bytes -= byte_size(card)
        if left or max_bytes < 0:
            left += len(block.text)
        else:
            written.append(card)
    if not stop.context.blocks:
        written.append(tag("p", "Nothing: no chunk stands in this context.", class_="cxa-soft"))
    return join_html(*written), left


def _block_card(
    block: Block,
    stop: ComparisonRow,
    marks: EvidenceMarks,
    previous_counts: Counter[str] | None,
    documents: Mapping[str, NamedDocument],
) -> Html:
    if block.citation is None:
        title = tag("span", "Supplement, no label", class_="cxa-soft")
        return tag("article", title, tag("div", block.text, class_="cxa-text", lang="", dir="auto"), class_="cxa-card")
    document = documents[block.citation.document_id]
    title = tag("b", f" [{block.citation.label}] {truncate(block.citation.reference, VALUE_CHARS)}")
    texts, at = [], 0
    for passage in stop.context.passages:
        if not block.span[0] <= passage.span[0] < block.span[1]:
            continue
        texts += [tag("span", stop.context.text[at : passage.span[0]], class_="cxa-gap")] if at else []
        texts += _highlighted_passage(passage, marks, previous_counts)
        at = passage.span[1]
    body = tag("div", *texts, class_="cxa-text", lang="", dir="auto")
    return tag("article", tag("div", document.letter_tag, title), body, class_=f"cxa-card {document.css_class}")


def _highlighted_passage(
    passage: Passage, marks: EvidenceMarks, previous_counts: Counter[str] | None
) -> Iterator[Html]:
    """The text of `passage` with its evidence marked, and what isn't in `previous_counts`."""
    for new, run in groupby(
        passage_sentences(passage, marks),
        key=lambda one: previous_counts is not None and one.normalized not in previous_counts,
    ):
        found = list(run)
        text, evidence = "".join(one.text for one in found), joined_marks(found)
        written = _highlight_new(text, evidence) if new else highlight_evidence(text, evidence)
        yield tag("span", written, class_=font_class(passage.text).strip() or None)


def _highlight_new(text: str, evidence: Sequence[Mark]) -> Html:
    """New text, without a mark on its blank lines."""
    parts: list[Html] = []
    at = 0
    for part in _BLANK_LINES.split(text):
        written = highlight_evidence(part, evidence, at)
        parts.append(tag("span", written, class_="cxa-new") if part.strip() else written)
        at += len(part)
    return join_html(*parts)


def _lost_sentences(sentences: Sequence[ContextSentence]) -> Html:
    if not sentences:
        return Html()
    items = [tag("li", truncate(one.normalized, NOTE_CHARS), lang="", dir="auto") for one in sentences[:MAX_ROWS]]
    listed = tag("ul", *items, class_="cxa-lost")
    title = f"No longer here: {pluralize(len(sentences), 'sentence')} of the stop before"
    return fold(title, listed, more_line(len(sentences) - MAX_ROWS, "sentences"))


def _excluded_chunks(stop: ComparisonRow, documents: Mapping[str, NamedDocument]) -> Html:
    """The hits that were lost, the best first, then their neighbors."""
    excluded = sorted(stop.context.trace.excluded, key=lambda decision: (decision.distance > 0, decision.rank))
    if not excluded:
        return tag("p", "Nothing was left out.", class_="cxa-soft")
    columns = ("chunk", "document", "hit", "score", "reason", "tokens")
    rows = []
    for decision in excluded[:MAX_ROWS]:
        document = documents.get(decision.document_id)
        steps = f"±{decision.distance}" if decision.distance else ""
        name = (
            join_html(document.letter_tag, " ", document.name) if document else truncate(decision.document_id, ID_CHARS)
        )
        rows.append(
            row(
                truncate(decision.chunk_id, ID_CHARS),
                name,
                f"{decision.rank + 1}{steps}",
                format_score(decision.score),
                str(decision.reason),
                format_number(decision.tokens),
                numeric_columns=_NUMERIC_COLUMNS,
            )
        )
    hits = sum(not decision.distance for decision in excluded)
    title = f"Left out: {pluralize(hits, 'hit')} and {pluralize(len(excluded) - hits, 'neighbor')}"
    tokens = f"They would have cost {pluralize(stop.context.trace.excluded_tokens, 'token')}"
    return fold(title, table(tokens, columns, rows, _NUMERIC_COLUMNS), more_line(len(excluded) - MAX_ROWS, "chunks"))


SLIDER_BYTES = 800_000
"""Bytes of all panes: each has an equal share."""


@dataclass(frozen=True, slots=True)
class Slider:
    """The contexts of a comparison as the stops of a slider. A notebook shows it, a terminal prints the numbers.

    >>> from ctxassembly import Chunk, Hit, compare_budgets
    >>> hits = [Hit(Chunk("a#0", "a", "Drink water.", 0)), Hit(Chunk("b#0", "b", "Eat nothing.", 0))]
    >>> slider = compare_budgets(hits, [12, 50])
    >>> [(stop.name, stop.tokens, stop.documents) for stop in slider.stops]
    [('12', 10, 1), ('50', 20, 2)]
    >>> "new here" in slider.to_html()
    True
    """

    stops: tuple[ComparisonRow, ...]
    setting: str = "configuration"
    """The setting that the slider moves, as its title says it."""

    def to_html(self) -> str:
        """The slider as an HTML page of its own, below a megabyte and without scripts."""
        return wrap_page(self._repr_html_())

    def _repr_html_(self) -> str:
        digest = blake2b("\0".join(stop.context.text for stop in self.stops).encode("utf-8", "replace"), digest_size=4)
        group = f"cxa-{digest.hexdigest()}-stop"
        names = row_titles(self.stops, VALUE_CHARS)
        track = tag("div", *_stop_buttons(names, group), class_="cxa-track")
        fieldset = tag(
            "fieldset", tag("legend", self.setting[:1].upper() + self.setting[1:]), track, class_="cxa-slider"
        )
        form = tag("form", fieldset, method="dialog")  # Enter in a form of another method would leave the page
        panes = join_html(*self._panes(names))
        title = tag("h2", f"What the model reads, by {self.setting}")
        view = tag("section", title, form, panes, class_="cxa", lang="en", aria_label=f"Contexts by {self.setting}")
        return join_html(style_tags(len(self.stops)), view)

    def _panes(self, names: Sequence[str]) -> Iterator[Html]:
        documents = documents_by_id(self.stops)
        max_tokens = max((stop.tokens for stop in self.stops), default=0)
        pane_bytes = SLIDER_BYTES // max(len(self.stops), 1)
        previous: list[ContextSentence] | None = None
        for place, (name, stop) in enumerate(zip(names, self.stops, strict=True), 1):
            label = f"{self.setting[:1].upper()}{self.setting[1:]} {name}"
            yield tag(
                "div",
                slider_pane(stop, previous, documents, max_tokens, pane_bytes),
                class_=f"cxa-pane cxa-pane{place}",
                role="region",
                aria_label=label,
            )
            previous = [one for found in sentences_by_document(stop.context).values() for one in found]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from ctxassembly.comparison.terminal import render_slider
        from ctxassembly.views.terminal import render_encodable

        yield from render_encodable(render_slider(self.stops, self.setting), console, options)


def _stop_buttons(names: Iterable[str], group: str) -> Iterator[Html]:
    for place, name in enumerate(names, 1):
        checked = " checked" if place == 1 else ""
        button = Html(f'<input type="radio" name="{group}" class="cxa-stop{place}"{checked}>')
        yield tag("label", button, tag("span", name))
