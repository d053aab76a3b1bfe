"""Shared code of the adapters: numbering of chunks, and contexts and answers as metadata.

An adapter converts its framework's objects to `Hit` and `Chunk`, calls `assemble`, and returns the blocks of the
context in its framework's objects. This package has what every adapter needs for that:

- `numbering`: `number_chunks` gives chunks fresh from a splitter their document, index and id;
- `blocks`: blocks that were assembled before, read as the chunks that they were made of;
- `metadata`: citations, scores, trace and answers as plain data for the objects and messages that adapters return, and
  the turns of a conversation read from a framework's messages.
"""
