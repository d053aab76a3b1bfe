"""Stores of neighbors over LangChain's vector stores, each held to a filter in its own form."""
