"""Stores of neighbors over LlamaIndex's docstores and vector stores, each filtered by the caller's filter."""
