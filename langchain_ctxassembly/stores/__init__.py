"""Stores of neighbors over LangChain's vector stores, each filtered in the form of its vector store."""
