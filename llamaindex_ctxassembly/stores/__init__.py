"""Stores of neighbors over LlamaIndex's docstores and vector stores, each held to the caller's filter."""
