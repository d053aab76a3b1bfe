"""`excluded_llm_metadata_keys`: what a node keeps from the LLM is in no header; a reader's own exclusion hides none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from llama_index.core import MockEmbedding, SimpleDirectoryReader, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import NodeWithScore, TextNode

from ctxassembly import AssemblyConfig, Context
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, number_chunks
from llamaindex_ctxassembly.nodes import EXCLUDED_BY_READER

SAID = {"file_name": "secret-name.pdf", "title": "Visiting", "page_label": "7", "header_path": "/Hours/Sunday/"}


def context_of(*nodes: TextNode, **options: Any) -> Context:
    scored = [NodeWithScore(node=each, score=1.0) for each in nodes]
    return ContextAssemblyPostprocessor(config=AssemblyConfig(**options)).context(scored)


def node(*excluded: str, **metadata: Any) -> TextNode:
    return TextNode(text="Text.", metadata={**SAID, **metadata}, excluded_llm_metadata_keys=list(excluded))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "visit.md").write_text("# Hours\n\nThe desk opens at nine.\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("numbered", [False, True])
def test_what_a_directory_reader_excludes_by_itself_is_in_the_label(folder: Path, numbered: bool) -> None:
    nodes = SentenceSplitter().get_nodes_from_documents(SimpleDirectoryReader(str(folder)).load_data())
    nodes = number_chunks(nodes) if numbered else nodes
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=8))
    config = AssemblyConfig(header_keys=("file_name", "file_size"), neighbors="unfiltered")
    assembly = ContextAssemblyPostprocessor(config=config, docstore=index.docstore)
    answer = str(index.as_query_engine(llm=MockLLM(), node_postprocessors=[assembly]).query("When?"))
    assert "[1] Source: visit.md\n# Hours" in answer
    assert "file_name:" not in answer
    assert "file_size:" not in answer


@pytest.mark.parametrize(
    ("rule", "excluded", "form", "header"),
    [
        ("nothing excluded", (), "numbered", "[1] Source: secret-name.pdf, page 7"),
        ("the next source", ("file_name",), "numbered", "[1] Source: Visiting, page 7"),
        ("no source left", ("file_name", "title"), "numbered", "[1] Source: unknown, page 7"),
        ("no page", ("page_label",), "numbered", "[1] Source: secret-name.pdf"),
        ("no page", ("page_label",), "xml", '<chunk index="1" source="secret-name.pdf" score="1.000">'),
        ("no section", ("header_path",), "source", "[SOURCE 1] secret-name.pdf"),
        ("the section alone", ("file_name", "title"), "source", "[SOURCE 1] unknown § Hours/Sunday"),
        ("no lead", ("file_name",), "grouped", "## Visiting"),
        ("nested, too", ("file_name", "meta"), "source", "[SOURCE 1] Visiting § Hours/Sunday"),
        ("the reader's own", tuple(EXCLUDED_BY_READER), "numbered", "[1] Source: secret-name.pdf, page 7"),
        ("and one more", (*EXCLUDED_BY_READER, "page_label"), "numbered", "[1] Source: secret-name.pdf"),
    ],
)
def test_a_header_names_what_the_llm_may_read(rule: str, excluded: tuple[str, ...], form: Any, header: str) -> None:
    context = context_of(node(*excluded, meta={"section": "Nested"}), format=form)
    assert context.text.splitlines()[0] == header
    citation = context.citations[0]
    assert (citation.source, citation.page, citation.section) == ("secret-name.pdf", 7, "Hours/Sunday")
    assert Context.from_dict(context.to_dict()) == context
