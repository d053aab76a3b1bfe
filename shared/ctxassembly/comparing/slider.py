"""`Slider`: the contexts of a comparison one at a time, each with what is new and what is lost against the one before.

No script moves it. The stops are radio buttons, so arrow keys do; each view has a form of its own, so that two views on
a page never share their buttons, even if they show the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from ctxassembly.comparing.aligned import Sentence, sentences_by_document
from ctxassembly.comparing.compared import Compared, titles
from ctxassembly.comparing.contrast import documents_of
from ctxassembly.comparing.look import styles
from ctxassembly.comparing.pane import pane
from ctxassembly.inspect.limits import VALUE_CHARS
from ctxassembly.inspect.markup import Html, joined, tag
from ctxassembly.inspect.page import framed

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

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
        from ctxassembly.comparing.terminal import moved
        from ctxassembly.inspect.terminal_tables import printed

        yield from printed(moved(self.stops, self.of), console, options)


def _stops(names: Iterable[str], group: str) -> Iterator[Html]:
    for place, name in enumerate(names, 1):
        chosen = " checked" if place == 1 else ""
        button = Html(f'<input type="radio" name="{group}" class="cxa-stop{place}"{chosen}>')
        yield tag("label", button, tag("span", name))
