"""Stores of neighbours over LangChain's vector stores, each held to a filter in its own form."""
