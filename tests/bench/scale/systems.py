"""What is measured: our index, and two other ways to search the same table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from langchain_postgres import PGVectorStore
from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig
from sqlalchemy import Engine, text

from ctxassembly import RetrievalConfig, retrieve
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.retrieval import QueryVocabulary, ScoredChunk
from ctxassembly.stores.postgres import PostgresIndex
from scale.rows import Asked

LIMIT = 20
WORDS = "ctxassembly_tsv"
PATIENCE = 600.0
"""Seconds for a statement of any of them: what is slow is to be measured, not given up."""
T = TypeVar("T")
System = Callable[[Asked], Sequence[str]]
"""A function from a question to the ids of chunks, best first."""
_CONFIG = RetrievalConfig(limit=LIMIT, rescue="off", timeout_seconds=PATIENCE, on_search_error="raise")
OURS: Mapping[str, tuple[RetrievalConfig, bool | str]] = {
    "vector": (replace(_CONFIG, strategy="vector"), False),
    "keyword": (replace(_CONFIG, strategy="keyword"), False),
    "both, filled in, fused": (_CONFIG, False),
    "the same with rescue": (replace(_CONFIG, rescue="last"), False),
    "the same, filter of 10 %": (replace(_CONFIG, rescue="last"), "tenth"),
    "the same, filter of .3 %": (replace(_CONFIG, rescue="last"), "ward"),
}
"""Settings of ours, each with the column that is filtered by, if one is."""
RESCUING = "the same with rescue"
FILTERS = {"tenth": "t3", "ward": "w7"}
PEERS = ("OR, ts_rank_cd", "langchain-postgres, hybrid")


class Watched:
    """An index whose calls are timed, each by its kind."""

    def __init__(self, index: PostgresIndex, clock: Callable[[], float]) -> None:
        self._index, self._clock = index, clock
        self.calls: list[tuple[str, float]] = []
        """The kind of each call and its milliseconds, in their order."""

    def find_terms(self, request: FindTerms) -> QueryVocabulary:
        return self._timed("find_terms", lambda: self._index.find_terms(request))

    def search(self, request: SearchChunks) -> list[ScoredChunk]:
        kind = "rescue" if any(name == "search" for name, _ in self.calls) else "search"
        return self._timed(kind, lambda: self._index.search(request))

    def with_filter(self, filter: Any) -> Watched:  # noqa: A002 - as the index calls it
        return Watched(self._index.with_filter(filter), self._clock)

    def _timed(self, kind: str, run: Callable[[], T]) -> T:
        began = self._clock()
        answer = run()
        self.calls.append((kind, (self._clock() - began) * 1000))
        return answer


def ours(index: PostgresIndex | Watched, name: str) -> System:
    """Our retrieval by its settings of that name."""
    config, filtered = OURS[name]
    given = {str(filtered): FILTERS[str(filtered)]} if filtered else None

    def ask(question: Asked) -> list[str]:
        found = retrieve(question.text, config, index=index, embed=lambda _: question.vector, filter=given)
        return [hit.chunk.id for hit in found.hits]

    return ask


def or_ranked(engine: Engine, table: str) -> System:
    """What is written by hand: all words joined by OR, ranked by `ts_rank_cd`."""
    statement = text(
        f"SELECT id FROM {table}, "
        "CAST(replace(CAST(plainto_tsquery('simple', :text) AS text), ' & ', ' | ') AS tsquery) AS asked "
        f"WHERE {WORDS} @@ asked ORDER BY ts_rank_cd({WORDS}, asked) DESC LIMIT {LIMIT}"
    )

    def ask(question: Asked) -> list[str]:
        with engine.connect() as connection:
            return [str(id_) for (id_,) in connection.execute(statement, {"text": question.text})]

    return ask


def hybrid(store: PGVectorStore) -> System:
    """langchain-postgres' own hybrid search at its defaults but for the number of chunks, on the same columns.

    Its half for words gets our column of words, which is faster to rank than one of its own.
    """

    def ask(question: Asked) -> list[str]:
        config = HybridSearchConfig(  # a config keeps the first question that it sees
            tsv_column=WORDS,
            tsv_lang="pg_catalog.simple",
            fts_query=question.text,
            primary_top_k=LIMIT,
            secondary_top_k=LIMIT,
        )
        found = store.similarity_search_by_vector(question.vector, k=LIMIT, hybrid_search_config=config)
        return [str(document.id) for document in found]

    return ask
