"""Candidates for the context: hits admitted, neighbors asked for and let in."""
