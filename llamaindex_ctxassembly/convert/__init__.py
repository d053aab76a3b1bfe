"""LlamaIndex's nodes, messages and models as the engine has them."""
