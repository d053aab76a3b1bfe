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

from ctxassembly.comparison.align import Sentence, evidence_of, sentences, sentences_by_document
from ctxassembly.comparison.row import Compared, titles
from ctxassembly.comparison.side_by_side import documents_of
from ctxassembly.comparison.style import styles
from ctxassembly.data.citations import Block, Passage
from ctxassembly.safe_repr import counted
from ctxassembly.views.evidence import Mark, Marks, evident
from ctxassembly.views.evidence_report import asked_for
from ctxassembly.views.html import (
    Html,
    face,
    fold,
    joined,
    meter,
    more,
    number,
    row,
    score,
    shortened,
    size,
    table,
    tag,
)
from ctxassembly.views.limits import ID_CHARS, NOTE_CHARS, VALUE_CHARS
from ctxassembly.views.names import Named
from ctxassembly.views.page import framed

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

SHOWN_ROWS = 20
"""Most chunks and sentences that a pane lists as lost."""
_NUMBERS = (2, 3, 5)
_BLANK = re.compile(r"(\n[ \t]*\n\s*|\s+$)")
"""A blank line, which has no mark of its own."""


def pane(
    stop: Compared, before: Sequence[Sentence] | None, documents: Mapping[str, Named], most: int, room: int
) -> Html:
    """The stop in at most some `room` bytes. `before` are the sentences of the stop before it, None for the first."""
    had = Counter(one.words for one in before or ())
    found = [one for read in sentences_by_document(stop.context).values() for one in read]
    has = {one.words for one in found}
    lost = [one for one in before or () if one.words not in has]
    new = 0 if before is None else sum(one.words not in had for one in found)
    lists = joined(_lost(lost), _left_out(stop, documents))
    asked = asked_for(stop.context, stop.located)
    cards, left = _cards(stop, None if before is None else had, documents, room - size(lists) - size(asked) - 2_000)
    facts, said = _facts(stop, most), _said(before is None, new, len(lost))
    return joined(facts, asked, said, cards, more(left, "characters"), lists)


def _facts(stop: Compared, most: int) -> Html:
    limit = stop.context.trace.max_tokens
    facts = [
        (number(stop.tokens), f"of {limit:,} tokens" if limit else "tokens"),
        (number(stop.chunks), "chunk" if stop.chunks == 1 else "chunks"),
        (number(stop.documents), "document" if stop.documents == 1 else "documents"),
        (number(stop.passages), "passage" if stop.passages == 1 else "passages"),
    ]
    if stop.evidence is not None:
        facts.append((number(stop.evidence, 2), "of the evidence is read"))
    items = [tag("li", tag("b", value), said) for value, said in facts]
    return joined(tag("ul", *items, class_="cxa-facts"), meter(stop.tokens / (most or 1)))


def _said(first: bool, new: int, lost: int) -> Html:
    if first:
        return tag("p", "Marked at the next stops: what is new there.", class_="cxa-soft")
    mark = tag("span", "Marked", class_="cxa-new")
    gone = f"; {counted(lost, 'sentence')} no longer here" if lost else ""
    return tag("p", mark, f": {counted(new, 'sentence')} new here against the stop before{gone}.", class_="cxa-soft")


def _cards(stop: Compared, had: Counter[str] | None, documents: Mapping[str, Named], room: int) -> tuple[Html, int]:
    """A card for each block, and the number of characters that have no room."""
    written, left, marks = [], 0, stop.marks
    for block in stop.context.blocks:
        card = Html() if left else _card(block, stop, marks, had, documents)
        room -= size(card)
        if left or room < 0:
            left += len(block.text)
        else:
            written.append(card)
    if not stop.context.blocks:
        written.append(tag("p", "Nothing: no chunk stands in this context.", class_="cxa-soft"))
    return joined(*written), left


def _card(
    block: Block,
    stop: Compared,
    marks: Marks,
    had: Counter[str] | None,
    documents: Mapping[str, Named],
) -> Html:
    if block.citation is None:
        title = tag("span", "Supplement, no label", class_="cxa-soft")
        return tag("article", title, tag("div", block.text, class_="cxa-text", lang="", dir="auto"), class_="cxa-card")
    document = documents[block.citation.document_id]
    title = tag("b", f" [{block.citation.label}] {shortened(block.citation.reference, VALUE_CHARS)}")
    texts, at = [], 0
    for passage in stop.context.passages:
        if not block.span[0] <= passage.span[0] < block.span[1]:
            continue
        texts += [tag("span", stop.context.text[at : passage.span[0]], class_="cxa-gap")] if at else []
        texts += _marked(passage, marks, had)
        at = passage.span[1]
    body = tag("div", *texts, class_="cxa-text", lang="", dir="auto")
    return tag("article", tag("div", document.key, title), body, class_=f"cxa-card {document.look}")


def _marked(passage: Passage, marks: Marks, had: Counter[str] | None) -> Iterator[Html]:
    """The text of `passage` with its evidence marked, and what isn't in `had`."""
    for new, run in groupby(sentences(passage, marks), key=lambda one: had is not None and one.words not in had):
        found = list(run)
        text, evidence = "".join(one.text for one in found), evidence_of(found)
        written = _run(text, evidence) if new else evident(text, evidence)
        yield tag("span", written, class_=face(passage.text).strip() or None)


def _run(text: str, evidence: Sequence[Mark]) -> Html:
    """New text, without a mark on its blank lines."""
    parts: list[Html] = []
    at = 0
    for part in _BLANK.split(text):
        written = evident(part, evidence, at)
        parts.append(tag("span", written, class_="cxa-new") if part.strip() else written)
        at += len(part)
    return joined(*parts)


def _lost(lost: Sequence[Sentence]) -> Html:
    if not lost:
        return Html()
    items = [tag("li", shortened(one.words, NOTE_CHARS), lang="", dir="auto") for one in lost[:SHOWN_ROWS]]
    listed = tag("ul", *items, class_="cxa-lost")
    title = f"No longer here: {counted(len(lost), 'sentence')} of the stop before"
    return fold(title, listed, more(len(lost) - SHOWN_ROWS, "sentences"))


def _left_out(stop: Compared, documents: Mapping[str, Named]) -> Html:
    """The hits that were lost, the best first, then their neighbours."""
    found = sorted(stop.context.trace.left_out, key=lambda decision: (decision.distance > 0, decision.rank))
    if not found:
        return tag("p", "Nothing was left out.", class_="cxa-soft")
    columns = ("chunk", "document", "hit", "score", "reason", "tokens")
    rows = []
    for decision in found[:SHOWN_ROWS]:
        document = documents.get(decision.document_id)
        steps = f"±{decision.distance}" if decision.distance else ""
        name = joined(document.key, " ", document.name) if document else shortened(decision.document_id, ID_CHARS)
        rows.append(
            row(
                shortened(decision.chunk_id, ID_CHARS),
                name,
                f"{decision.rank + 1}{steps}",
                score(decision.score),
                str(decision.reason),
                number(decision.tokens),
                numbers=_NUMBERS,
            )
        )
    hits = sum(not decision.distance for decision in found)
    title = f"Left out: {counted(hits, 'hit')} and {counted(len(found) - hits, 'neighbour')}"
    tokens = f"They would have cost {counted(stop.context.trace.left_out_tokens, 'token')}"
    return fold(title, table(tokens, columns, rows, _NUMBERS), more(len(found) - SHOWN_ROWS, "chunks"))


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

    stops: tuple[Compared, ...]
    of: str = "configuration"
    """The setting that the slider moves, as its title says it."""

    def to_html(self) -> str:
        """The slider as an HTML page of its own, below a megabyte and without scripts."""
        return framed(self._repr_html_())

    def _repr_html_(self) -> str:
        digest = blake2b("\0".join(stop.context.text for stop in self.stops).encode("utf-8", "replace"), digest_size=4)
        group = f"cxa-{digest.hexdigest()}-stop"
        names = titles(self.stops, VALUE_CHARS)
        track = tag("div", *_stops(names, group), class_="cxa-track")
        inside = tag("fieldset", tag("legend", self.of[:1].upper() + self.of[1:]), track, class_="cxa-slider")
        form = tag("form", inside, method="dialog")  # Enter in a form of another method would leave the page
        panes = joined(*self._panes(names))
        title = tag("h2", f"What the model reads, by {self.of}")
        view = tag("section", title, form, panes, class_="cxa", lang="en", aria_label=f"Contexts by {self.of}")
        return joined(styles(len(self.stops)), view)

    def _panes(self, names: Sequence[str]) -> Iterator[Html]:
        documents = documents_of(self.stops)
        most = max((stop.tokens for stop in self.stops), default=0)
        room = SLIDER_BYTES // max(len(self.stops), 1)
        before: list[Sentence] | None = None
        for place, (name, stop) in enumerate(zip(names, self.stops, strict=True), 1):
            said = f"{self.of[:1].upper()}{self.of[1:]} {name}"
            yield tag(
                "div",
                pane(stop, before, documents, most, room),
                class_=f"cxa-pane cxa-pane{place}",
                role="region",
                aria_label=said,
            )
            before = [one for found in sentences_by_document(stop.context).values() for one in found]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from ctxassembly.comparison.terminal import moved
        from ctxassembly.views.terminal import printed

        yield from printed(moved(self.stops, self.of), console, options)


def _stops(names: Iterable[str], group: str) -> Iterator[Html]:
    for place, name in enumerate(names, 1):
        chosen = " checked" if place == 1 else ""
        button = Html(f'<input type="radio" name="{group}" class="cxa-stop{place}"{chosen}>')
        yield tag("label", button, tag("span", name))
