"""Sections of a Markdown page split by LangChain: the one whose heading matches is kept to its end."""

from __future__ import annotations

from langchain_core.documents import Document
from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

from ctxassembly import AssemblyConfig
from langchain_ctxassembly import ContextAssembler, number_chunks
from langchain_samples import memory_store

STEPS = "".join(f"{number}. Press button {number} and wait for the lamp to be green.\n" for number in range(1, 9))
ASIDES = "".join(
    f"## The {name} lab\n\nA centrifuge of the {name} lab is cleaned elsewhere, by other people of another team.\n\n"
    for name in ("northern", "southern", "western", "eastern", "upper", "lower")
)
PAGE = f"# Manual\n\nAbout machines.\n\n## Cleaning the centrifuge\n\n{STEPS}\n{ASIDES}"


def test_a_section_is_kept_to_its_end_where_its_heading_answers():
    splitter = RecursiveCharacterTextSplitter.from_language(
        Language.MARKDOWN, chunk_size=300, chunk_overlap=0, add_start_index=True
    )
    documents = number_chunks(splitter.split_documents([Document(PAGE, metadata={"source": "manual"})]))
    config = AssemblyConfig(max_tokens=210, format="minimal", neighbors="unfiltered", granularity="sentence")
    hits = [document for document in documents if "entrifuge" in document.page_content]
    context = (
        ContextAssembler(config=config, store=memory_store(documents))
        .as_context()
        .invoke({"documents": hits, "query": "How do I go about cleaning the centrifuge?"})
    )
    assert STEPS.strip() in context.text
