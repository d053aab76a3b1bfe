"""Factors of categories, and classifying by examples, on the made set: `python tests/bench/affinity.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from ctxassembly import MemoryIndex, RetrievalConfig, retrieve
from ctxassembly.enrichment import classify_by_examples
from ctxassembly.retrieval import Question
from made_set import CATEGORIES, PAGES, affinity, embed, embed_all


def share_found(intents: Sequence[str | None], factor: float) -> float:
    """The share of questions whose best chunk is the right one, with `factor` for chunks of another category."""
    index = MemoryIndex([page.chunk for page in PAGES], embed_all([page.text for page in PAGES]))
    found = 0
    for page, intent in zip(PAGES, intents, strict=True):
        asked = Question(page.question, intent=intent)
        best = retrieve(asked, RetrievalConfig(affinity=affinity(factor)), index=index, embed=embed).chunks[0]
        found += best.chunk.id == page.id
    return found / len(PAGES)


def share_classified(subjects: int) -> float:
    """The share of pages that the pages of so many other subjects classify right, over all choices of these."""
    right = total = 0
    for chosen in combinations(dict.fromkeys(page.subject for page in PAGES), subjects):
        examples = {
            category: [page.text for page in PAGES if page.subject in chosen and page.category == category]
            for category in CATEGORIES
        }
        category_of = classify_by_examples(examples, embed_all)
        others = [page for page in PAGES if page.subject not in chosen]
        right += sum(category_of(replace(page.chunk, metadata={})) == page.category for page in others)
        total += len(others)
    return right / total


def main() -> None:
    """Print both tables."""
    intents: list[str | None] = [page.category for page in PAGES]
    wrong = [CATEGORIES[(CATEGORIES.index(page.category) + 1 + number % 3) % 4] for number, page in enumerate(PAGES)]
    quarter = [wrong[n] if n % 4 == n // 4 % 4 else intent for n, intent in enumerate(intents)]
    print(f"no intents: {share_found([None] * len(PAGES), 1):.2f}")
    print("factor  right  a quarter wrong  all wrong")
    for factor in (1, 0.9, 0.8, 0.7, 0.5, 0.3):
        shares = [share_found(some, factor) for some in (intents, quarter, wrong)]
        print(f"{factor:6}  {shares[0]:5.2f}  {shares[1]:15.2f}  {shares[2]:9.2f}")
    print("examples  classified right")
    for subjects in (1, 2, 3, 4):
        print(f"{subjects:8}  {share_classified(subjects):16.2f}")


if __name__ == "__main__":
    main()
