"""The numbering of rows in PostgreSQL against `number_chunks`: the same places, the same short overlaps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
import sqlalchemy as sa
from langchain_text_splitters import RecursiveCharacterTextSplitter
from sqlalchemy.dialects.postgresql import JSONB

from ctxassembly import Chunk, MetadataKeys
from ctxassembly.adapters.numbering import number_chunks
from ctxassembly.stores.framework_rows import LANGCHAIN
from ctxassembly.stores.postgres.ingest import TableRecords, number_rows
from ctxassembly.stores.postgres.table import build_table

ALPHABETS = ("a", "ab ", "a- ", "aB1_é. ", "羊毛费a。", "นี้กa ", "ひカ々、x", "한국 a", "हिन् ", "𠀀ab ", "²½٣ x")
PARTICULARS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("page", (1, 1.0, 2, "1", True, None)),
    ("pageNumber", (1, 2)),
    ("@search.Section Title", ("A", "B")),
    ("dl_meta.headings", ("A", "B")),
    ("headings", (["A"], ["B"])),
    ("pages", (1, 2)),
    ("h2", ("A", 3)),
)
TABLE = sa.Table(
    "given", sa.MetaData(), sa.Column("id", sa.Text), sa.Column("document", sa.Text), sa.Column("cmetadata", JSONB)
)


def recorded_in_postgres(url: str, chunks: Iterable[Chunk]) -> dict[tuple[str, int | None], Any]:
    """The recorded overlaps by document and index, after the rows of `chunks` were numbered."""
    rows = [
        {
            "id": f"{at}",
            "document": chunk.text,
            "cmetadata": {
                **chunk.metadata,
                "source": chunk.document_id,
                "chunk_index": chunk.index,
                **({} if chunk.start is None else {"start_index": chunk.start}),
            },
        }
        for at, chunk in enumerate(chunks)
    ]
    keys = MetadataKeys()
    table = build_table("given", None, {"id": None, "document": None, "cmetadata": JSONB})
    engine = sa.create_engine(url)
    try:
        with engine.begin() as connection:
            TABLE.create(connection)
            connection.execute(TABLE.insert(), rows)
            number_rows(TableRecords(connection, table, "id", "document", "cmetadata"), LANGCHAIN, keys)
            found = connection.execute(sa.select(TABLE.c.cmetadata)).scalars().all()
    finally:
        engine.dispose()
    return {(each["document_id"], each["chunk_index"]): each.get("overlap_chars") for each in found}


def recorded_in_python(chunks: Iterable[Chunk]) -> dict[tuple[str, int | None], Any]:
    return {(each.document_id, each.index): each.metadata.get("overlap_chars") for each in number_chunks([*chunks])}


ENGLISH = " ".join(f"In year {year} the weavers of the valley paid {year * 7} bales of wool." for year in range(40))
CHINESE = "".join(f"第{year}年山谷里的织工付了{year * 7}捆羊毛，其余的钱用来买面包和盐。" for year in range(40))


@pytest.mark.parametrize("overlap", [0, 3, 10, 19, 40])
@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_what_a_splitter_makes_is_recorded_alike(database_url: str, text: str, overlap: int) -> None:
    splitter = RecursiveCharacterTextSplitter(chunk_size=70, chunk_overlap=overlap)
    chunks = [Chunk("", "a.txt", piece, at) for at, piece in enumerate(splitter.split_text(text))]
    expected = recorded_in_python(chunks)
    assert recorded_in_postgres(database_url, chunks) == expected
    assert any(expected.values()) is (0 < overlap < 40)


def test_metadata_that_are_null_become_an_object(database_url: str) -> None:
    chunks = sa.Table("in_columns", sa.MetaData(), *(sa.Column(name, sa.Text) for name in ("id", "source", "content")))
    chunks.append_column(sa.Column("cmetadata", JSONB))
    table = build_table("in_columns", None, {"id": None, "source": None, "content": None, "cmetadata": JSONB})
    engine = sa.create_engine(database_url)
    with engine.begin() as connection:
        chunks.create(connection)
        connection.execute(chunks.insert(), {"id": "a", "source": "a.txt", "content": "x", "cmetadata": JSONB.NULL})
        records = TableRecords(connection, table, "id", "content", "cmetadata", frozenset({"source"}))
        number_rows(records, LANGCHAIN, MetadataKeys())
        assert connection.scalar(sa.select(chunks.c.cmetadata)) == {"document_id": "a.txt", "chunk_index": 0}
    engine.dispose()
