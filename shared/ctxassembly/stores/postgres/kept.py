"""A table of chunks and its upkeep: written, measured, brought up to date."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ctxassembly.calls import in_thread
from ctxassembly.data.chunks import Chunk
from ctxassembly.drivers.progress import progress_bar
from ctxassembly.errors import ConfigError
from ctxassembly.stores.postgres import health, ingest, making
from ctxassembly.stores.postgres.catalog import connected, described
from ctxassembly.stores.postgres.engines import Server
from ctxassembly.stores.postgres.health import Health
from ctxassembly.stores.postgres.ingest import Added
from ctxassembly.stores.postgres.table import IndexedTable


@dataclass(frozen=True)
class KeptTable:
    """A table of chunks on a server.

    What is long has an awaited form, which runs in a thread: it blocks no event loop, and if its caller is cancelled it
    goes on to its end.
    """

    server: Server = field(repr=False)
    home: IndexedTable

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
        with connected(self.server) as connection:
            try:
                report = ingest.add(connection, self.home, chunks, vectors, embed, told)
            finally:
                done()
            making.settle(connection, self.home, report.added + report.deleted)
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
        with connected(self.server) as connection:
            found = described(connection, self.home.schema, self.home.name)
            return health.measured(connection, self.home, found, sample=sample, limit=limit, seed=seed)

    async def acheck(self, *, sample: int = 50, limit: int = 20, seed: int = 0) -> Health:
        """The same, awaited."""

        def check(seed: int) -> Health:
            return self.check(sample=sample, limit=limit, seed=seed)

        return await in_thread(check)(seed)

    def refresh(self) -> None:
        """Bring statistics and the table of words up to date, after others have written many chunks."""
        with connected(self.server) as connection:
            making.refresh(connection, self.home)

    async def arefresh(self) -> None:
        """The same, awaited."""
        await in_thread(KeptTable.refresh)(self)


def _nothing(*_: Any) -> None:
    """No progress bar."""
