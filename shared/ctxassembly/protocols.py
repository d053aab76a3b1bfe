"""The objects that callers pass in (stores, embeddings, language models, hooks over fetched chunks) and what they get.

They are protocols: a class with the right methods needs no base class. `assemble` takes the synchronous forms;
`aassemble` prefers the asynchronous ones. An object may offer both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from ctxassembly.data.chunks import Chunk, ChunkOrigin, ChunkRef, Hit, OffsetRange
from ctxassembly.data.enrichment import Outline, StoredDocument, WriteNotes
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.retrieval import QueryVocabulary, ScoredChunk
from ctxassembly.data.trace import Stage, StageBegan, StageEnded, StageEvent, StageFailed

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
    "ChunkOrigin",
    "Embeddings",
    "Index",
    "LanguageModel",
    "ModelClient",
    "OffsetRange",
    "OnStage",
    "Scorer",
    "Stage",
    "StageBegan",
    "StageEnded",
    "StageFailed",
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

    A reference names a document, and in it a chunk by `index` or by `chunk_id`; a reference without either asks for all
    chunks of the document. Missing chunks are left out, without an error, as are references that the store can't look
    up: a store that only has indexes needs no ids. A chunk must be returned as it was stored, with its metadata, since
    the caller's filter is applied to the metadata. `ctxassembly.testing.store_cases` has a case for each of these
    rules.

    The hits themselves are requested, too: a store that doesn't contain a hit, by id and text or by index and text,
    reads another collection, and nothing next to that hit is used.

    A store may have further attributes:

    - `holds_filter` describes how the caller's search filters. True: every returned chunk has passed the filter.
      False: the search has no filter. None, or no attribute: unknown, so a neighbor must have its hit's metadata.
    - `finds_ids` is False if the store can't look up references with a `chunk_id`. Then there is no `left_out_tool`.
    - `finds_offsets` is True if the store supports references with `around_offset`. Other stores never receive any.
    - `finds_titles` is True if it supports references with `named_in`. Such references are only sent if no filter is
      needed or the store applies it (`holds_filter`).
    - `remedies` maps problems to the line that fixes them, for warnings: "place" (hits have no position in their
      document), "order" (nor an offset that shows it), "answer" (the store has no neighbors of the hits), "method"
      (`fetch` raises NotImplementedError). Any may be left out.

    A store may be a dataclass with these fields. An assembly with `keys`, an adapter with all, then works with a copy:

    - `keys`, a MetadataKeys at its default, is replaced by `AssemblyConfig(keys=...)`.
    - `filter`, in LangChain, is set to the caller's filter. `fetch` must apply it, and `holds_filter` must be True once
      it is set. A store without this field needs no filter: the chunks it returns are filtered afterwards.
    - `vectorstore`, in LangChain, is the vector store that it reads, in whose form `filter` is.
    """

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """Return the chunks that exist among `refs`, in any order."""


class AsyncStore(Protocol):
    """Async version of `Store`.

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
    """Embeddings with the interface of LangChain and many others."""

    def embed_documents(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """Return one vector for each of `texts`, in order."""


class AsyncDocumentEmbedder(Protocol):
    """Async version of `DocumentEmbedder`."""

    def aembed_documents(self, texts: list[str]) -> Awaitable[Sequence[Sequence[float]]]:
        """Return one vector for each of `texts`, in order."""


Embeddings = DocumentEmbedder | Callable[[list[str]], Sequence[Sequence[float]]]
"""An object with `embed_documents`, or a function from a list of texts to one vector for each."""
AsyncEmbeddings = AsyncDocumentEmbedder | Callable[[list[str]], Awaitable[Sequence[Sequence[float]]]]
"""Async version of `Embeddings`."""


class QueryEmbedder(Protocol):
    """Embeddings of queries with LangChain's interface."""

    def embed_query(self, text: str) -> Sequence[float]:
        """Return the vector of a query."""


class Embedder(QueryEmbedder, DocumentEmbedder, Protocol):
    """An embedding model with LangChain's interface. Models of LlamaIndex and sentence-transformers work, too."""


class PairScorer(Protocol):
    """A cross-encoder with sentence-transformers' interface. LangChain's, which have `score` instead, work, too."""

    def predict(self, pairs: list[tuple[str, str]]) -> Sequence[float]:
        """Return a score for each pair of query and text, higher is better."""


Scorer = Embedder | PairScorer | Callable[[str, list[str]], Sequence[float]]
"""An object that scores how well sentences answer a query: an embedding model, a cross-encoder, or a function from the
query and the sentences to a score for each. Scores may have any scale; higher is better."""
AsyncScorer = Callable[[str, list[str]], Awaitable[Sequence[float]]]
"""Async version of `Scorer`. An embedding model's `aembed_query` and `aembed_documents` are awaited if it has them."""
TransformFetched = Callable[[Sequence[Chunk]], Sequence[Chunk]]
"""A function applied to fetched chunks before anything else, such as masking or a second access check."""
AsyncTransformFetched = Callable[[Sequence[Chunk]], Awaitable[Sequence[Chunk]]]
"""Async version of `TransformFetched`."""
OnStage = Callable[[StageEvent], Any]
"""A function called for each stage as it begins, ends or fails. An error that it raises ends the assembly."""
AsyncOnStage = Callable[[StageEvent], Awaitable[Any]]
"""Async version of `OnStage`."""
LanguageModel = Callable[[str], str]
"""A function from a prompt to an answer. It may be called from several threads at once."""
AsyncLanguageModel = Callable[[str], Awaitable[str]]
"""Async version of `LanguageModel`."""


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
"""A function from a query and chunks to indexes and scores, best first."""


class Index(Protocol):
    """An index that retrieval searches. Each call is one round trip, or two.

    >>> from ctxassembly import Chunk, RetrievalConfig, retrieve
    >>> from ctxassembly.retrieval import QueryVocabulary, ScoredChunk, TermStats
    >>> from ctxassembly.stores import chunk_predicate, lexemes, term_counts
    >>> class Shelf:
    ...     def __init__(self, chunks, filters=()):
    ...         self.counts = [(chunk, term_counts(chunk)) for chunk in chunks]
    ...         self.filters = filters
    ...
    ...     def find_terms(self, request):
    ...         asked = dict.fromkeys(lexemes(request.text))
    ...         stats = [TermStats(word, sum(word in counts for _, counts in self.counts)) for word in asked]
    ...         found_first = sorted(stats, key=lambda term: (not term.chunk_count, term.chunk_count))
    ...         return QueryVocabulary(len(self.counts), tuple(found_first[: request.max_terms]))
    ...
    ...     def search(self, request):
    ...         passes, weights = chunk_predicate(*self.filters, request.filter), request.vocabulary.weights
    ...         found = []
    ...         for chunk, counts in self.counts:
    ...             words = tuple(word for word in weights if word in counts)
    ...             if words and passes(chunk):
    ...                 score = sum(weights[word] * counts[word] for word in words)
    ...                 found.append(ScoredChunk(chunk, keyword_score=score, terms=words))
    ...         return sorted(found, key=lambda one: -one.keyword_score)[: request.limit]
    ...
    ...     def with_filter(self, filter):
    ...         return Shelf([chunk for chunk, _ in self.counts], (*self.filters, filter))
    >>> index = Shelf([Chunk("a#0", "a", "Drink water."), Chunk("b#0", "b", "Rest.", metadata={"ward": 2})])
    >>> words = RetrievalConfig(strategy="keyword")
    >>> [hit.chunk.id for hit in retrieve("water and rest", words, index=index.with_filter({"ward": 2})).hits]
    ['b#0']

    `MemoryIndex` over the same chunks gives the expected answers. The rules:

    - Words. `ctxassembly.stores.lexemes` finds the words of chunks and questions; an index that reads others, such as
      stems, does so in both. A word that no chunk has comes with near words of the index if `max_variants` asks for
      some: those that contain it, then those that share most of its trigrams (`ctxassembly.stores.NearWords`).
    - The scale of scores. A keyword score is the sum over the question's words of `vocabulary.weights` x the saturated
      count of the word in the chunk, as `ctxassembly.stores.term_counts` gives it. Thresholds depend on this scale. A
      similarity is a cosine.
    - Every chunk that any channel found has its scores in all channels that search, and all words of the question that
      it has.
    - Filters. `ctxassembly.stores.parse_filter` gives the conditions of a filter as a tree. An engine may read them
      otherwise: one may take True for 1, or let a chunk without the key pass a negation, which shows it to other
      tenants. So an engine gets conditions that pass at least the same chunks, and what it finds is tested by
      `ctxassembly.stores.chunk_predicate`. If too few pass, it is asked for more: all chunks of another tenant may be
      better ones.

    It may also be a store of neighbors. `holds_filter` and `finds_offsets` are then as in `Store`. If it stores chunks,
    it has `add(chunks, vectors=None, embed=None, *, progress=True)`, with the rules of `PostgresIndex.add`.

    `filters`, if it has them, is a tuple of the filters that the index applies by itself, or None: they are part of the
    key of a cached answer.
    """

    def find_terms(self, request: FindTerms) -> QueryVocabulary:
        """Return the words of a query with their statistics in the index."""

    def search(self, request: SearchChunks) -> Sequence[ScoredChunk]:
        """Return the best chunks of each channel, each with its scores in all channels that search."""

    def with_filter(self, filter: Any) -> Index:
        """Return the same index whose hits, and neighbors, also have to pass `filter`; None: there is no filter.

        Where a call has a filter, an index that serves as a store of neighbors is asked through it.
        """


class AsyncIndex(Protocol):
    """Async version of `Index`.

    >>> import asyncio
    >>> from ctxassembly import Chunk, RetrievalConfig, aretrieve
    >>> from ctxassembly.retrieval import ScoredChunk, TermStats, QueryVocabulary
    >>> class OneLeaflet:
    ...     async def afind_terms(self, request):
    ...         return QueryVocabulary(1, (TermStats("water", 1),))
    ...
    ...     async def asearch(self, request):
    ...         return [ScoredChunk(Chunk("gastro#0", "gastro", "Drink water."), keyword_score=1.0, terms=("water",))]
    ...
    ...     def with_filter(self, filter):
    ...         raise NotImplementedError
    >>> found = asyncio.run(aretrieve("water", RetrievalConfig(strategy="keyword"), index=OneLeaflet()))
    >>> [hit.chunk.id for hit in found.hits]
    ['gastro#0']
    """

    def afind_terms(self, request: FindTerms) -> Awaitable[QueryVocabulary]:
        """Return the words of a query with their statistics in the index."""

    def asearch(self, request: SearchChunks) -> Awaitable[Sequence[ScoredChunk]]:
        """Return the best chunks of each channel, each with its scores in all channels that search."""

    def with_filter(self, filter: Any) -> AsyncIndex:
        """Return the same index whose hits, and neighbors, also have to pass `filter`; None: there is no filter."""


class EnrichmentTable(Protocol):
    """The `enrichment` of an index: `enrich` reads documents and writes notes through it, from several threads."""

    def outlines(self, varying_keys: Sequence[str] = ()) -> Sequence[Outline]:
        """Return the documents of the index, in the order of their ids.

        Chunks are of one document if they have its id and agree on every metadata key on which neighbors have to agree:
        all except places in a document and `varying_keys`.
        """

    def read(self, outline: Outline) -> StoredDocument:
        """Return the document as it is now."""

    def write(self, request: WriteNotes) -> bool:
        """Write all of `request` at once; return False and write nothing if a chunk has changed since it was read."""

    def commit(self, chunks: int) -> None:
        """Make the notes written on this number of chunks visible to searches."""


class ModelClient(Protocol):
    """A model that answers the requests of an answer chain; a function from the request to a reply works, too.

    >>> from ctxassembly import understand
    >>> from ctxassembly.answering import AnswerConfig, Exchange
    >>> class Echo:
    ...     def ask(self, request):
    ...         return request.messages[-1]["content"]
    >>> understand("And eat?", AnswerConfig(), model=Echo(), history=[Exchange("May I drink?", "Yes [1].")]).notes
    ()

    It may have `aask(request)`, which is awaited, and for streaming `stream(request)` and `astream(request)`, which
    yield the replies piece by piece. Missing methods are derived from the ones it has.
    """

    def ask(self, request: Any) -> Any:
        """Return the `ModelReply` to an `AskModel`; a string is accepted, too."""


ChatModel = ModelClient | Callable[[Any], Any]
"""A model, or a function from an `AskModel` to a `ModelReply` or a text, called or awaited."""


class AnswerCache(Protocol):
    """A cache of answers, for an `AnswerChain`. Entries are JSON, keys are hexadecimal digits.

    The key is computed from the scope (`cache_scope=`: who may share answers), the question as typed, the conversation
    so far, the filter, the mode, all settings and the name of the model, but not from the documents. So an entry must
    expire when the index changes.

    >>> from ctxassembly import AnswerChain, Chunk, MemoryIndex, RetrievalConfig
    >>> class Shelf(dict):
    ...     def set(self, key, entry):
    ...         self[key] = entry
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> model = iter(["In the morning [1]."]).__next__
    >>> words = RetrievalConfig(strategy="keyword")
    >>> kept = {"cache": Shelf(), "cache_scope": "everybody"}
    >>> chain = AnswerChain.from_index(index, lambda request: model(), words, **kept)
    >>> [chain.answer("When is ferritin measured?").text for _ in range(2)]
    ['In the morning [1].', 'In the morning [1].']
    """

    def get(self, key: str) -> str | None:
        """Return the entry under `key`; None if there is none."""

    def set(self, key: str, entry: str) -> None:
        """Keep `entry` under `key`."""
