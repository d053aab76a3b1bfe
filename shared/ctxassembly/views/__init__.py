"""Views of a context for people: the text that the model reads, its sources, and the chunks left out with the reasons.

A view reads the fields of a context (`ContextData`) and nothing else. It is imported when it is first used.
"""
