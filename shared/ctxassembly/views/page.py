"""The view of a context as HTML: a piece for a notebook, or a page of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxassembly.data.citations import Assembled
from ctxassembly.views.budget import budget, funnel
from ctxassembly.views.context_text import reading
from ctxassembly.views.evidence import Evidence, Located, anchor, checked, located, marks, next_anchor
from ctxassembly.views.evidence_report import asked_for
from ctxassembly.views.fragments import fragments
from ctxassembly.views.html import Html, joined, shortened, tag
from ctxassembly.views.limits import NOTE_CHARS
from ctxassembly.views.names import Names
from ctxassembly.views.retrieval import retrieval
from ctxassembly.views.style import STYLE
from ctxassembly.views.summary import lede
from ctxassembly.views.trace import decisions, lost, notes, stages
from ctxassembly.wording.formats import FORMATS, shows_labels

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""The content security policy of a page: it loads and runs nothing but its own style."""
_TOGGLE = Html('<input type="checkbox" class="cxa-toggle">')


def page(context: Assembled, evidence: Sequence[Evidence] = ()) -> str:
    """A whole page, ready for a file.

    Raises:
        InputError: a piece of `evidence` is neither a text nor a span.
    """
    found = located(context, checked(evidence))
    return framed(_view(context, found, anchor(context, found)))


def framed(inside: str) -> str:
    """A page around the markup of a view."""
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><title>What the model reads</title>'
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body class="cxa-page">{inside}</body></html>\n'


def view(context: Assembled, evidence: Sequence[Evidence] = ()) -> str:
    """The view as a piece of HTML, for a notebook. Its style applies to nothing else there.

    Raises:
        InputError: a piece of `evidence` is neither a text nor a span.
    """
    found = located(context, checked(evidence))
    return _view(context, found, next_anchor(context, found))


def _view(context: Assembled, found: tuple[Located, ...], anchor: str) -> str:
    names = Names(context, anchor, marks(found))
    decided = decisions(context, names)  # first, since parts above it link to its rows
    columns = _before_and_after(context, names)
    return joined(
        style(),
        tag(
            "section",
            _facts(context),
            budget(context, names),
            asked_for(context, found, lambda number: names.evidence(number, columns)),
            lost(context, names),
            columns,
            retrieval(context, names),
            tag("h3", "How it got there"),
            stages(context),
            tag("h3", "Every decision"),
            decided,
            notes(context),
            class_="cxa",
            lang="en",
            aria_label="What the model reads",
        ),
    )


def style() -> Html:
    """The style sheet as an element."""
    return Html(f"<style>{STYLE}</style>")


def _facts(context: Assembled) -> Html:
    trace = context.trace
    elapsed = sum(stage.elapsed_ms for stage in trace.stages)
    labels = len(context.citations)
    one, several = (
        ("block without a label", "blocks without a label")
        if context.format in FORMATS and not shows_labels(context.format)
        else ("label to cite", "labels to cite")
    )
    limit = f"of {trace.max_tokens:,} tokens" if trace.max_tokens else "tokens"
    facts = [
        (f"{context.token_count:,}", limit),
        (" → ".join(f"{chunks:,}" for chunks in funnel(trace)) or "0", "chunks, stage by stage"),
        (f"{labels:,}", one if labels == 1 else several),
        (f"{trace.round_trips:,}", "call to the store" if trace.round_trips == 1 else "calls to the store"),
        (f"{elapsed:,.1f} ms", "in all"),
    ]
    if trace.max_characters is not None:
        facts.insert(1, (f"{trace.character_count:,}", f"of {trace.max_characters:,} characters"))
    items = [tag("li", tag("b", value), said) for value, said in facts]
    asked = tag("p", "Query: ", tag("q", shortened(context.query, NOTE_CHARS), lang="")) if context.query else ""
    became, done = lede(context)
    said = tag("p", tag("b", f"{became}. "), done, class_="cxa-lede")
    return joined(tag("h2", "What the model reads"), asked, said, tag("ul", *items, class_="cxa-facts"))


def _before_and_after(context: Assembled, names: Names) -> Html:
    toggle = tag("label", _TOGGLE, "Show what was stripped or cut, in its place")
    before = fragments(context, names)  # first, since the marks in the text lead to those that have room
    after = reading(context, names)
    every = f"{names.anchor}-all"
    columns = tag(
        "div",
        _column(
            "Before: the fragments as they came",
            before,
            "cxa-before",
            tag("p", tag("a", "Show all fragments", href=f"#{every}"), class_="cxa-all"),
            id_=every,
        ),
        _column("After: the context as the model reads it", after, "cxa-reading"),
        class_="cxa-columns",
    )
    return joined(
        tag("h3", "Before and after"),
        _legend(bool(names.marks.standing or names.marks.fragments)),
        tag("p", toggle),
        columns,
    )


def _legend(with_evidence: bool) -> Html:
    """The meaning of the marks in the two columns."""
    marks = [
        (tag("span", "● 2", class_="cxa-chip"), "here begins the hit that came second"),
        (tag("span", "○ 2±1", class_="cxa-chip"), "here a neighbour, one chunk away from it"),
        (tag("span", "text", class_="cxa-hit"), "from a hit; without colour: from a neighbour"),
        (tag("mark", "text"), "stands in another fragment, too"),
        *([(tag("mark", "text", class_="cxa-evidence"), "evidence")] if with_evidence else []),
    ]
    items = [tag("li", mark, f" {said}") for mark, said in marks]
    return tag("ul", *items, class_="cxa-legend cxa-d0", aria_label="How to read the marks")


def _column(title: str, inside: Html, name: str, above: str = "", id_: str | None = None) -> Html:
    scroll = tag("div", inside, class_="cxa-scroll", id_=id_, tabindex="0", role="region", aria_label=title)
    return tag("div", tag("h4", title), above, scroll, class_=name)


class View:
    """A context and the places of its evidence. A notebook shows it as HTML, `rich.print` on a terminal.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> context = assemble([Hit(Chunk("gastro#0", "gastro", "Drink water."))])
    >>> "Evidence: 1 of 1 piece read" in context.view(evidence=["Drink water."]).to_html()
    True
    """

    def __init__(self, context: Assembled, evidence: Sequence[Evidence]) -> None:
        self._context = context
        self._pieces = checked(evidence)
        self.evidence: tuple[Located, ...] = located(context, self._pieces)

    def to_html(self) -> str:
        """The view as a page, ready for a file."""
        return page(self._context, self._pieces)

    def _repr_html_(self) -> str:

        return view(self._context, self._pieces)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from ctxassembly.views.terminal import printed, shown

        yield from printed(shown(self._context, self.evidence), console, options)
