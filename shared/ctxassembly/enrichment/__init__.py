"""Enrichment of an index by a language model: titles, questions and summaries per chunk."""
