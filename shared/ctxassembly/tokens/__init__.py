"""Exact counts of tokens, and how a model's window is shared out."""
