"""Chunks and vectors that the tests of `PostgresIndex` share."""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import event

from ctxassembly import Chunk
from ctxassembly.stores.postgres import PostgresIndex
from ctxassembly.stores.postgres.connection import get_engine

TEXTS = (
    "Ferritin is measured in the morning, before breakfast.",
    "Drink water until two hours before the examination.",
    "Children with kinderepilepsie are seen by the paediatric neurologist.",
    "The appointment desk is open on weekdays, and the desk has a wheelchair.",
    "Iron is stored as ferritin; ferritin that is low means that iron is low.",
)


def execute(url: str, *statements: str) -> None:
    with psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def rows_of(url: str, statement: str) -> list[Any]:
    with psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True, prepare_threshold=None) as connection:
        return connection.execute(statement.encode()).fetchall()


def chunks(texts: Sequence[str] = TEXTS, document_id: str = "lab", **metadata: Any) -> list[Chunk]:
    return [
        Chunk(f"{document_id}#{at}", document_id, text, at, metadata={"n": at, **metadata})
        for at, text in enumerate(texts)
    ]


def embed(texts: list[str], dimensions: int = 16) -> list[list[float]]:
    """Hashed bags of words: texts that share words are near each other."""
    found = []
    for text in texts:
        vector = [0.01] * dimensions
        for word in text.lower().split():
            vector[zlib.crc32(word.strip(",.;?").encode()) % dimensions] += 1.0
        length = math.hypot(*vector)
        found.append([value / length for value in vector])
    return found


def embed_query(text: str) -> list[float]:
    return embed([text])[0]


def vectors(count: int, dimensions: int, seed: int = 7) -> list[list[float]]:
    numbers = random.Random(seed)
    return [[numbers.gauss(0, 1) for _ in range(dimensions)] for _ in range(count)]


@contextmanager
def statements(index: PostgresIndex) -> Iterator[list[str]]:
    """What goes over the wire for an index."""
    engine = get_engine(index.server, index.timeout_seconds)
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    yield seen
    event.remove(engine, "before_cursor_execute", note)
