"""The site's search finds words. Those that engineers type have to stand on the page that answers them."""

from __future__ import annotations

import re

import pytest

from site_pages import FOLDER

CODE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("words", "pages"),
    [
        ("evaluate", ["evaluate.md", "questions.md", "benchmarks.md"]),
        ("LangSmith", ["evaluate.md", "tracing.md"]),
        ("RAGAS", ["evaluate.md"]),
        ("latency", ["questions.md", "benchmarks.md", "troubleshooting.md"]),
        ("throughput", ["throughput.md", "benchmarks.md"]),
        ("price", ["throughput.md"]),
        ("PgBouncer", ["throughput.md", "postgres.md"]),
        ("performance", ["benchmarks.md"]),
        ("permissions", ["questions.md", "recipes/tenants.md"]),
        ("summarization", ["questions.md", "presets.md"]),
        ("missing", ["questions.md", "dropped.md"]),
        ("hybrid search", ["postgres.md"]),
        ("deduplicate", ["stages.md"]),
        ("hallucinations", ["troubleshooting.md"]),
        ("SSE", ["recipes/streaming.md"]),
        ("EnsembleRetriever", ["start.md", "recipes/no-index.md"]),
        ("BM25Retriever", ["start.md", "recipes/no-index.md", "recipes/tenants.md"]),
        ("with_retry", ["recipes/tenants.md"]),
        ("multi-tenant", ["questions.md", "recipes/tenants.md"]),
        ("access control", ["questions.md"]),
        ("full-text", ["questions.md", "postgres.md"]),
        ("BM25", ["questions.md", "postgres.md"]),
        ("Pinecone", ["questions.md", "stores.md"]),
        ("Elasticsearch", ["questions.md", "stores.md"]),
        ("Weaviate", ["questions.md"]),
        ("reranker", ["questions.md", "recipes/rerankers.md"]),
        ("scores", ["questions.md", "start.md", "recipes/rerankers.md"]),
        ("agent memory", ["questions.md"]),
        ("prompt caching", ["questions.md", "answering.md"]),
        ("prompt injection", ["questions.md"]),
        ("token budget", ["recipes/token-budget.md"]),
        ("page numbers", ["questions.md", "recipes/pdf-pages.md"]),
        ("citations", ["questions.md", "citations.md"]),
        ("async", ["questions.md", "recipes/async-langgraph.md"]),
        ("streaming", ["recipes/streaming.md"]),
        ("tables", ["questions.md", "recipes/filings-and-tables.md", "recipes/code-tables-images.md"]),
        ("images", ["questions.md", "citations.md", "recipes/code-tables-images.md"]),
        ("source code", ["questions.md"]),
        ("license", ["questions.md"]),
        ("security", ["questions.md"]),
        ("PermissionError", ["start.md"]),
        ("stability", ["stability.md"]),
        ("deprecation", ["stability.md"]),
        ("experimental", ["stability.md"]),
        ("supported versions", ["stability.md"]),
        ("migrate", ["coming-from.md"]),
        ("ContextualCompressionRetriever", ["coming-from.md"]),
        ("ParentDocumentRetriever", ["coming-from.md"]),
        ("SentenceWindowNodeParser", ["coming-from.md"]),
        ("LLMLingua", ["coming-from.md"]),
        ("Provence", ["coming-from.md"]),
        ("dsRAG", ["coming-from.md"]),
    ],
)
def test_a_word_that_is_searched_for_stands_where_it_is_answered(words: str, pages: list[str]):
    wherever = re.sub(" ", r"\\s+", words)  # a line may end between them
    for page in pages:
        assert re.search(rf"\b{wherever}\b", CODE.sub("", (FOLDER / page).read_text("utf-8")), re.IGNORECASE), page
