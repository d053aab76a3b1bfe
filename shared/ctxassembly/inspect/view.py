"""A context to be looked at for the evidence that a reader named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxassembly.data.citations import Assembled
from ctxassembly.inspect.evidence import Evidence, Located, checked, located

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


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
        from ctxassembly.inspect.page import page

        return page(self._context, self._pieces)

    def _repr_html_(self) -> str:
        from ctxassembly.inspect.page import view

        return view(self._context, self._pieces)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from ctxassembly.inspect.terminal import shown
        from ctxassembly.inspect.terminal_tables import printed

        yield from printed(shown(self._context, self.evidence), console, options)
