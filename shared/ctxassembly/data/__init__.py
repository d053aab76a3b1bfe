"""Chunks, candidates, the trace and what an assembly comes to: frozen values that every stage reads."""
