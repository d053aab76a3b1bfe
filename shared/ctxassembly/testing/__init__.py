"""For tests of others: a store and an index in memory, and the cases that every store must pass."""

from ctxassembly.testing.cases import StoreCase, store_cases
from ctxassembly.testing.index import MemoryIndex
from ctxassembly.testing.store import MemoryStore

__all__ = ["MemoryIndex", "MemoryStore", "StoreCase", "store_cases"]
