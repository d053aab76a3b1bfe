from __future__ import annotations

import pydoc_data.topics
from itertools import pairwise

import pytest
from langchain_core.documents import Document

from ctxassembly.tokens.tiktoken_files import load_encoding
from demo.corpus import CHUNK_TOKENS, ENCODING, OVERLAP_TOKENS, load_chunks


@pytest.fixture(scope="module")
def chunks() -> list[Document]:
    return load_chunks()


def tokens(text: str) -> int:
    return len(load_encoding(ENCODING).encode(text, disallowed_special=()))


def test_a_chunk_is_the_slice_of_its_document_that_its_offset_says(chunks: list[Document]) -> None:
    for chunk in chunks:
        text, start = pydoc_data.topics.topics[chunk.metadata["document_id"]], chunk.metadata["start_index"]
        assert text[start : start + len(chunk.page_content)] == chunk.page_content


def test_chunks_are_no_longer_and_overlap_no_more_than_asked(chunks: list[Document]) -> None:
    assert max(tokens(chunk.page_content) for chunk in chunks) <= CHUNK_TOKENS
    overlaps = []
    for before, after in pairwise(chunks):
        if before.metadata["document_id"] == after.metadata["document_id"]:
            text, start = pydoc_data.topics.topics[after.metadata["document_id"]], after.metadata["start_index"]
            end = before.metadata["start_index"] + len(before.page_content)
            overlaps.append(text[start:end])
            assert not text[end:start].strip()
    assert 0 < max(tokens(overlap) for overlap in overlaps) <= OVERLAP_TOKENS
