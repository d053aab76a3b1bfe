"""`PostgresIndex`: a table of chunks, searched by words and vectors, and asked for neighbors."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import KW_ONLY, dataclass, field, replace
from dataclasses import fields as dataclass_fields
from typing import Any, ClassVar, Literal, overload

from sqlalchemy import Row

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.retrieval import QueryVocabulary, ScoredChunk
from ctxassembly.data.validation import check_int, check_positive
from ctxassembly.errors import ConfigError
from ctxassembly.lazy import cached_property
from ctxassembly.runtime.progress import progress_bar
from ctxassembly.stores.ingest import IngestReport, documents_of, pair_vectors
from ctxassembly.stores.postgres import enrichment as notes
from ctxassembly.stores.postgres import ingest, maintenance, search
from ctxassembly.stores.postgres.connection import BoundStatement, Server, query_rows, server_url, settings_statement
from ctxassembly.stores.postgres.filters import build_condition
from ctxassembly.stores.postgres.lookup import ChunkTable, chunk_from_row, keep_requested, keep_storable, neighbor_table
from ctxassembly.stores.postgres.maintenance import Health, open_maintenance
from ctxassembly.stores.postgres.schema import (
    Plan,
    WordFields,
    attach_table,
    check_fields,
    complete_changes,
    create_table,
    locate_table,
    refresh,
)
from ctxassembly.stores.postgres.table import IndexedTable
from ctxassembly.stores.simple_words import QUESTION_KEYS


@dataclass(frozen=True)
class PostgresIndex:
    """An index over a table of chunks in PostgreSQL, as `create` and `attach` give it.

        index = PostgresIndex.create("postgresql://localhost/docs", dimensions=384)
        index.add(chunks, embed=embeddings)
        retrieve("When is ferritin measured?", index=index, embed=embeddings)

    A query is two statements: one for its words, one for the chunks. Both need no transaction, so they are two round
    trips. It is a store of neighbors, too: `index.with_filter(filter)` is the same index whose hits and neighbors
    have to pass the filter.

    On an event loop, call the long operations in a thread: `await asyncio.to_thread(index.add, chunks, vectors)`.
    """

    server: Server = field(repr=False)
    table: IndexedTable
    fields: WordFields
    _: KW_ONLY
    timeout_seconds: float = 10.0
    """The `statement_timeout` of a query. A server that doesn't keep it is given up a second later. The wait for a
    connection of the pool, and connecting (2 s at least), have the same limit each. `create`, `attach`, `add`,
    `refresh`, `check` and enrichment continue as long as the server works for them. They raise TimeoutError if it
    doesn't answer, or if a client holds a lock that has been idle for so long; the message names it."""
    filters: tuple[Any, ...] | None = None
    """The conditions on neighbors, and on hits in addition to the filter of their request. None: the caller's filter is
    unknown. See `with_filter`."""
    keys: MetadataKeys = field(default_factory=MetadataKeys)

    def __post_init__(self) -> None:
        check_positive("timeout_seconds", self.timeout_seconds)
        build_condition(self.table, *(self.filters or ()))

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the fields alone: statements can't be pickled, and another process rebuilds them."""
        return {one.name: getattr(self, one.name) for one in dataclass_fields(self)}

    @classmethod
    def create(
        cls,
        url: str,
        table: str = "chunks",
        *,
        dimensions: int = 384,
        language: str = "simple",
        schema: str = "public",
        partitions: int | None = None,
        title: str | None = "title",
        questions: str | tuple[str, ...] | None = QUESTION_KEYS,
        hnsw: bool = True,
        ef_search: int = 200,
        keys: MetadataKeys | None = None,
        timeout_seconds: float = 10.0,
    ) -> PostgresIndex:
        """Return an index over a table of its own, which is created if it doesn't exist.

        Args:
            url: of the database, for any driver; psycopg connects.
            table: its name.
            dimensions: of the embeddings. HNSW indexes up to 2,000 as they are, up to 4,000 in half precision.
            language: the text search configuration by which texts become words. "simple" keeps each as it is.
            schema: the schema of the table.
            partitions: into how many partitions a new table is divided, by a hash of the document, 2 to 1,000; None for
                none, or for what an existing table has.
            title: the metadata key of a title that is searched with the text; None for none.
            questions: the metadata key of questions that the chunk answers, or several, of which the first that it has
                counts; all keys may be dotted paths.
            hnsw: let `add` and `refresh` make an HNSW index of the vectors if there is none. Processes that load at
                once set it to False; `refresh` of another index, without it, then makes the index for all.
            ef_search: how many chunks an HNSW search looks at, at least: more of them find more, and take longer.
            keys: the metadata keys of titles by which others mention a document, and by which `enrich` names it to its
                model. `add` stores the titles under them: an assembly with other keys may find none.
            timeout_seconds: the deadline of each statement.

        Raises:
            ConfigError: a value out of range; a table of that name that was made otherwise; no pgvector, and no right
                to create it.
        """
        keys = MetadataKeys() if keys is None else keys
        fields = check_fields(WordFields(language, title, questions))
        check_positive("timeout_seconds", timeout_seconds)
        server = _make_server(url, ef_search)
        check_int("dimensions", dimensions, 1, 16_000)
        if partitions is not None:
            check_int("partitions", partitions, 2, 1_000)
        with open_maintenance(server, timeout_seconds) as work:
            indexed_table = create_table(work, table, schema, fields, dimensions, partitions)
        indexed_table = replace(indexed_table, wants_hnsw=hnsw)
        return cls(server, indexed_table, fields, keys=keys, timeout_seconds=timeout_seconds)

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
        questions: str | tuple[str, ...] | None = QUESTION_KEYS,
        hnsw: bool = True,
        ef_search: int = 200,
        keys: MetadataKeys | None = None,
        **settings: Any,
    ) -> PostgresIndex | Plan:
        """Return an index over the table of a LangChain or LlamaIndex PGVectorStore, adding what it lacks.

        It adds a generated column of words and its index, the index on document and chunk index, an HNSW index of the
        vectors, statistics, and a table of all words, readable by all users who may read the chunks.
        The first one rewrites the table, and blocks reads and writes meanwhile; the rest is made while the table is in
        use, HNSW the longest. A second run changes nothing. After the vector store has added many chunks, `refresh`
        learns their words: until then those are counted one by one, and aren't found as near ones. Documents are found
        by their titles once `number_stored_chunks` has stored these.

        The table's owner attaches first; then a user who may only read it can. With row-level security the words stay
        with the owner, since they come from all rows: other users find no similar words.

        Args:
            vectorstore: of langchain-postgres or llama-index-vector-stores-postgres. Connections are the index's own.
            dry_run: give back the statements, and execute none.
            language: the text search configuration by which texts become words. "simple" keeps each as it is.
            title: the metadata key of a title that is searched with the text; None for none.
            questions: the metadata key of questions that the chunk answers, or several, of which the first that it has
                counts; all keys may be dotted paths.
            hnsw: make an HNSW index if there is neither one nor a DiskANN index of pgvectorscale's. Without any, all
                vectors are compared, exactly.
            ef_search: how many chunks an HNSW search looks at, at least.
            keys: under which the metadata have document id, index and offset.
            settings: `timeout_seconds`.

        Raises:
            InputError: another kind of vector store.
            ConfigError: a table that can't be indexed, or that this user may not change.
        """
        keys = MetadataKeys() if keys is None else keys
        seconds = settings.get("timeout_seconds", cls.timeout_seconds)
        check_positive("timeout_seconds", seconds)
        fields = check_fields(WordFields(language, title, questions))
        url, table = locate_table(vectorstore)
        server = _make_server(url, ef_search)
        with open_maintenance(server, seconds) as work:
            table, plan = attach_table(work, table, fields, keys, hnsw=hnsw, dry_run=dry_run)
        if dry_run:
            return plan
        return cls(server, table, fields, keys=keys, **settings)

    def add(
        self,
        chunks: Iterable[Chunk],
        vectors: Iterable[Sequence[float]] | None = None,
        embed: Any = None,
        *,
        replace: bool = False,
        progress: bool = True,
    ) -> IngestReport:
        """Store `chunks`, all chunks of their documents. Unchanged ones are kept.

        A stored chunk of one of these documents that isn't among `chunks` is an error, since a part of a document looks
        like a document that became shorter. With `replace=True` it is deleted. If `chunks` are a sequence, such as a
        list, the error comes before anything is written, else at the end, when the given chunks are stored; nothing is
        deleted either way.

        Other vectors, or an `embed` whose model has another name, replace the vectors that are stored. A plain function
        has no name: what is stored is then kept while text and metadata are the same.

        Each batch is committed, so an interrupted run continues where it stopped when it is started again. The first
        large run ends by indexing the vectors and updating statistics.

        Args:
            chunks: of whole documents, each with an id of its own.
            vectors: one for each chunk. None takes `chunk.vector`, or else what `embed` makes of the text.
            embed: a function from a list of texts to one vector for each, or an object with `embed_documents`. It gets
                the texts of chunks alone that aren't stored. Without vectors, chunks are found by words.
            replace: delete stored chunks of these documents that aren't among `chunks`.
            progress: show a bar, if tqdm is installed.

        Raises:
            ConfigError: the table is a framework's, which writes to it itself; vectors of another length; an id that
                a chunk of another document has.
            InputError: a chunk with what PostgreSQL can't hold; without `replace`, a document with other stored chunks.
            StoreError: another run wrote other chunks of the same document at the same time; the chunks of one run are
                kept whole.
        """
        if not self.table.is_own:
            allowed = "for a table that PostgresIndex.create made; call the vector store's own"
            raise ConfigError("add", allowed, "attached")
        total = len(chunks) if isinstance(chunks, Sized) else None
        with open_maintenance(self.server, self.timeout_seconds) as work:
            with progress_bar(total, is_shown=progress) as on_batch:
                if isinstance(chunks, Sequence) and not replace:
                    ingest.check_whole(work, self.table, documents_of(chunks))
                pairs = pair_vectors(chunks, vectors)
                report = ingest.write_chunks(work, self.table, pairs, self.keys, embed, on_batch, replace=replace)
            complete_changes(work, self.table, report.added + report.deleted)
        return report

    def check(self, *, sample: int = 50, limit: int = 20) -> Health:
        """Measure the index on its own table: recall of HNSW, chunks without words, statistics, indexes.

        Args:
            sample: how many of the chunks' own vectors are searched for, exactly and by the index. An exact search
                reads the whole table.
            limit: how many nearest chunks of each are compared.

        Raises:
            ConfigError: `sample` or `limit` is below 1.
        """
        with open_maintenance(self.server, self.timeout_seconds) as work:
            info = work.describe_table(self.table)

            def measured() -> Health:
                work.connection.execute(*settings_statement(self.server))
                return maintenance.measure_health(work.connection, self.table, info, sample=sample, limit=limit)

            return work.retry_on_lock(self.table.full_name, measured)

    def refresh(self) -> None:
        """Bring statistics and the table of words up to date, after others have written many chunks.

        A table that `create` made gets the HNSW index that it lacks, too.
        """
        with open_maintenance(self.server, self.timeout_seconds) as work:
            refresh(work, self.table)

    def with_filter(self, filter: Any) -> PostgresIndex:
        """Return the same index whose hits and neighbors also have to pass `filter`. None: there is no filter.

        A filter is a mapping of metadata keys to values or operators ($eq $ne $gt $gte $lt $lte $in $nin $exists
        $between $like $ilike), with $and, $or and $not over such mappings; for a table of LlamaIndex's it may be
        MetadataFilters. A chunk without the key doesn't pass.

        Raises:
            ConfigError: it has another form.
        """
        return replace(self, filters=(*(self.filters or ()), *(() if filter is None else (filter,))))

    # Notes of a model

    def with_enrichment(self) -> PostgresIndex:
        """Return the same index over a table with columns for what `enrich` writes; missing columns are added.

        A table that `create` made has them. Another one is rewritten once, since the words of questions and contexts
        become words of its chunks: reads and writes are blocked meanwhile. Other writers continue as before. An
        index that was made earlier finds by the notes, too; to show summaries it has to be created again.

        Raises:
            ConfigError: this user doesn't own the table.
        """
        return replace(self, table=notes.add_note_columns(self.server, self.table, self.fields, self.timeout_seconds))

    @property
    def enrichment(self) -> notes.PostgresNotes:
        """The notes on its chunks, as `enrich` reads and writes them.

        Raises:
            ConfigError: the table has no columns for them.
        """
        condition = build_condition(self.table, *(self.filters or ()))
        return notes.PostgresNotes(self.server, self.table, self.keys, condition, self.timeout_seconds)

    # Retrieval

    def find_terms(self, request: FindTerms) -> QueryVocabulary:
        """Return the words of a query with their counts in the index. One round trip.

        Raises:
            ConfigError: the filter can't be read.
            TimeoutError: the database didn't answer in time.
        """
        condition = build_condition(self.table, *(self.filters or ()), request.filter)
        statement = search.terms_statement(self.table, request, self.fields.language, condition)
        return search.read_vocabulary(self._query((statement, {})))

    async def afind_terms(self, request: FindTerms) -> QueryVocabulary:
        """Async version of `find_terms`."""
        return await asyncio.to_thread(self.find_terms, request)

    def search(self, request: SearchChunks) -> list[ScoredChunk]:
        """Return the best chunks of each channel, each with its scores in all channels searched. One round trip.

        Raises:
            ConfigError: the filter can't be read, or the vector has another length than the embeddings.
            TimeoutError: the database didn't answer in time.
        """
        return [
            # The cosine of a vector of length 0 is undefined.
            ScoredChunk(
                chunk=chunk_from_row(row, self.table, self.keys),
                similarity=0.0 if similarity is not None and math.isnan(similarity) else similarity,
                keyword_score=keyword_score,
                terms=tuple(matched or ()),
            )
            for *row, similarity, keyword_score, matched in self._query(self._search_statement(request))
        ]

    async def asearch(self, request: SearchChunks) -> list[ScoredChunk]:
        """Async version of `search`."""
        return await asyncio.to_thread(self.search, request)

    def _search_statement(self, request: SearchChunks) -> BoundStatement | None:
        """Return the statement for a search; None if there is nothing to search by."""
        if request.vector is not None:
            search.check_vector(request.vector, self.table)
        condition = build_condition(self.table, *(self.filters or ()), request.filter)
        shape, bound = search.bind_search(request, is_filtered=condition is not None)
        # A statement without a filter takes longer to build than to send.
        build = search.search_statement if condition is not None else search.cached_search_statement
        statement = build(self.table, shape, condition)
        return None if statement is None else (statement, bound)

    def _query(self, statement: BoundStatement | None) -> list[Row[Any]]:
        return query_rows(self.server, statement, self.timeout_seconds) if statement else []

    # Neighbors

    finds_titles: ClassVar[bool] = True

    @property
    def holds_filter(self) -> bool | None:
        """True if neighbors obey the caller's filter, as `Store` describes it; None before `with_filter`."""
        return None if self.filters is None else bool(self.filters)

    @property
    def finds_offsets(self) -> bool:
        """True if chunks without an index are found by their offsets; LlamaIndex keeps these where no statement is."""
        return self.table.dialect != "llamaindex"

    @property
    def remedies(self) -> Mapping[str, str]:
        """The lines to write where neighbors can't be found."""
        if self.table.is_own:
            return {"place": "index.add(number_chunks(chunks))"}
        return dict.fromkeys(("place", "answer"), "number_stored_chunks(vectorstore)")

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Return the chunks that exist among `refs` and pass the filter, in any order. One round trip.

        Raises:
            TimeoutError: the database didn't answer in time.
        """
        rows = self._query(self._chunks_statement(refs))
        return keep_requested([chunk_from_row(row, self.table, self.keys) for row in rows], refs)

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Async version of `fetch`."""
        return await asyncio.to_thread(self.fetch, refs)

    @cached_property
    def _neighbor_table(self) -> ChunkTable:
        return neighbor_table(self.table, self.keys, build_condition(self.table, *(self.filters or ())))

    def _chunks_statement(self, refs: Sequence[ChunkRef]) -> BoundStatement | None:
        """Return the statement for `refs`; None if PostgreSQL can't store any of them."""
        refs = keep_storable(refs)
        return self._neighbor_table.statement_for(refs) if refs else None


def _make_server(url: Any, ef_search: int) -> Server:
    """Return the server of a URL for any driver."""
    check_int("ef_search", ef_search, 1, 1000)
    return Server(server_url(url), ef_search)
