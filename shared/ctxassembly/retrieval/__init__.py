"""Retrieval: a query in, hits out, as one generator that asks for I/O instead of doing it."""
