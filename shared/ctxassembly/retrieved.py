"""The outcome of retrieval with its views: a notebook shows how each hit was found.

The fields, and what is read from them, are in `data`, below the steps that make them and the views that show them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from ctxassembly.data import retrieval as data

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


@dataclass(frozen=True, slots=True)
class Retrieved(data.Retrieved):
    """The hits for a query, best first, and their trace. A notebook and `rich.print` show how each came to its place.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin."), Chunk("lab#1", "lab", "Ferritin, and iron.")])
    >>> retrieved = retrieve("iron or ferritin", RetrievalConfig(strategy="keyword"), index=index)
    >>> print(retrieved)
    rank  score  channels  id
       1  1.000  keyword   lab#1
       2  0.208  keyword   lab#0
    >>> "How it was found" in retrieved.to_html()
    True
    """

    @classmethod
    def with_views(cls, outcome: data.Retrieved) -> Retrieved:
        """Return `outcome` with its views."""
        return cls(**{field.name: getattr(outcome, field.name) for field in fields(data.Retrieved)})

    def to_html(self) -> str:
        """Return a page with each hit's rank in the channels, the factors on its score, the steps, and the losses.

        It is one file of HTML and CSS without scripts, below a megabyte. A notebook shows the same by itself; the page
        of a context has it next to the text: `context.to_html(retrieved=retrieved)`.
        """
        from ctxassembly.views.html import wrap_page

        return wrap_page(self._repr_html_())

    def _repr_html_(self) -> str:
        from ctxassembly.views.retrieval import retrieval_html

        return retrieval_html(self)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from ctxassembly.views.terminal import render_encodable, render_retrieval

        yield from render_encodable(render_retrieval(self), console, options)
