"""Which share of the evidence stands in the context, each system with a retrieval and an assembly of its own."""
