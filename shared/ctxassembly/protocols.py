"""The objects that callers hand in: stores, embeddings, language models, and hooks over fetched chunks.

They are protocols: a class with the right methods needs no base class. `assemble` takes the synchronous forms;
`aassemble` prefers the awaited ones. An object may offer both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from ctxassembly.data.chunks import Chunk, ChunkRef, Hit
from ctxassembly.data.enrichment import Outline, StoredDocument, WriteNotes
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.retrieval import QueryVocabulary, ScoredChunk
from ctxassembly.data.trace import StageEvent

__all__ = [
    "AnswerCache",
    "AsyncEmbeddings",
    "AsyncIndex",
    "AsyncLanguageModel",
    "AsyncOnStage",
    "AsyncScorer",
    "AsyncStore",
    "AsyncTransformFetched",
    "ChatModel",
    "Embeddings",
    "Index",
    "LanguageModel",
    "ModelClient",
    "OnStage",
    "Scorer",
    "Store",
    "TransformFetched",
]


class Store(Protocol):
    """A store that neighbors are fetched from. One call is one round trip, however many documents it asks for.

    >>> from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
    >>> def asks_for(ref, chunk):
    ...     same = ref.document_id == chunk.document_id
    ...     return same and ref.index in (None, chunk.index) and ref.chunk_id in (None, chunk.id)
    >>> class Shelf:
    ...     def __init__(self, chunks):
    ...         self.chunks = chunks
    ...
    ...     def fetch(self, refs):
    ...         return [chunk for chunk in self.chunks if any(asks_for(ref, chunk) for ref in refs)]
    >>> chunks = [Chunk(f"gastro#{at}", "gastro", text, at) for at, text in enumerate(["Drink.", "Rest.", "Go home."])]
    >>> print(assemble([Hit(chunks[1])], AssemblyConfig(window=1, format="minimal"), store=Shelf(chunks)))
    Drink.
    Rest.
    Go home.

    A reference names a document, and in it a chunk by `index` or by `chunk_id`; neither asks for all its chunks. What
    doesn't exist is left out, without an error, and a reference that the store can't look up stays unanswered: one with
    indexes alone needs no ids. A chunk comes back as it was stored, with its metadata: by them it is held to the
    caller's filter. `ctxassembly.testing.store_cases` has a case for each of these rules.

    The hits themselves are asked for, too: a store that doesn't hold a hit, by id and text or by index and text, reads
    another collection, and nothing next to that hit is used.

    A store may have further attributes:

    - `holds_filter` says how the caller's search filters. True: every chunk that comes back has passed its filter.
      False: the search has no filter. None, or no attribute: unknown.
    - `finds_offsets` is True if the store answers references with `beside`. Others are never sent any.
    - `place` and `filters` are as in `SimilarityIndex`, for a cache of answers.
    - `remedies` maps problems to the line that fixes them, for warnings: "place" (hits don't say where they stand),
      "answer" (the store has no neighbors of the hits), "method" (`fetch` raises NotImplementedError). Any may be left
      out.

    A store for an adapter may be a dataclass with these fields. The adapter then works with a copy:

    - `keys`, a MetadataKeys left at its default, gets those of `AssemblyConfig(keys=...)`.
    - `filter`, in LangChain, gets the caller's filter. `fetch` has to apply it, and `holds_filter` to be True as soon
      as there is one. A store without this field needs no filter: what it fetches is filtered afterwards.
    - `vectorstore`, in LangChain, says which one it reads. If the search reads the same one, and has no filter, all
      neighbors may come in.
    """

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """Return the chunks that exist among `refs`, in any order."""


class AsyncStore(Protocol):
    """A `Store` that is awaited.

    >>> import asyncio
    >>> from ctxassembly import Chunk, Hit, aassemble
    >>> held = {("a", at): Chunk(f"a#{at}", "a", text, at) for at, text in enumerate(["Drink water.", "Then rest."])}
    >>> class Shelf:
    ...     async def afetch(self, refs):
    ...         return [held[ref.document_id, ref.index] for ref in refs if (ref.document_id, ref.index) in held]
    >>> print(asyncio.run(aassemble([Hit(held["a", 0])], store=Shelf())))
    [1] Source: unknown
    Drink water.
    Then rest.
    """

    def afetch(self, refs: Sequence[ChunkRef]) -> Awaitable[Sequence[Chunk]]:
        """Return the chunks that exist among `refs`, in any order."""


class DocumentEmbedder(Protocol):
    """Embeddings as LangChain and many others have them."""

    def embed_documents(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """Return one vector for each of `texts`, in order."""


class AsyncDocumentEmbedder(Protocol):
    """`DocumentEmbedder`, awaited."""

    def aembed_documents(self, texts: list[str]) -> Awaitable[Sequence[Sequence[float]]]:
        """Return one vector for each of `texts`, in order."""


Embeddings = DocumentEmbedder | Callable[[list[str]], Sequence[Sequence[float]]]
"""An object with `embed_documents`, or a function from a list of texts to one vector for each."""
AsyncEmbeddings = AsyncDocumentEmbedder | Callable[[list[str]], Awaitable[Sequence[Sequence[float]]]]
"""The same, awaited."""


class Embedder(Protocol):
    """A model that embeds a query and texts, as LangChain has it. LlamaIndex's and sentence-transformers' do, too."""

    def embed_query(self, text: str) -> Sequence[float]:
        """Return the vector of a query."""

    def embed_documents(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """Return one vector for each of `texts`, in order."""


class PairScorer(Protocol):
    """A cross-encoder, as sentence-transformers has it. LangChain's have `score` instead, which does, too."""

    def predict(self, pairs: list[tuple[str, str]]) -> Sequence[float]:
        """Return a score for each pair of query and text, higher is better."""


Scorer = Embedder | PairScorer | Callable[[str, list[str]], Sequence[float]]
"""An object that says how well sentences answer a query: a model that embeds, a cross-encoder, or a function from the
query and the sentences to a score for each. Scores may have any scale; higher is better."""
AsyncScorer = Callable[[str, list[str]], Awaitable[Sequence[float]]]
"""The same, awaited. Of a model that embeds, `aembed_query` and `aembed_documents` are awaited where it has them."""
TransformFetched = Callable[[Sequence[Chunk]], Sequence[Chunk]]
"""A function over fetched chunks before anything else sees them, such as a mask or a second check of rights."""
AsyncTransformFetched = Callable[[Sequence[Chunk]], Awaitable[Sequence[Chunk]]]
"""The same, awaited."""
OnStage = Callable[[StageEvent], Any]
"""A function called for each stage as it begins, ends or fails. An error that it raises ends the assembly."""
AsyncOnStage = Callable[[StageEvent], Awaitable[Any]]
"""The same, awaited."""
LanguageModel = Callable[[str], str]
"""A function from a prompt to an answer. It may be called from several threads at once."""
AsyncLanguageModel = Callable[[str], Awaitable[str]]
"""The same, awaited."""


class QueryEmbedder(Protocol):
    """Embeddings as LangChain has them."""

    def embed_query(self, text: str) -> Sequence[float]:
        """Return the vector of a query."""


EmbedQuery = QueryEmbedder | Callable[[str], Sequence[float]] | Callable[[str], Awaitable[Sequence[float]]]
"""An object with `embed_query`, or a function from a text to its vector."""
SearchFunction = Callable[[str, int, Any], Sequence[Hit]] | Callable[[str, int, Any], Awaitable[Sequence[Hit]]]
"""A custom search: a function from a query, the most hits and the filter to hits, best first."""
RerankedPosition = tuple[int, float | None]
"""The index of a chunk in the given list, and its score, if it has one."""
Reranker = (
    Callable[[str, Sequence[Chunk]], Sequence[RerankedPosition]]
    | Callable[[str, Sequence[Chunk]], Awaitable[Sequence[RerankedPosition]]]
)
"""A function from a query and chunks to places and scores, best first."""


class Index(Protocol):
    """An index that retrieval searches. Each call is one round trip.

    >>> from ctxassembly import Chunk, RetrievalConfig, retrieve
    >>> from ctxassembly.retrieval import ScoredChunk, TermStats, QueryVocabulary
    >>> class OneLeaflet:
    ...     def find_terms(self, request):
    ...         return QueryVocabulary(1, tuple(TermStats(word, 1) for word in request.text.split()))
    ...
    ...     def search(self, request):
    ...         words = tuple(term.text for term in request.vocabulary.terms)
    ...         return [ScoredChunk(Chunk("gastro#0", "gastro", "Drink water."), keyword_score=1.0, terms=words)]
    >>> [hit.chunk.id for hit in retrieve("water", RetrievalConfig(strategy="keyword"), index=OneLeaflet()).hits]
    ['gastro#0']

    It may be a store of neighbors, too. `holds_filter` and `finds_offsets` are then as in `Store`.

    A cache of answers needs to know what an index filters by itself. `place` names where its chunks are, as a text or a
    tuple of texts, equal for two indexes over the same ones; `filters` has the filters that it is under, a tuple or
    None.
    """

    def find_terms(self, request: FindTerms) -> QueryVocabulary:
        """Return the words of a query with their statistics in the index."""

    def search(self, request: SearchChunks) -> Sequence[ScoredChunk]:
        """Return the best chunks of each channel, each with its scores in all channels that search."""


class AsyncIndex(Protocol):
    """An `SimilarityIndex` that is awaited.

    >>> import asyncio
    >>> from ctxassembly import Chunk, RetrievalConfig, aretrieve
    >>> from ctxassembly.retrieval import ScoredChunk, TermStats, QueryVocabulary
    >>> class OneLeaflet:
    ...     async def afind_terms(self, request):
    ...         return QueryVocabulary(1, (TermStats("water", 1),))
    ...
    ...     async def asearch(self, request):
    ...         return [ScoredChunk(Chunk("gastro#0", "gastro", "Drink water."), keyword_score=1.0, terms=("water",))]
    >>> found = asyncio.run(aretrieve("water", RetrievalConfig(strategy="keyword"), index=OneLeaflet()))
    >>> [hit.chunk.id for hit in found.hits]
    ['gastro#0']
    """

    def afind_terms(self, request: FindTerms) -> Awaitable[QueryVocabulary]:
        """Return the words of a query with their statistics in the index."""

    def asearch(self, request: SearchChunks) -> Awaitable[Sequence[ScoredChunk]]:
        """Return the best chunks of each channel, each with its scores in all channels that search."""


class EnrichmentTable(Protocol):
    """The `enrichment` of an index: where `enrich` reads documents and writes notes on them, from several threads."""

    def outlines(self) -> Sequence[Outline]:
        """Return the documents of the index, in the order of their ids."""

    def read(self, outline: Outline) -> StoredDocument:
        """Return the document as it is now."""

    def write(self, request: WriteNotes) -> bool:
        """Write all of `request` at once; False, and nothing is written, if a chunk isn't as it was."""

    def commit(self, chunks: int) -> None:
        """Let searches use the notes on so many chunks that were written."""


class ModelClient(Protocol):
    """A model that answers the requests of an answer chain; a function from the request to a reply is one by itself.

    >>> from ctxassembly import understand
    >>> from ctxassembly.answering import AnswerConfig, Exchange
    >>> class Echo:
    ...     def ask(self, request):
    ...         return request.messages[-1]["content"]
    >>> understand("And eat?", AnswerConfig(), model=Echo(), history=[Exchange("May I drink?", "Yes [1].")]).notes
    ()

    It may have `aask(request)`, awaited, and for streams `stream(request)` and `astream(request)`, which give the
    replies piece by piece. What it lacks is made of what it has.
    """

    def ask(self, request: Any) -> Any:
        """Return the `ModelReply` to an `AskModel`; a string is accepted, too."""


ChatModel = ModelClient | Callable[[Any], Any]
"""A model, or a function from an `AskModel` to a `ModelReply` or a text, called or awaited."""


class AnswerCache(Protocol):
    """A cache of answers, for an `AnswerChain`. Entries are JSON, keys are hexadecimal digits.

    The key is made of the question as it was rewritten, all filters and places that are searched, the mode and the
    settings: not of the documents. So an entry has to expire once the index says something else. Where a filter can't
    be seen, nothing is kept, and a warning says so. In a conversation answers are found if the question stands alone,
    and never kept.

    >>> from ctxassembly import AnswerChain, Chunk, MemoryIndex, RetrievalConfig
    >>> class Shelf(dict):
    ...     def set(self, key, entry):
    ...         self[key] = entry
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> model = iter(["In the morning [1]."]).__next__
    >>> words = RetrievalConfig(strategy="keyword")
    >>> chain = AnswerChain.from_index(index, lambda request: model(), words, cache=Shelf())
    >>> [chain.answer(asked).text for asked in ("When is ferritin measured?", "when is  ferritin measured?")]
    ['In the morning [1].', 'In the morning [1].']
    """

    def get(self, key: str) -> str | None:
        """Return the entry under `key`; None if there is none."""

    def set(self, key: str, entry: str) -> None:
        """Keep `entry` under `key`."""
