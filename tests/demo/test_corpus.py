from __future__ import annotations

import pydoc_data.topics

import pytest
from langchain_core.documents import Document

from demo.corpus import load_chunks


@pytest.fixture(scope="module")
def chunks() -> list[Document]:
    return load_chunks()


def test_a_chunk_is_the_slice_of_its_document_that_its_offset_says(chunks: list[Document]) -> None:
    for chunk in chunks:
        text, start = pydoc_data.topics.topics[chunk.metadata["document_id"]], chunk.metadata["start_index"]
        assert text[start : start + len(chunk.page_content)] == chunk.page_content
