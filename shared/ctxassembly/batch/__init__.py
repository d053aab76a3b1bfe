"""Many questions at once: in several processes, into a file that an interrupted run resumes from.

Experimental: the fields of the rows may still change. Each public name is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxassembly.lazy import lazy_names

if TYPE_CHECKING:
    from ctxassembly.batch.rows import BatchRow, BatchSummary
    from ctxassembly.batch.run import Batch, assemble_many, retrieve_many

    __all__ = ["Batch", "BatchRow", "BatchSummary", "assemble_many", "retrieve_many"]
else:
    _HOMES = {
        "ctxassembly.batch.rows": "BatchRow BatchSummary",
        "ctxassembly.batch.run": "Batch assemble_many retrieve_many",
    }
    __all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
