"""Shared code of the adapters: numbering of chunks, rerankers, and a context as metadata.

An adapter converts its framework's objects to `Hit` and `Chunk`, calls `assemble`, and returns the blocks of the
context in its framework's objects. This package has what every adapter needs for that:

- `numbering`: `number_chunks` gives chunks fresh from a splitter their document, index and id;
- `cross_encoder`: a model that scores query and text together, as a reranker of a retrieval;
- `messages`: checks of what becomes a framework's messages, the turns in these messages, and the data saved with the
  message of an answer;
- `blocks`: blocks that were assembled before, read as the chunks that they were made of;
- `search_results`: a context as the search results that some models cite natively, an excerpt for each chunk;
- `metadata`: citations, scores and trace as plain metadata for the objects that adapters return, the notes of an
  adapter in a trace, and the hits of a framework's retriever for an answer chain.
"""
