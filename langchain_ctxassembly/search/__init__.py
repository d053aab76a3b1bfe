"""The search of a chain: its filter, and the scores of its hits."""
