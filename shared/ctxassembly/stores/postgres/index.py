"""`PostgresIndex`: a table of chunks, searched by words and vectors, and asked for neighbours."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, overload

from sqlalchemy import ColumnElement, Row

from ctxassembly.data.checks import check_int
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.keys import MetadataKeys
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.searched import Scored, Vocabulary
from ctxassembly.errors import ConfigError
from ctxassembly.stores.postgres import attached, health, ingest, neighbours, search, terms
from ctxassembly.stores.postgres.catalog import Described, connected, described, execute
from ctxassembly.stores.postgres.chunk_table import ChunkTable, storable
from ctxassembly.stores.postgres.engines import Server, arows, rows, server_url
from ctxassembly.stores.postgres.filters import condition_of
from ctxassembly.stores.postgres.health import Health
from ctxassembly.stores.postgres.ingest import Added
from ctxassembly.stores.postgres.schema import (
    Fields,
    Plan,
    Step,
    analysed,
    checked,
    full_name,
    lexemes_made,
    lexemes_refreshed,
    lists_emptied,
    new_table,
    shares_known,
    vectors_indexed,
)
from ctxassembly.stores.postgres.table import MOST_INDEXED, OWN_COLUMNS, IndexedTable
from ctxassembly.stores.rows import Asked

_ANALYSED_AT = 10
"""Statistics are made anew once a tenth of the rows has changed, as autovacuum does it a minute later."""
ToChunk = Callable[[Any, str, Mapping[str, Any]], Chunk]
"""A function from id, text and metadata of a row to its chunk."""


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

    finds_offsets = True

    server: Server = field(repr=False)
    home: IndexedTable
    fields: Fields
    _: KW_ONLY
    filters: tuple[Any, ...] | None = None
    """What neighbours, and hits beside the filter of their request, have to satisfy. None: nobody has said what the
    caller's filter is. See `under`."""
    keys: MetadataKeys = field(default_factory=MetadataKeys)
    field_weights: tuple[float, float] = (1.0, 1.0)
    """What an occurrence in the title and in the questions weighs, beside 1 in the text, 0 to 1."""
    length_weight: float = 0.0
    """How far the length of a chunk lowers its keyword score, 0 to 1. 0 is best for chunks of like size; .6 for those
    of very different ones, such as paragraphs."""
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
        check_int("dimensions", dimensions, 1, 16_000)
        fields = checked(Fields(language, title, questions))
        kind = "vector" if dimensions <= MOST_INDEXED["vector"] else "halfvec"
        home = IndexedTable(
            name=table,
            schema=schema,
            key="id",
            id="id",
            content="content",
            embedding="embedding",
            metadata="metadata",
            columns=OWN_COLUMNS,
            vector_type=kind,
            dimensions=dimensions,
            is_own=True,
        )
        server = _server(url, ef_search)
        with connected(server) as connection:
            extensions = _with_extensions(connection, home)
            home = replace(home, has_trigrams="pg_trgm" in extensions)
            found = described(connection, schema, table)
            _check_made_alike(home, found, fields)
            steps = list(new_table(home, fields)) if not found.exists else []
            steps += lexemes_made(home) if not found.has_lexemes else []
            execute(connection, steps, full_name(home))
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
        made while it is in use. A second run changes nothing.

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
        url, home = attached.located(vectorstore)
        server = _server(url, ef_search)
        with connected(server) as connection:
            found = described(connection, home.schema, home.name)
            home = attached.completed(home, found)
            _check_language(found, fields)
            plan = attached.missing(home, found, fields, keys, hnsw=hnsw)
            if dry_run:
                return plan
            if plan.steps and not found.is_owned:
                allowed = "one whose table this user owns; attach(..., dry_run=True) prints what its owner has to run"
                raise ConfigError("vectorstore", allowed, full_name(home))
            execute(connection, plan.steps, full_name(home))
        if not home.has_trigrams:
            _warn_of_no_near_words()
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
        made = search.statement(
            self.home,
            request,
            condition_of(self.home, *(self.filters or ()), request.filter),
            self._columns,
            search.Scoring(self.field_weights, self.length_weight),
        )
        return None if made is None else (made, {})

    def _check_vector(self, vector: Sequence[float] | None) -> None:
        if vector is None:
            return
        if self.home.dimensions is not None and len(vector) != self.home.dimensions:
            raise ConfigError("embed", f"of {self.home.dimensions} dimensions, as the table is", len(vector))
        if not all(map(math.isfinite, vector)):
            raise ConfigError("embed", "a function that gives finite numbers", vector)

    def _scored(self, found: Iterable[Row[Any]]) -> list[Scored]:
        return [
            Scored(self._chunk(row), _number(similarity), keyword_score, tuple(matched or ()))
            for *row, similarity, keyword_score, matched in found
        ]

    # Neighbours

    @property
    def holds_filter(self) -> bool | None:
        """How neighbours are held to the caller's filter, as `Store` describes it; None before `under` has said it."""
        return None if self.filters is None else bool(self.filters)

    @property
    def remedies(self) -> Mapping[str, str]:
        """What to write where neighbours can't be found."""
        if self.home.is_own:
            return {"place": "give each Chunk its index, and call index.add(chunks)"}
        return dict.fromkeys(("place", "answer"), "call number_stored_chunks(vectorstore) once")

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The chunks that exist among `refs` and pass the filter, in any order. One round trip.

        Raises:
            TimeoutError: the database didn't answer in time.
        """
        refs = storable(refs)
        return self._fetched(rows(self.server, self._refs(refs), self.timeout_seconds)) if refs else []

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The same, awaited."""
        refs = storable(refs)
        return self._fetched(await arows(self.server, self._refs(refs), self.timeout_seconds)) if refs else []

    @cached_property
    def _neighbours(self) -> ChunkTable:
        home, condition = self.home, condition_of(self.home, *(self.filters or ()))
        if home.is_own:
            return neighbours.of_own(home, condition)
        if home.dialect == "llamaindex":
            metadata = home.c[home.metadata]
            return neighbours.of_llamaindex(home.c[home.id], home.c[home.content], metadata, self.keys, condition)
        columns = tuple(home.columns)
        return neighbours.of_langchain(home.table, home.id, home.content, home.metadata, columns, self.keys, condition)

    def _refs(self, refs: Sequence[ChunkRef]) -> Asked:
        asked, bound = self._neighbours.asked(refs)
        if self.home.dialect == "llamaindex":
            documents = [*(ref.document_id for ref in refs), neighbours.NO_DOCUMENT]
            bound = {**bound, "among": list(dict.fromkeys(documents))}
        return asked, bound

    def _fetched(self, found: Iterable[Row[Any]]) -> list[Chunk]:
        return [self._chunk(row) for row in found]

    @cached_property
    def _columns(self) -> Sequence[ColumnElement[Any]]:
        """What a chunk is read from."""
        home = self.home
        if home.is_own:
            return [home.c[name] for name in neighbours.OWN]
        metadata = home.json() if home.metadata is None else home.c[home.metadata]
        return [home.c[home.id], home.c[home.content], metadata, *(home.c[name] for name in home.columns)]

    def _chunk(self, row: Sequence[Any]) -> Chunk:
        if self.home.is_own:
            id_, document_id, text, index, start, prev_id, next_id, metadata = row
            return Chunk(id_, document_id, text, index, start, prev_id, next_id, metadata)
        id_, text, metadata, *more = row
        metadata = {**(metadata or {}), **dict(zip(self.home.columns, more, strict=True))}
        if self.chunk_of is not None:
            return self.chunk_of(id_, text, metadata)
        of_store = attached.llamaindex_chunk if self.home.dialect == "llamaindex" else attached.langchain_chunk
        return of_store(id_, text, metadata, self.keys)

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
        told, done = ingest.progress_bar(total) if progress else (_nothing, _nothing)
        with connected(self.server) as connection:
            try:
                report = ingest.add(connection, self.home, chunks, vectors, ingest.embedding(embed), told)
            finally:
                done()
            execute(connection, self._afterwards(connection, report.added + report.deleted), full_name(self.home))
        return report

    def _afterwards(self, connection: Any, changed: int) -> list[Step]:
        """What to do after `changed` rows were written."""
        home, found = self.home, described(connection, self.home.schema, self.home.name)
        steps = [] if found.has_hnsw else list(vectors_indexed(home, concurrently=False))
        if steps:
            steps.insert(0, Step("SELECT set_config('maintenance_work_mem', '512MB', false)"))
            steps.append(Step("RESET maintenance_work_mem"))
        rows_known = connection.execute(
            "SELECT reltuples FROM pg_class WHERE oid = %s::regclass", (full_name(home),)
        ).fetchone()[0]
        if changed and changed * _ANALYSED_AT >= max(rows_known, 0):
            steps += [analysed(home), shares_known(home)]
        return [*steps, *lists_emptied(home)] if changed else steps

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
        steps = [analysed(self.home), *lexemes_refreshed(self.home)]
        with connected(self.server) as connection:
            execute(connection, steps, full_name(self.home))


def _nothing(*_: Any) -> None:
    """No progress bar."""


def _server(url: Any, ef_search: int) -> Server:
    check_int("ef_search", ef_search, 1, 1000)
    return Server(server_url(url), ef_search)


def _with_extensions(connection: Any, home: IndexedTable) -> frozenset[str]:
    """The extensions that there are, once those that are needed were created.

    Raises:
        ConfigError: there is no pgvector, and it can't be created.
    """
    from psycopg import errors

    def there() -> frozenset[str]:
        return described(connection, home.schema, home.name).extensions

    for name in ("vector", "pg_trgm"):
        if name in there():
            continue
        try:
            execute(connection, [Step(f"CREATE EXTENSION IF NOT EXISTS {name}")], "extensions")
        except (ConfigError, errors.FeatureNotSupported, errors.UndefinedFile, errors.InternalError) as error:
            if name == "vector":
                raise ConfigError("url", "of a database with pgvector: CREATE EXTENSION vector", str(error)) from error
            _warn_of_no_near_words()
    return there()


def _warn_of_no_near_words() -> None:
    warnings.warn(
        "there is no pg_trgm: words that no chunk has bring no near ones. CREATE EXTENSION pg_trgm adds it",
        UserWarning,
        stacklevel=3,
    )


def _check_language(found: Described, fields: Fields) -> None:
    if fields.language.rpartition(".")[2] not in found.languages and "." not in fields.language:
        known = ", ".join(sorted(found.languages))
        raise ConfigError("language", f"a text search configuration of this database ({known})", fields.language)


def _check_made_alike(home: IndexedTable, found: Described, fields: Fields) -> None:
    _check_language(found, fields)
    if not found.exists:
        return
    if found.types.keys() < {*neighbours.OWN, home.embedding, "content_hash"}:
        raise ConfigError("table", "a new one, or one that PostgresIndex.create made", home.name)
    made = (found.dimensions[home.embedding], found.words_of)
    if made != (home.dimensions, str(fields)):
        raise ConfigError(
            "dimensions, language, title and questions",
            f"those of the table that is there ({made[0]}, {made[1]})",
            f"{home.dimensions}, {fields}",
        )


def _number(similarity: Any) -> float | None:
    """A cosine; that of a vector without a length, which is none, as 0."""
    return None if similarity is None else 0.0 if math.isnan(similarity) else float(similarity)
