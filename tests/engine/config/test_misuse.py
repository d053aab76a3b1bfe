"""What an error tells who begins to write instead."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryIndex, MemoryStore, RetrievalConfig, assemble, retrieve
from ctxassembly.config.hints import check_parameters, setting_lines
from ctxassembly.errors import ConfigError, InputError, VocabularyError

CHUNK = Chunk("a", "A", "Text.")
RETRIEVED = retrieve("text", RetrievalConfig(strategy="keyword"), index=MemoryIndex([CHUNK]))
# As the frameworks' classes look from outside; with those themselves, the adapters' tests do the same.
DOCUMENT = SimpleNamespace(page_content="Text.", metadata={})
NODE = SimpleNamespace(get_content=str, metadata={})


class Awaitable:
    """A coroutine that nobody awaits, without Python's warning."""

    def __await__(self) -> Any:
        raise AssertionError


LANGCHAIN = "write ContextAssembler().as_context().invoke(documents), of langchain_ctxassembly"
LLAMAINDEX = "write ContextAssemblyPostprocessor().context(nodes), of llamaindex_ctxassembly"


@pytest.mark.parametrize(
    ("hits", "instead"),
    [
        ([DOCUMENT], LANGCHAIN),
        (DOCUMENT, LANGCHAIN),
        ([(DOCUMENT, 0.5)], "write ContextAssemblyRetriever.from_vectorstore(vectorstore), of langchain_ctxassembly"),
        ([NODE], LLAMAINDEX),
        *(
            (given, "write [Hit(Chunk(id, document_id, text), score), ...]")
            for given in (CHUNK, [CHUNK], [(CHUNK, 0.5)], Hit(CHUNK), [[Hit(CHUNK)]], [Hit(DOCUMENT)], [Hit("text")])  # type: ignore[arg-type]
        ),
        (["text"], "write [Hit(Chunk(id, document_id, text), score), ...]"),
        (RETRIEVED, "write assemble(retrieved.hits, query=query)"),
        ([(DOCUMENT, 0.5, 1)], "write [Hit(Chunk(id, document_id, text), score), ...]"),
        (iter([Hit(CHUNK)]), "write list(hits)"),
        ("May I drink?", "write assemble(hits, query='May I drink?')"),
        (Awaitable(), "write await before it"),
        ([None], "write [Hit(Chunk(id, document_id, text), score), ...]"),
    ],
)
def test_what_is_no_hit(hits: Any, instead: str):
    with pytest.raises(InputError, match=f"hits must be a sequence of Hit, got .*: .*{re.escape(instead)}"):
        assemble(hits)


@pytest.mark.parametrize(
    ("config", "instead"),
    [
        ("May I drink?", ": write query='May I drink?'"),
        ("voice", ": write config=AssemblyConfig.for_use('voice')"),
        (2_000, ": write config=AssemblyConfig(max_tokens=2000)"),
        ({"window": 2, "format": "xml"}, ": write config=AssemblyConfig(window=2, format='xml')"),
    ],
)
def test_what_is_no_config(config: Any, instead: str):
    with pytest.raises(
        InputError,
        match=rf"config must be an AssemblyConfig, an object with flow\(call\), or None, got .*{re.escape(instead)}\Z",
    ):
        assemble([Hit(CHUNK)], config)


@pytest.mark.parametrize(
    ("store", "instead"),
    [
        (SimpleNamespace(similarity_search=str), "write store=VectorStoreNeighbors(vectorstore)"),
        (SimpleNamespace(docstore=str), "write ContextAssemblyPostprocessor.from_index(index)"),
        (SimpleNamespace(get_ref_doc_info=str), "write docstore=docstore"),
        (SimpleNamespace(stores_text=True), "write vector_store=vector_store"),
        (SimpleNamespace(invoke=str), "give its vector store or docstore"),
        ([CHUNK], "write store=MemoryStore(chunks)"),
        (MemoryStore, "write store=MemoryStore(...)"),
    ],
)
def test_what_is_no_store(store: Any, instead: str):
    with pytest.raises(InputError, match=f"has no fetch\\(refs\\): .*{re.escape(instead)}"):
        assemble([Hit(CHUNK)], store=store)


def test_a_model_is_no_encoding():
    instead = r"for that model write encoding='o200k_base', or max_tokens=TokenBudget.for_model\('gpt-4o'\)"
    with pytest.raises(VocabularyError, match=instead):
        AssemblyConfig(encoding="gpt-4o")
    with pytest.raises(VocabularyError, match=r"unknown encoding 'cl100k'. Did you mean encoding='cl100k_base'\?"):
        AssemblyConfig(encoding="cl100k")
    with pytest.raises(VocabularyError, match=r"unknown encoding 'nonsense'; tiktoken knows [\w, ]*\Z"):
        AssemblyConfig(encoding="nonsense")


@pytest.mark.parametrize(
    ("given", "instead"),
    [
        ({"window": 2}, ". Did you mean config=AssemblyConfig(window=2)?"),
        ({"stores": 2}, ". Did you mean store=2?"),
        ({"vectorstore": SimpleNamespace(similarity_search=str)}, "write store=VectorStoreNeighbors(vectorstore)"),
        ({"zzz": 2}, ". It takes config, store"),
    ],
)
def test_what_is_no_parameter(given: Any, instead: str):
    (name,) = given
    with pytest.raises(ConfigError, match=rf"^Made\(\) has no parameter '{name}'.*{re.escape(instead)}"):
        check_parameters("Made", given, ["store", "config"], setting_lines("config={}"))
    check_parameters("Made", {"store": 1, "config": 2}, ["store", "config"], setting_lines("config={}"))
