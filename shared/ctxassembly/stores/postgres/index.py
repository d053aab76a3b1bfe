"""`PostgresIndex`: a table of chunks, searched by words and vectors, and asked for neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, overload

from sqlalchemy import Row, Select

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.keys import MetadataKeys
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.searched import Scored, Vocabulary
from ctxassembly.drivers.progress import progress_bar
from ctxassembly.errors import ConfigError
from ctxassembly.stores.postgres import health, ingest, making, notes, search, terms
from ctxassembly.stores.postgres.catalog import connected, described
from ctxassembly.stores.postgres.chunk_table import ChunkTable, storable
from ctxassembly.stores.postgres.engines import Server, arows, rows
from ctxassembly.stores.postgres.filters import condition_of
from ctxassembly.stores.postgres.health import Health
from ctxassembly.stores.postgres.ingest import Added
from ctxassembly.stores.postgres.reading import ToChunk, asked_of, chunk_in, columns_of, neighbours_in
from ctxassembly.stores.postgres.schema import Fields, Plan, checked
from ctxassembly.stores.postgres.search import Shape
from ctxassembly.stores.postgres.table import IndexedTable
from ctxassembly.stores.rows import Asked


@dataclass(frozen=True)
class PostgresIndex:
    """An index over a table of chunks in PostgreSQL, as `create` and `attach` give it.

        index = PostgresIndex.create("postgresql://localhost/docs", dimensions=384)
        index.add(chunks, embed=embeddings)
        retrieve("When is ferritin measured?", index=index, embed=embeddings)

    A query is two statements: one for its words, one for the chunks. Both need no transaction, so they are two round
    trips. It is a store of neighbours, too: under a filter, `index.under(filter)` is the same index whose neighbours
    and hits have to pass it.
    """

    server: Server = field(repr=False)
    home: IndexedTable
    fields: Fields
    _: KW_ONLY
    filters: tuple[Any, ...] | None = None
    """The conditions on neighbours, and on hits beside the filter of their request. None: nobody has said what the
    caller's filter is. See `under`."""
    keys: MetadataKeys = field(default_factory=MetadataKeys)
    field_weights: tuple[float, float] = (1.0, 1.0)
    """The weight of an occurrence in the title and in the questions, beside 1 in the text, 0 to 1."""
    length_weight: float = 0.0
    """The share by which the length of a chunk lowers its keyword score, 0 to 1. 0 is best for chunks of like size; .6
    for those of very different ones, such as paragraphs."""
    timeout_seconds: float = 10.0
    """For each statement, the wait for a connection included. What is late raises TimeoutError, whatever the server
    does; it is cancelled there too, and its connection dropped."""
    chunk_of: ToChunk | None = field(default=None, repr=False)
    """Another reading of the rows of a framework's table."""

    def __post_init__(self) -> None:
        if not 0 < self.timeout_seconds < math.inf:
            raise ConfigError("timeout_seconds", "a finite number above 0", self.timeout_seconds)
        if not 0 <= self.length_weight <= 1:
            raise ConfigError("length_weight", "a number from 0 to 1", self.length_weight)
        if len(self.field_weights) != 2 or not all(0 <= weight <= 1 for weight in self.field_weights):
            raise ConfigError("field_weights", "two numbers from 0 to 1, for title and questions", self.field_weights)
        condition_of(self.home, *(self.filters or ()))

    @classmethod
    def create(
        cls,
        url: str,
        table: str = "chunks",
        *,
        dimensions: int = 384,
        language: str = "simple",
        schema: str = "public",
        title: str | None = "title",
        questions: str | None = "questions",
        ef_search: int = 200,
        **settings: Any,
    ) -> PostgresIndex:
        """An index over a table of its own, which is made if it isn't there.

        Args:
            url: of the database, for any driver; psycopg connects.
            table: its name.
            dimensions: of the embeddings. HNSW indexes up to 2,000 as they are, up to 4,000 in half precision.
            language: the text search configuration by which texts become words. "simple" keeps each as it is.
            schema: where the table stands.
            title: the metadata key of a title that is searched with the text; None for none.
            questions: that of questions that the chunk answers.
            ef_search: how many chunks an HNSW search looks at, at least: more of them find more, and take longer.
            settings: `keys`, `field_weights`, `length_weight`, `timeout_seconds`.

        Raises:
            ConfigError: a value out of range; a table of that name that was made otherwise; no pgvector, and no right
                to create it.
        """
        fields = checked(Fields(language, title, questions))
        server, home = making.created(url, table, schema, fields, dimensions=dimensions, ef_search=ef_search)
        return cls(server, home, fields, **settings)

    @overload
    @classmethod
    def attach(cls, vectorstore: Any, *, dry_run: Literal[True], **settings: Any) -> Plan: ...

    @overload
    @classmethod
    def attach(cls, vectorstore: Any, *, dry_run: Literal[False] = False, **settings: Any) -> PostgresIndex: ...

    @classmethod
    def attach(
        cls,
        vectorstore: Any,
        *,
        dry_run: bool = False,
        language: str = "simple",
        title: str | None = "title",
        questions: str | None = "questions",
        hnsw: bool = False,
        ef_search: int = 200,
        keys: MetadataKeys | None = None,
        **settings: Any,
    ) -> PostgresIndex | Plan:
        """An index over the table of a PGVectorStore, LangChain's or LlamaIndex's, which gets what is missing.

        That is a generated column of words and its index, the index on document and place, statistics, and a table of
        the words that there are. The first rewrites the table, and nobody reads or writes it meanwhile; all else is
        made while it is in use. A second run changes nothing. After the vector store has added many chunks, `refresh`
        learns their words: until then those are counted one by one, and aren't found as near ones.

        Args:
            vectorstore: of langchain-postgres or llama-index-vector-stores-postgres. Connections are the index's own.
            dry_run: give back the statements, and execute none.
            language: the text search configuration by which texts become words. "simple" keeps each as it is.
            title: the metadata key of a title that is searched with the text; None for none.
            questions: that of questions that the chunk answers.
            hnsw: make an HNSW index if there is none.
            ef_search: how many chunks an HNSW search looks at, at least.
            keys: under which the metadata have document id, index and offset.
            settings: `field_weights`, `length_weight`, `timeout_seconds`, `chunk_of`.

        Raises:
            InputError: another kind of vector store.
            ConfigError: a table that can't be indexed, or that this user may not change.
        """
        keys = MetadataKeys() if keys is None else keys
        fields = checked(Fields(language, title, questions))
        server, home, plan = making.attached_to(
            vectorstore, fields, keys, hnsw=hnsw, ef_search=ef_search, dry_run=dry_run
        )
        if dry_run:
            return plan
        return cls(server, home, fields, keys=keys, **settings)

    def under(self, filter: Any) -> PostgresIndex:
        """The same index, of which hits and neighbours have to pass `filter`, too. None: there is none.

        A filter is a mapping of metadata keys to values or operators ($eq $ne $gt $gte $lt $lte $in $nin $exists
        $between $like $ilike), with $and, $or and $not over such mappings; for a table of LlamaIndex's it may be
        MetadataFilters. A chunk without the key doesn't pass.

        Raises:
            ConfigError: it has another form.
        """
        return replace(self, filters=(*(self.filters or ()), *(() if filter is None else (filter,))))

    # Notes of a model

    @overload
    def with_enrichment(self, *, dry_run: Literal[True]) -> Plan: ...

    @overload
    def with_enrichment(self, *, dry_run: Literal[False] = False) -> PostgresIndex: ...

    def with_enrichment(self, *, dry_run: bool = False) -> PostgresIndex | Plan:
        """The same index over a table with columns for what `enrich` writes; those that it hasn't are added.

        A table that `create` made has them. Another one is rewritten once, since the words of questions and contexts
        become words of its chunks: nobody reads or writes it meanwhile. Whoever else writes to it goes on as before. An
        index that was made earlier finds by the notes, too; to show summaries it has to be made anew.

        Args:
            dry_run: give back the statements, and execute none.

        Raises:
            ConfigError: this user doesn't own the table.
        """
        home, plan = notes.prepared(self.server, self.home, self.fields, dry_run=dry_run)
        return plan if dry_run else replace(self, home=home)

    @property
    def enrichment(self) -> notes.PostgresNotes:
        """The notes on its chunks, as `enrich` reads and writes them.

        Raises:
            ConfigError: the table has no columns for them.
        """
        condition = condition_of(self.home, *(self.filters or ()))
        return notes.PostgresNotes(self.server, self.home, self.keys, self.chunk_of, condition, self.timeout_seconds)

    # Retrieval

    def find_terms(self, request: FindTerms) -> Vocabulary:
        """The words of a query as the index knows them. One round trip.

        Raises:
            TimeoutError: the database didn't answer in time.
        """
        return terms.vocabulary(rows(self.server, self._terms(request), self.timeout_seconds))

    async def afind_terms(self, request: FindTerms) -> Vocabulary:
        """The same, awaited."""
        return terms.vocabulary(await arows(self.server, self._terms(request), self.timeout_seconds))

    def search(self, request: SearchChunks) -> list[Scored]:
        """The best chunks of each channel, each with its scores in all channels that search. One round trip.

        Raises:
            ConfigError: the filter can't be read, or the vector has another length than the embeddings.
            TimeoutError: the database didn't answer in time.
        """
        asked = self._search(request)
        return self._scored(rows(self.server, asked, self.timeout_seconds)) if asked else []

    async def asearch(self, request: SearchChunks) -> list[Scored]:
        """The same, awaited."""
        asked = self._search(request)
        return self._scored(await arows(self.server, asked, self.timeout_seconds)) if asked else []

    def _terms(self, request: FindTerms) -> Asked:
        return terms.statement(self.home, request, self.fields.language), {}

    def _search(self, request: SearchChunks) -> Asked | None:
        self._check_vector(request.vector)
        condition = condition_of(self.home, *(self.filters or ()), request.filter)
        shape, bound = search.asked(request, filtered=condition is not None, field_weights=self.field_weights)
        made = self._searches.get(shape) if condition is None else None
        if made is None:
            made = search.statement(self.home, shape, condition, columns_of(self.home), self.length_weight)
        if made is not None and condition is None:
            self._searches[shape] = made
        return None if made is None else (made, bound)

    @cached_property
    def _searches(self) -> dict[Shape, Select[Any]]:
        """The statements without a filter, which take longer to build than to send."""
        return {}

    def _check_vector(self, vector: Sequence[float] | None) -> None:
        if vector is None:
            return
        if self.home.dimensions is not None and len(vector) != self.home.dimensions:
            raise ConfigError("embed", f"of {self.home.dimensions} dimensions, as the table is", len(vector))
        if not all(map(math.isfinite, vector)):
            raise ConfigError("embed", "a function that gives finite numbers", vector)

    def _scored(self, found: Iterable[Row[Any]]) -> list[Scored]:
        return [
            Scored(
                chunk_in(row, self.home, self.keys, self.chunk_of),
                _number(similarity),
                keyword_score,
                tuple(matched or ()),
            )
            for *row, similarity, keyword_score, matched in found
        ]

    # Neighbours

    @property
    def holds_filter(self) -> bool | None:
        """True if neighbours obey the caller's filter, as `Store` describes it; None before `under` has said it."""
        return None if self.filters is None else bool(self.filters)

    @property
    def finds_offsets(self) -> bool:
        """True if chunks without an index are found by their offsets; LlamaIndex keeps these where no statement is."""
        return self.home.dialect != "llamaindex"

    @property
    def remedies(self) -> Mapping[str, str]:
        """The lines to write where neighbours can't be found."""
        if self.home.is_own:
            return {"place": "give each Chunk its index, and call index.add(chunks)"}
        return dict.fromkeys(("place", "answer"), "call number_stored_chunks(vectorstore) once")

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The chunks that exist among `refs` and pass the filter, in any order. One round trip.

        Raises:
            TimeoutError: the database didn't answer in time.
        """
        refs = storable(refs)
        return (
            self._fetched(rows(self.server, asked_of(self._neighbours, refs, self.home), self.timeout_seconds))
            if refs
            else []
        )

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The same, awaited."""
        refs = storable(refs)
        return (
            self._fetched(await arows(self.server, asked_of(self._neighbours, refs, self.home), self.timeout_seconds))
            if refs
            else []
        )

    @cached_property
    def _neighbours(self) -> ChunkTable:
        return neighbours_in(self.home, self.keys, condition_of(self.home, *(self.filters or ())))

    def _fetched(self, found: Iterable[Row[Any]]) -> list[Chunk]:
        return [chunk_in(row, self.home, self.keys, self.chunk_of) for row in found]

    # The table itself

    def add(
        self,
        chunks: Iterable[Chunk],
        vectors: Iterable[Sequence[float]] | None = None,
        embed: Any = None,
        *,
        progress: bool = True,
    ) -> Added:
        """Store `chunks`: those that are there as they are stay, others of the same documents are deleted.

        Batches commit each, so a run that was ended goes on where it was when it is started again. The first large one
        ends with an index of the vectors and statistics.

        Args:
            chunks: of whole documents, each with an id of its own.
            vectors: one for each chunk. None takes `chunk.vector`, or else what `embed` makes of the text.
            embed: a function from a list of texts to one vector for each, or an object with `embed_documents`. It gets
                the texts of chunks alone that aren't stored. Without vectors, chunks are found by words.
            progress: show a bar, if tqdm or rich is installed.

        Raises:
            ConfigError: the table is a framework's, which writes to it itself; vectors of another length.
            InputError: a chunk with what PostgreSQL can't hold.
        """
        if not self.home.is_own:
            raise ConfigError(
                "add", "for a table that PostgresIndex.create made; call the vector store's own", "attached"
            )
        total = len(chunks) if isinstance(chunks, Sized) else None
        told, done = progress_bar(total) if progress else (_nothing, _nothing)
        with connected(self.server) as connection:
            try:
                report = ingest.add(connection, self.home, chunks, vectors, ingest.embedding(embed), told)
            finally:
                done()
            making.settle(connection, self.home, report.added + report.deleted)
        return report

    def check(self, *, sample: int = 50, limit: int = 20, seed: int = 0) -> Health:
        """Measure the index on its own table: recall of HNSW, chunks without words, statistics, indexes.

        Args:
            sample: how many of the chunks' own vectors are searched for, exactly and by the index. An exact search
                reads the whole table.
            limit: how many nearest chunks of each are compared.
            seed: of the choice of chunks.

        Raises:
            ConfigError: `sample` or `limit` is below 1.
        """
        with connected(self.server) as connection:
            found = described(connection, self.home.schema, self.home.name)
            return health.measured(connection, self.home, found, sample=sample, limit=limit, seed=seed)

    def refresh(self) -> None:
        """Bring statistics and the table of words up to date, after others have written many chunks."""
        with connected(self.server) as connection:
            making.refresh(connection, self.home)


def _nothing(*_: Any) -> None:
    """No progress bar."""


def _number(similarity: Any) -> float | None:
    """A cosine; that of a vector without a length, which is none, as 0."""
    return None if similarity is None else 0.0 if math.isnan(similarity) else float(similarity)
