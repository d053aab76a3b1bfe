"""For tests of your own: a store and an index in memory, and the cases that every store and every index must pass."""

from ctxassembly.stores.memory import MemoryIndex, MemoryStore
from ctxassembly.testing.indexes import IndexCase, index_cases
from ctxassembly.testing.stores import StoreCase, store_cases

__all__ = ["IndexCase", "MemoryIndex", "MemoryStore", "StoreCase", "index_cases", "store_cases"]
