"""The text of a context: its order and wording, its cost in tokens, and its sources."""
