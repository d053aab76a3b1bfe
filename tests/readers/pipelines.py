"""The frameworks' readers and splitters as they are used, each over a file of its kind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

SECTIONS = ("Weavers", "Looms", "Wool", "Dyers", "Taxes", "Smugglers")
PROSE = "\n\n".join(
    f"{each} came to the valley over the northern pass. They stayed for {number} winters, and left by the lake."
    for number, each in enumerate(SECTIONS * 2, start=3)
)
MARKDOWN = "# The valley\n\nHow it was settled.\n\n" + "\n\n".join(
    f"{'#' * (2 + place % 2)} {each}\n\n{each} came over the northern pass in year {place}."
    for place, each in enumerate(SECTIONS)
)
TABLE = "who,when\n" + "\n".join(f"{each},{1500 + place}" for place, each in enumerate(SECTIONS))
CODE = "\n\n".join(
    f'def {each.lower()}(year):\n    """The {each.lower()} of a year."""\n    return year * {place}'
    for place, each in enumerate(SECTIONS)
)
Make = Callable[[Path], Any]
"""From a folder with one file of each kind to documents or nodes."""


def _text_loader(files: Path, name: str = "a.txt") -> Any:
    from langchain_community.document_loaders import TextLoader

    return TextLoader(str(files / name)).load()


def _splitter(kind: str, name: str = "a.txt", **settings: Any) -> Callable[[Path], Any]:
    def make(files: Path) -> Any:
        import langchain_text_splitters

        return getattr(langchain_text_splitters, kind)(**settings).split_documents(_text_loader(files, name))

    return make


def _csv_loader(files: Path) -> Any:
    from langchain_community.document_loaders import CSVLoader

    return CSVLoader(str(files / "a.csv"), source_column=None).load()


def _markdown_headers(files: Path) -> Any:
    from langchain_text_splitters import MarkdownHeaderTextSplitter

    return MarkdownHeaderTextSplitter([(f"{'#' * depth}", f"Header {depth}") for depth in (1, 2, 3)]).split_text(
        MARKDOWN
    )


def _code_parser(files: Path) -> Any:
    from langchain_community.document_loaders.generic import GenericLoader
    from langchain_community.document_loaders.parsers import LanguageParser

    return GenericLoader.from_filesystem(
        str(files), glob="*.py", parser=LanguageParser(language="python", parser_threshold=1)
    ).load()


def _read(files: Path, name: str) -> Any:
    from llama_index.core import SimpleDirectoryReader

    return SimpleDirectoryReader(input_files=[files / name]).load_data()


def _parser(kind: str, name: str = "a.txt", **settings: Any) -> Callable[[Path], Any]:
    def make(files: Path) -> Any:
        from llama_index.core import node_parser

        return getattr(node_parser, kind).from_defaults(**settings).get_nodes_from_documents(_read(files, name))

    return make


def _pages(files: Path) -> Any:
    """As PyPDFLoader makes them, a document each, split with offsets that begin anew on each page."""
    from langchain_core.documents import Document
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    half = len(PROSE) // 2
    pages = [
        Document(text, metadata={"source": "a.pdf", "page": page, "page_label": f"{page + 1}"})
        for page, text in enumerate((PROSE[:half], PROSE[half:]))
    ]
    return RecursiveCharacterTextSplitter(chunk_size=100, chunk_overlap=20, add_start_index=True).split_documents(pages)


def _leaves(files: Path) -> Any:
    from llama_index.core.node_parser import HierarchicalNodeParser, get_leaf_nodes

    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[120, 60], chunk_overlap=5)
    return get_leaf_nodes(parser.get_nodes_from_documents(_read(files, "a.txt")))


def _json_parser(files: Path) -> Any:
    from llama_index.core import Document
    from llama_index.core.node_parser import JSONNodeParser

    rows = [{"who": each, "year": place} for place, each in enumerate(SECTIONS)]
    return JSONNodeParser.from_defaults().get_nodes_from_documents([Document(text=json.dumps(rows))])


def _extractors(files: Path) -> Any:
    from llama_index.core import extractors
    from llama_index.core.llms import MockLLM

    nodes = _parser("MarkdownNodeParser", "a.md")(files)
    for extractor in (
        extractors.TitleExtractor(llm=MockLLM()),
        extractors.SummaryExtractor(llm=MockLLM(), summaries=["self", "prev", "next"]),
        extractors.QuestionsAnsweredExtractor(llm=MockLLM()),
        extractors.KeywordExtractor(llm=MockLLM()),
    ):
        nodes = asyncio.run(extractor.aprocess_nodes(nodes, show_progress=False))
    return nodes


LANGCHAIN: dict[str, Make] = {
    "LangChain RecursiveCharacterTextSplitter": _splitter(
        "RecursiveCharacterTextSplitter", chunk_size=100, chunk_overlap=20
    ),
    "LangChain RecursiveCharacterTextSplitter with offsets": _splitter(
        "RecursiveCharacterTextSplitter", chunk_size=100, chunk_overlap=20, add_start_index=True
    ),
    "LangChain CharacterTextSplitter": _splitter("CharacterTextSplitter", chunk_size=100, chunk_overlap=0),
    "LangChain CharacterTextSplitter with offsets": _splitter(
        "CharacterTextSplitter", chunk_size=100, chunk_overlap=0, add_start_index=True
    ),
    "LangChain TokenTextSplitter": _splitter(
        "TokenTextSplitter", encoding_name="cl100k_base", chunk_size=20, chunk_overlap=4
    ),
    "LangChain MarkdownTextSplitter": _splitter("MarkdownTextSplitter", "a.md", chunk_size=100, chunk_overlap=0),
    "LangChain PythonCodeTextSplitter": _splitter("PythonCodeTextSplitter", "a.py", chunk_size=100, chunk_overlap=0),
    "LangChain CSVLoader": _csv_loader,
    "LangChain MarkdownHeaderTextSplitter": _markdown_headers,
    "LangChain LanguageParser": _code_parser,
    "LangChain PyPDFLoader and RecursiveCharacterTextSplitter": _pages,
}
LLAMAINDEX: dict[str, Make] = {
    "LlamaIndex SentenceSplitter": _parser("SentenceSplitter", chunk_size=100, chunk_overlap=10),
    "LlamaIndex TokenTextSplitter": _parser("TokenTextSplitter", chunk_size=100, chunk_overlap=10),
    "LlamaIndex MarkdownNodeParser": _parser("MarkdownNodeParser", "a.md"),
    "LlamaIndex SentenceWindowNodeParser": _parser("SentenceWindowNodeParser"),
    "LlamaIndex HierarchicalNodeParser": _leaves,
    "LlamaIndex JSONNodeParser": _json_parser,
    "LlamaIndex extractors": _extractors,
}
VARYING: dict[str, set[str]] = {
    "LangChain RecursiveCharacterTextSplitter with offsets": {"start_index"},
    "LangChain CharacterTextSplitter with offsets": {"start_index"},
    "LangChain CSVLoader": {"row"},
    "LangChain MarkdownHeaderTextSplitter": {"Header 1", "Header 2", "Header 3"},
    "LangChain LanguageParser": {"content_type"},
    "LlamaIndex MarkdownNodeParser": {"header_path"},
    "LlamaIndex SentenceWindowNodeParser": {"window", "original_text"},
    "LlamaIndex extractors": {
        "header_path",
        "section_summary",
        "prev_section_summary",
        "next_section_summary",
        "questions_this_excerpt_can_answer",
        "excerpt_keywords",
    },
    "LangChain PyPDFLoader and RecursiveCharacterTextSplitter": {"page", "page_label", "start_index"},
}
"""The keys that vary between the chunks of one document or are absent in some, where there are any."""
