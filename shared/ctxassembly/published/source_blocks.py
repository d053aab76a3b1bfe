"""The published `[SOURCE n]` system: a block for each chunk, in the order given, up to a number of characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from ctxassembly.assembly.call import Call, SystemFlow
from ctxassembly.assembly.text_blocks import Style, TextBlock, render_blocks
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.validation import Range
from ctxassembly.published.common import Published, writer

MAX_TOKENS_PER_CHARACTER = 4
"""Bytes of the longest character, and so the most tokens."""


@dataclass(frozen=True)
class SourceBlocks(Published):
    """Each chunk under `[SOURCE 1] file § section`, in the order given, until the next would exceed the limit.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> chunk = Chunk("a#0", "a", "Visits end at eight.", metadata={"source": "a.pdf", "section": "Visitors"})
    >>> print(assemble([Hit(chunk)], SourceBlocks()))
    [SOURCE 1] a.pdf § Visitors
    Visits end at eight.
    """

    max_context_chars: Annotated[int, Range(1)] = 24_000
    """The most characters, at least 1. Headers count, and so does the blank line after each block."""
    snippet_chars: Annotated[int, Range(1)] = 200
    """The most characters of a citation's snippet, at least 1."""

    def flow(self, call: Call) -> SystemFlow:
        """Yield requests, and return the context."""
        style = Style("source", keys=self.keys, snippet_chars=self.snippet_chars)
        write = writer(call, style, fits=lambda text: not self.exact or len(text) <= self.max_context_chars)
        around = write()

        def select(hits: Sequence[Candidate]) -> list[TextBlock]:
            blocks, used = list[TextBlock](), len(f"{around}\n\n") if self.exact and around else 0
            for hit in hits:
                block = TextBlock.of(style.heading(hit), hit)
                entry = render_blocks([block], style, first_label=call.first_label + len(blocks))[-1].text
                if used + len(entry if self.exact else f"{entry}\n\n") > self.max_context_chars:
                    break  # all that follow are left out, too
                blocks.append(block)
                used += len(f"{entry}\n\n")
            return blocks

        blocks = yield from call.stage("select", call.hits, select)
        return (yield from write.context(blocks, max_tokens=self.token_limit, max_characters=self.max_context_chars))

    @property
    def token_limit(self) -> int:
        """The most tokens that `max_context_chars` can have."""
        return MAX_TOKENS_PER_CHARACTER * self.max_context_chars
