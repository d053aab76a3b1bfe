"""`excluded_llm_metadata_keys`: what a node keeps from the LLM is in no header; a reader's own exclusion hides none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document, MockEmbedding, SimpleDirectoryReader, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import MarkdownNodeParser, SentenceSplitter
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from ctxassembly import AssemblyConfig, Context, MetadataKeys
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, number_chunks
from llamaindex_ctxassembly.convert.nodes import EXCLUDED_BY_READER

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


def test_the_set_is_that_of_the_reader(folder: Path) -> None:
    (document,) = SimpleDirectoryReader(str(folder)).load_data()
    assert frozenset(document.excluded_llm_metadata_keys) == EXCLUDED_BY_READER


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


def test_what_is_excluded_from_its_documents_besides_is_not(folder: Path) -> None:
    documents = SimpleDirectoryReader(str(folder), file_metadata=lambda _: {"title": "Visiting"}).load_data()
    for each in documents:
        each.excluded_llm_metadata_keys.append("header_path")
    index = VectorStoreIndex(MarkdownNodeParser().get_nodes_from_documents(documents), embed_model=MockEmbedding(8))
    for form, header in (("numbered", "[1] Source: Visiting"), ("source", "[SOURCE 1] Visiting")):
        assembly = ContextAssemblyPostprocessor(
            config=AssemblyConfig(format=form, neighbors="unfiltered"),  # type: ignore[arg-type]
            docstore=index.docstore,
        )
        answer = str(index.as_query_engine(llm=MockLLM(), node_postprocessors=[assembly]).query("When?"))
        assert f"{header}\n# Hours" in answer


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


def test_a_function_that_writes_headers_is_told_no_more() -> None:
    seen: list[Any] = []

    def header(heading: Any) -> str:
        seen.append((heading.source, heading.pages, heading.section))
        return f"[{heading.number}]"

    context_of(node("file_name", "page_label", "header_path"), format=header)
    assert set(seen) == {("Visiting", (), "")}


def test_the_room_is_counted_by_the_header_that_is_written() -> None:
    nodes = [node("file_name", "page_label", file_name=f"{n}.pdf" * 20) for n in range(6)]
    for place, each in enumerate(nodes):
        each.set_content(f"Text {place}. " * 9)
        each.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=f"{place}")
    context = context_of(*nodes, max_tokens=100)
    assert context.token_count <= 100
    assert "pdf" not in context.text
    assert len(context.citations) >= 2


def test_nested_values_are_kept_from_header_lines_and_summaries_with_what_holds_them() -> None:
    metadata = {"chunk_metadata": {"page_summary": "Secret.", "author": "Secret."}}
    options: dict[str, Any] = {"header_keys": ("chunk_metadata.author", "title")}
    assert "Secret." in context_of(node(**metadata), **options).text
    assert "Secret." not in context_of(node("chunk_metadata", **metadata), **options).text


def test_a_nested_page_is_kept_from_the_label_as_well() -> None:
    config = {"keys": MetadataKeys(page="meta.page", section="meta.section"), "format": "source"}
    hidden = context_of(node("meta", meta={"page": 3, "section": "Secret"}), **config)
    assert hidden.text.splitlines()[0] == "[SOURCE 1] secret-name.pdf"


def test_the_facts_of_a_graph_keep_what_their_node_keeps() -> None:
    facts = "Here are some facts extracted from the provided text:\n\ndesk -> opens -> nine\n\nThe desk opens at nine."
    graph = TextNode(text=facts, metadata={"author": "Secret."}, excluded_llm_metadata_keys=["author"])
    context = context_of(graph, header_keys=("author",), cite="chunk")
    assert len(context.citations) == 2
    assert "Secret." not in context.text


def test_what_we_have_written_ourselves_is_named_again() -> None:
    assembly = ContextAssemblyPostprocessor()
    once = assembly.postprocess_nodes([NodeWithScore(node=node())])
    assert assembly.context(once).text.startswith("[1] Source: secret-name.pdf, page 7\n")


def test_a_document_excluded_by_hand_goes_through_an_index() -> None:
    document = Document(text="The desk opens at nine.", metadata=SAID, excluded_llm_metadata_keys=["file_name"])
    index = VectorStoreIndex.from_documents([document], embed_model=MockEmbedding(embed_dim=8))
    assembly = ContextAssemblyPostprocessor(config=AssemblyConfig(neighbors="unfiltered"), docstore=index.docstore)
    response = index.as_query_engine(llm=MockLLM(), node_postprocessors=[assembly]).query("When?")
    assert "secret-name" not in str(response)
    assert response.source_nodes[0].metadata["citation"]["source"] == "secret-name.pdf"
