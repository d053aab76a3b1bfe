"""Retrieved chunks in, the context that a language model reads out: joined, within budget, cited, explained."""

from ctxassembly import presets
from ctxassembly.config import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.drive import aassemble, assemble
from ctxassembly.formats import Heading
from ctxassembly.history import History, trim_history
from ctxassembly.keys import MetadataKeys
from ctxassembly.supplement import Supplement
from ctxassembly.testing import MemoryStore
from ctxassembly.token_budget import TokenBudget
from ctxassembly.types import (
    Block,
    Chunk,
    ChunkRef,
    Citation,
    Decision,
    Hit,
    Passage,
    Source,
    Stage,
    Trace,
)

__all__ = [
    "AssemblyConfig",
    "Block",
    "Chunk",
    "ChunkRef",
    "Citation",
    "Context",
    "Decision",
    "Heading",
    "History",
    "Hit",
    "MemoryStore",
    "MetadataKeys",
    "Passage",
    "Source",
    "Stage",
    "Supplement",
    "TokenBudget",
    "Trace",
    "aassemble",
    "assemble",
    "presets",
    "trim_history",
]
