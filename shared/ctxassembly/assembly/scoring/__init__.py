"""Relevance of sentences to the query: terms, sections, ranks, and what a scorer of the caller's says."""
