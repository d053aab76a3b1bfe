"""LangChain's documents, messages and models <-> the engine's types."""
