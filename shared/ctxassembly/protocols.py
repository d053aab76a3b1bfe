"""Who may answer what an assembly asks: stores, embeddings, language models, and hooks over what was fetched."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from ctxassembly.data.chunks import Chunk, ChunkRef


class Store(Protocol):
    """Where neighbours come from, synchronously. One call is one round trip, however many documents it is for.

    An attribute `holds_filter` may say how the caller's search filters: True if each chunk that comes back has passed
    that filter, False if the search is known to have none, None (as good as no attribute) if nobody knows. Another one,
    `finds_offsets`, is True if references with `beside` are answered; a store without it is never sent any.

    An attribute `remedies` may say what to write where hits don't say their place ("place"), where the store has none
    of what stands next to them ("answer"), and where `fetch` raises NotImplementedError ("method"): a mapping with any
    of the three.
    """

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """The chunks that exist among `refs`, in any order."""


class AsyncStore(Protocol):
    """The same, awaited. A store may offer both."""

    def afetch(self, refs: Sequence[ChunkRef]) -> Awaitable[Sequence[Chunk]]:
        """The chunks that exist among `refs`, in any order."""


class EmbedDocuments(Protocol):
    """The embeddings of LangChain and many others, synchronously."""

    def embed_documents(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """One vector for each of `texts`, in their order."""


class AsyncEmbedDocuments(Protocol):
    """The same, awaited. An object may offer both."""

    def aembed_documents(self, texts: list[str]) -> Awaitable[Sequence[Sequence[float]]]:
        """One vector for each of `texts`, in their order."""


Embeddings = EmbedDocuments | Callable[[list[str]], Sequence[Sequence[float]]]
"""An object with `embed_documents`, or a function from texts to vectors."""
AsyncEmbeddings = AsyncEmbedDocuments | Callable[[list[str]], Awaitable[Sequence[Sequence[float]]]]
OnFetched = Callable[[Sequence[Chunk]], Sequence[Chunk]]
"""A function over the chunks that a store answered with, before anything else sees them: a mask, a second check."""
AsyncOnFetched = Callable[[Sequence[Chunk]], Awaitable[Sequence[Chunk]]]
LanguageModel = Callable[[str], str]
"""A function from a prompt to an answer. It may be called from several threads at once."""
AsyncLanguageModel = Callable[[str], Awaitable[str]]
