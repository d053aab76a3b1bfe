"""The engine's offer to adapters: numbering of chunks, rerankers, and a context as metadata.

An adapter converts its framework's objects to `Hit` and `Chunk`, calls `assemble`, and returns the blocks of the
context in its framework's objects. This room has what every adapter needs on the way:

- `numbering`: `number_chunks` gives chunks fresh from a splitter their document, index and id;
- `cross_encoder_reranker`: a model that scores query and text together, as a reranker of a retrieval;
- `messages`: the check of what becomes a framework's messages;
- `turns`: the exchanges in a framework's messages, and the data that the message of an answer carries;
- `fetched`: the hits of a retriever of another make, for an answer chain;
- `notes`: the notes of an adapter in a trace;
- `search_results`: a context as the search results that some models cite natively, an excerpt for each chunk;
- `told` and `answered`: citations, scores and trace as plain metadata for the objects that are handed back.
"""
