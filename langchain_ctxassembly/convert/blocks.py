"""LangChain documents -> hits, with the chunks of our own blocks in their place."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.documents import Document

from ctxassembly.data.chunks import Hit
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.integrations.blocks import Given, Read, read
from langchain_ctxassembly.convert.documents import hit_from


def read_documents(documents: Sequence[Document | Hit], keys: MetadataKeys) -> Read:
    """The hits of `documents`, some of which may be hits, and the supplement of an assembly of ours among them."""
    return read(
        [Given(one, {}) if isinstance(one, Hit) else Given(hit_from(one, keys), one.metadata) for one in documents],
        keys,
    )
