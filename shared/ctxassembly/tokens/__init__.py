"""Exact counts of tokens, and the shares of a model's window."""
