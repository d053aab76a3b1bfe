"""Many questions at once: in several processes, into a file that an interrupted run resumes from.

Experimental: the fields of the rows may still change.
"""

from ctxassembly.batch.rows import BatchRow, BatchSummary
from ctxassembly.batch.run import Batch, assemble_many, retrieve_many

__all__ = ["Batch", "BatchRow", "BatchSummary", "assemble_many", "retrieve_many"]
