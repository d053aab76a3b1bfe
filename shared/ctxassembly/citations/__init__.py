"""Reading an answer: its citations, its quotes, and its text as it is spoken.

Each public name is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxassembly.lazy import lazy_names

if TYPE_CHECKING:
    from ctxassembly.citations.reader import AnswerReader, Resolved
    from ctxassembly.citations.references import Reference
    from ctxassembly.citations.support import Quote, Support

    __all__ = ["AnswerReader", "Quote", "Reference", "Resolved", "Support"]
else:
    _HOMES = {
        "ctxassembly.citations.reader": "AnswerReader Resolved",
        "ctxassembly.citations.references": "Reference",
        "ctxassembly.citations.support": "Quote Support",
    }
    __all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
