from __future__ import annotations

import pytest
from langchain_core.documents import Document
from rich.console import Console
from sqlalchemy import URL, make_url

from demo.embedding import SentenceEncoder
from demo.store import DatabaseError, as_psycopg, vector_store


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg", "postgresql+asyncpg"])
def test_any_postgres_url_will_do(scheme: str) -> None:
    url = as_psycopg(f"{scheme}://me:secret@db.example/books?sslmode=disable")
    assert url.render_as_string(hide_password=False) == (
        "postgresql+psycopg://me:secret@db.example/books?sslmode=disable"
    )


@pytest.mark.parametrize("wrong", ["mysql://me:secret@db.example/books", "books", "secret@:::/"])
def test_any_other_url_is_an_error_without_the_password(wrong: str) -> None:
    with pytest.raises(DatabaseError, match=r"DATABASE_URL must be.* postgresql://") as raised:
        as_psycopg(wrong)
    assert "secret" not in str(raised.value)


def test_a_database_out_of_reach_is_one_clear_line(chunks: list[Document], console: Console) -> None:
    url = make_url("postgresql+psycopg://me:secret@127.0.0.1:1/books")
    with pytest.raises(DatabaseError) as raised, vector_store(url, chunks, console):
        pass
    message = str(raised.value)
    assert message.startswith("The database postgresql+psycopg://me:***@127.0.0.1:1/books can't be used: ")
    assert "refused" in message
    assert "\n" not in message


def test_every_chunk_is_stored_under_its_id_with_its_place(url: URL, chunks: list[Document], console: Console) -> None:
    with vector_store(url, chunks, console) as filled:
        found = filled.get_by_ids([str(chunk.id) for chunk in chunks])
    assert sorted(found, key=lambda each: str(each.id)) == sorted(chunks, key=lambda each: str(each.id))


def test_a_filled_store_is_used_again(
    url: URL, chunks: list[Document], console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    with vector_store(url, chunks, console):
        pass

    def embeds(self: SentenceEncoder, texts: list[str]) -> list[list[float]]:
        raise AssertionError("the chunks are there already")

    monkeypatch.setattr(SentenceEncoder, "embed_documents", embeds)
    with vector_store(url, chunks, console) as filled:
        assert len(filled.get_by_ids([str(chunk.id) for chunk in chunks])) == len(chunks)
