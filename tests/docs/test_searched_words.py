"""The site's search finds words. Those that engineers type have to stand on the page that answers them."""

from __future__ import annotations

import re

import pytest

from site_pages import FOLDER

CODE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("words", "pages"),
    [
        ("LangSmith", ["evaluate.md", "tracing.md"]),
        ("latency", ["questions.md", "benchmarks.md", "troubleshooting.md"]),
        ("PgBouncer", ["throughput.md", "postgres.md"]),
        ("permissions", ["questions.md", "recipes/tenants.md"]),
        ("hallucinations", ["troubleshooting.md"]),
        ("EnsembleRetriever", ["start.md", "recipes/no-index.md"]),
        ("multi-tenant", ["questions.md", "recipes/tenants.md"]),
        ("BM25", ["questions.md", "postgres.md"]),
        ("Pinecone", ["questions.md", "stores.md"]),
        ("reranker", ["questions.md", "recipes/rerankers.md"]),
        ("prompt caching", ["questions.md", "answering.md"]),
        ("prompt injection", ["questions.md"]),
        ("PermissionError", ["start.md"]),
        ("ContextualCompressionRetriever", ["coming-from.md"]),
        ("ParentDocumentRetriever", ["coming-from.md"]),
        ("SentenceWindowNodeParser", ["coming-from.md"]),
        ("LLMLingua", ["coming-from.md"]),
    ],
)
def test_a_word_that_is_searched_for_stands_where_it_is_answered(words: str, pages: list[str]):
    wherever = re.sub(" ", r"\\s+", words)  # a line may end between them
    for page in pages:
        assert re.search(rf"\b{wherever}\b", CODE.sub("", (FOLDER / page).read_text("utf-8")), re.IGNORECASE), page
