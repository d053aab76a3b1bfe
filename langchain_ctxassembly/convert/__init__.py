"""LangChain's documents, messages and models as the engine has them."""
