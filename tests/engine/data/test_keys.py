from __future__ import annotations

from typing import Any

import pytest

from ctxassembly import MetadataKeys
from ctxassembly.data.metadata_keys import get_path
from ctxassembly.errors import ConfigError


@pytest.mark.parametrize(
    ("rule", "metadata", "particular", "value"),
    [
        ("document_id | ref_doc_id", {"ref_doc_id": "A"}, "document_id", "A"),
        ("document_id | ref_doc_id", {"ref_doc_id": "B", "document_id": "A"}, "document_id", "A"),
        ("chunk_index | index", {"index": 3}, "index", 3),
        ("source | file_name | source_path", {"source_path": "c", "file_name": "b"}, "source", "b"),
        ("page | page_number", {"page_number": 0}, "page", 0),
        ("the printed label before the number that counts from 0", {"page": 2, "page_label": "3"}, "page", "3"),
        ("rerank_score | relevance_score | score: the reranker's first", {"score": 1, "rerank_score": 2}, "score", 2),
        ("the first one present and not None wins", {"source": None, "file_name": "b"}, "source", "b"),
        ("None if no key holds one", {"other": 1}, "source", None),
    ],
)
def test_the_keys_that_are_read(rule: str, metadata: dict[str, Any], particular: str, value: Any):
    assert MetadataKeys().read(metadata, particular) == value


@pytest.mark.parametrize(
    ("rule", "metadata", "key", "value"),
    [
        ("a plain key", {"a": 1}, "a", 1),
        ("a dotted path into nested metadata", {"a": {"b": {"c": 1}}}, "a.b.c", 1),
        ("a key that itself contains the dot is found first", {"a.b": 1, "a": {"b": 2}}, "a.b", 1),
        ("a dotted key further down", {"a": {"b.c": 1}}, "a.b.c", 1),
        ("a path through something that is no mapping", {"a": "text"}, "a.b", None),
        ("a path that ends early", {"a": {}}, "a.b", None),
        ("nothing", {}, "a", None),
    ],
)
def test_dotted_keys(rule: str, metadata: dict[str, Any], key: str, value: Any):
    assert get_path(metadata, key) == value


def test_every_key_name_can_be_set():
    keys = MetadataKeys(page="chunk_metadata.bladzijde", source=("bestand", "naam"))
    assert keys.read({"chunk_metadata": {"bladzijde": 3}}, "page") == 3
    assert keys.read({"naam": "gids.pdf"}, "source") == "gids.pdf"
    assert keys.read({"source": "gids.pdf"}, "source") is None


@pytest.mark.parametrize("value", ["", (), ("",), ["page"], None, 7, ("page", 7)])
def test_a_wrong_key_is_an_error(value: Any):
    with pytest.raises(ConfigError) as caught:
        MetadataKeys(page=value)
    assert str(caught.value).startswith("keys.page must be a key or a non-empty tuple of keys, got ")
