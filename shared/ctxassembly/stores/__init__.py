"""I/O that both adapters need: PostgreSQL, filtered stores, local embeddings. The engine never imports this room."""
