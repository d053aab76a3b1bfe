"""Chunks, candidates, pieces, the trace and the assembled context: frozen values that every stage reads."""
