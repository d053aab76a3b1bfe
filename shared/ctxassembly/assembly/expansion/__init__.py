"""Candidates for the context: hits admitted, neighbours asked for and let in."""
