"""A table of chunks and its upkeep: written, measured, brought up to date."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ctxassembly.concurrency import in_thread
from ctxassembly.data.chunks import Chunk
from ctxassembly.enrichment.enrich import progress_bar
from ctxassembly.errors import ConfigError
from ctxassembly.stores.postgres import health, ingest, making
from ctxassembly.stores.postgres.engines import Server, settings_of
from ctxassembly.stores.postgres.health import Health
from ctxassembly.stores.postgres.ingest import Added
from ctxassembly.stores.postgres.schema import full_name
from ctxassembly.stores.postgres.table import IndexedTable
from ctxassembly.stores.postgres.upkeep import upkeep


@dataclass(frozen=True)
class KeptTable:
    """A table of chunks on a server.

    What is long has an awaited form, which runs in a thread: it blocks no event loop, and if its caller is cancelled it
    goes on to its end.
    """

    server: Server = field(repr=False)
    home: IndexedTable
    timeout_seconds: float = field(default=10.0, kw_only=True)
    """For each statement of a query, the wait for a connection included. What is late raises TimeoutError, whatever the
    server does; it is cancelled there too, and its connection dropped. `create`, `attach`, `add`, `refresh`, `check`
    and enrichment go on as long as the server works for them. They raise TimeoutError if it doesn't answer for so long,
    or if somebody holds a lock for so long; the message names who."""

    def add(
        self,
        chunks: Iterable[Chunk],
        vectors: Iterable[Sequence[float]] | None = None,
        embed: Any = None,
        *,
        progress: bool = True,
    ) -> Added:
        """Store `chunks`: those that are there as they are stay, others of the same documents are deleted.

        Other vectors, or an `embed` whose model has another name, replace the vectors that are stored. A plain function
        has no name: what is stored is then kept while text and metadata are the same.

        Batches commit each, so a run that was ended goes on where it was when it is started again. The first large one
        ends with an index of the vectors and statistics.

        Args:
            chunks: of whole documents, each with an id of its own.
            vectors: one for each chunk. None takes `chunk.vector`, or else what `embed` makes of the text.
            embed: a function from a list of texts to one vector for each, or an object with `embed_documents`. It gets
                the texts of chunks alone that aren't stored. Without vectors, chunks are found by words.
            progress: show a bar, if tqdm or rich is installed.

        Raises:
            ConfigError: the table is a framework's, which writes to it itself; vectors of another length; an id that
                a chunk of another document has.
            InputError: a chunk with what PostgreSQL can't hold.
            StoreError: another run wrote other chunks of the same document at the same time; one run's stand whole.
        """
        if not self.home.is_own:
            raise ConfigError(
                "add", "for a table that PostgresIndex.create made; call the vector store's own", "attached"
            )
        total = len(chunks) if isinstance(chunks, Sized) else None
        told, done = progress_bar(total) if progress else (_nothing, _nothing)
        with upkeep(self.server, self.timeout_seconds) as work:
            try:
                report = ingest.add(work, self.home, chunks, vectors, embed, told)
            finally:
                done()
            making.settle(work, self.home, report.added + report.deleted)
        return report

    async def aadd(
        self,
        chunks: Iterable[Chunk],
        vectors: Iterable[Sequence[float]] | None = None,
        embed: Any = None,
        *,
        progress: bool = True,
    ) -> Added:
        """The same, awaited. `embed` is called in the thread, so it is the sync one."""
        return await in_thread(partial(self.add, vectors=vectors, embed=embed, progress=progress))(chunks)

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
        with upkeep(self.server, self.timeout_seconds) as work:
            found = work.described(self.home)

            def measured() -> Health:
                work.connection.execute(*settings_of(self.server))
                return health.measured(work.connection, self.home, found, sample=sample, limit=limit, seed=seed)

            return work.patiently(full_name(self.home), measured)

    async def acheck(self, *, sample: int = 50, limit: int = 20, seed: int = 0) -> Health:
        """The same, awaited."""

        def check(seed: int) -> Health:
            return self.check(sample=sample, limit=limit, seed=seed)

        return await in_thread(check)(seed)

    def refresh(self) -> None:
        """Bring statistics and the table of words up to date, after others have written many chunks."""
        with upkeep(self.server, self.timeout_seconds) as work:
            making.refresh(work, self.home)

    async def arefresh(self) -> None:
        """The same, awaited."""
        await in_thread(KeptTable.refresh)(self)


def _nothing(*_: Any) -> None:
    """No progress bar."""
