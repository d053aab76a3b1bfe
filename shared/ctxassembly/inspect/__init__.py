"""Views of a context for people: what the model reads, where it comes from, what was left out and why.

They read a `Context` and nothing else, and load when one of them is first asked for.
"""
