"""Every public function and constructor suggests the parameter that was meant for a misspelt one."""

from __future__ import annotations

import asyncio
import inspect
import pickle
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

import ctxassembly
import langchain_ctxassembly
import llamaindex_ctxassembly
from ctxassembly import Chunk, ConfigError, Hit, assemble
from ctxassembly.stores.milvus import MilvusIndex
from ctxassembly.stores.postgres import PostgresIndex
from ctxassembly.stores.qdrant import QdrantIndex
from langchain_ctxassembly import ContextAssemblyRetriever

RECORDS = {
    *(
        "AnswerChain",
        "AnswerError",
        "Block",
        "Chunk",
        "ChunkRef",
        "Citation",
        "CitationTemplates",
        "ConfigError",
        "Context",
    ),
    *("ContextChannel", "Conversation", "Decision", "Heading", "History", "Hit", "Passage", "Retrieved", "Share"),
    *("Source", "Supplement", "Trace"),
    *("add_contexts", "contexts_in", "to_documents", "to_search_results", "uuid_of", "Labels"),
    *("MemoryConversation", "resolve_citations", "chat_model"),
}
"""Rows of data, made many times for each call, and functions whose arguments are positional."""


def public_callables() -> Iterator[Any]:
    for package in (ctxassembly, langchain_ctxassembly, llamaindex_ctxassembly):
        for name in package.__all__:
            value = getattr(package, name)
            is_error = isinstance(value, type) and issubclass(value, (Exception, Warning))
            if (
                name not in RECORDS
                and not name.endswith("Event")
                and (inspect.isroutine(value) or (isinstance(value, type) and not is_error))
            ):
                yield pytest.param(value, id=f"{package.__name__}.{name}")
    yield ContextAssemblyRetriever.from_vectorstore
    for index in (PostgresIndex, MilvusIndex, QdrantIndex):
        yield from (index.create, index.add)


@pytest.mark.parametrize("called", [*public_callables()])
def test_a_misspelt_parameter(called: Any) -> None:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = [one.name for one in inspect.signature(called).parameters.values() if one.kind in kinds]
    meant = max(names, key=len)
    call = partial(called, **{f"{meant}x": 5})
    with pytest.raises(ConfigError, match=rf"\) has no parameter '{meant}x'. Did you mean {meant}=5\?"):
        asyncio.run(call()) if inspect.iscoroutinefunction(called) else call()


@pytest.mark.parametrize("package", [ctxassembly, langchain_ctxassembly, llamaindex_ctxassembly])
def test_a_public_name_is_the_same_object_every_time(package: Any) -> None:
    assert all(getattr(package, name) is getattr(package, name) for name in package.__all__)


def test_what_is_given_by_name_is_passed_on() -> None:
    hit = Hit(Chunk("a", "a", "Rest."))
    assert assemble(hits=[hit]).text == assemble([hit]).text
    assert inspect.iscoroutinefunction(ctxassembly.aassemble)
    assert pickle.loads(pickle.dumps(assemble)) is assemble is ctxassembly.assemble
    assert list(inspect.signature(assemble).parameters)[:2] == ["hits", "config"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"max_tokens": 500}, "config=AssemblyConfig(max_tokens=500)"),
        ({"window": 2}, "config=AssemblyConfig(window=2)"),
        ({"neighbours": "unfiltered"}, "config=AssemblyConfig(neighbors='unfiltered')"),
        ({"budget": 500}, "config=AssemblyConfig(max_tokens=500)"),
        ({"model": len}, "llm=..."),
    ],
)
def test_a_setting_in_place_of_a_config(given: dict[str, Any], meant: str) -> None:
    with pytest.raises(ConfigError) as caught:
        assemble([], **given)
    assert str(caught.value).endswith(f"Did you mean {meant}?")
