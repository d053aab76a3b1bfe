"""Named configurations."""

from ctxassembly.config import AssemblyConfig

FIVE_STAGE = AssemblyConfig(window=1, neighbour_decay=0.5, max_tokens=8_000, granularity="document")
"""The published five-stage rule: expand by one, strip, group, drop whole documents from the tail, summarise."""
