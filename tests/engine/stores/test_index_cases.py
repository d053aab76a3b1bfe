"""`index_cases` pass for an index in memory, and fail for one that breaks a rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ctxassembly import Chunk, MemoryIndex
from ctxassembly.testing import IndexCase, index_cases


@pytest.mark.parametrize("case", [*index_cases(MemoryIndex)], ids=lambda case: case.name)
def test_an_index_in_memory_passes_all_cases(case: IndexCase):
    case.check()


class Altered(MemoryIndex):
    """An index whose answers are altered."""

    def __init__(self, chunks: Sequence[Chunk], vectors: Any, **changes: Callable[..., Any]) -> None:
        super().__init__(chunks, vectors)
        self.changes = changes

    def find_terms(self, request: Any) -> Any:
        return self.changes.get("terms", lambda _, found: found)(request, super().find_terms(request))

    def search(self, request: Any) -> Any:
        return self.changes.get("search", lambda _, found: found)(request, super().search(self.as_sent(request)))

    def as_sent(self, request: Any) -> Any:
        return self.changes.get("sent", lambda request: request)(request)

    def fetch(self, refs: Any) -> Any:
        return super().fetch(refs)[:1] if "fetch" in self.changes else super().fetch(refs)

    @property
    def enrichment(self) -> Any:
        notes = super().enrichment
        return replace(notes, on_change=self._forget_words) if "notes" in self.changes else notes

    def _forget_words(self) -> None:
        self._corpus.postings = {}


def without_near_words(request: Any, found: Any) -> Any:
    return replace(found, terms=tuple(term._replace(variants=()) for term in found.terms))


def with_missing_keys(request: Any) -> Any:
    """What an engine makes of $not whose filters have two values: a chunk without the key passes."""
    condition = request.filter
    if not isinstance(condition, dict) or list(condition) != ["$not"]:
        return request
    inner = condition["$not"]
    if not isinstance(inner, dict) or list(inner) != ["tenant"] or not isinstance(inner["tenant"], str):
        return request
    return replace(request, filter={"$or": [condition, {"tenant": {"$exists": False}}]})


@pytest.mark.parametrize(
    ("changes", "failed"),
    [
        pytest.param({"terms": without_near_words}, "words of 'ferirtin fasting'", id="no near words"),
        pytest.param(
            {"terms": lambda request, found: replace(found, chunk_count=found.chunk_count + 1)},
            "words of 'hospital'",
            id="another number of chunks",
        ),
        pytest.param(
            {"search": lambda request, found: [one._replace(terms=()) for one in found]},
            "search for 'cardioloog'",
            id="no words of the question",
        ),
        pytest.param(
            {
                "search": lambda request, found: [
                    one._replace(keyword_score=2 * (one.keyword_score or 0)) for one in found
                ]
            },
            "search for 'cardioloog'",
            id="another scale of scores",
        ),
        pytest.param({"search": lambda request, found: found[:2]}, "search for 'cardioloog'", id="too few chunks"),
        pytest.param({"sent": with_missing_keys}, "filter {'$not': {'tenant': 'ours'}}", id="missing keys pass $not"),
        pytest.param({"sent": lambda request: replace(request, filter=None)}, "tenants", id="no filter"),
        pytest.param(
            {"search": lambda request, found: found[:1] if request.filter else found},
            "tenants",
            id="too few under a filter",
        ),
        pytest.param(
            {"sent": lambda request: replace(request, filter=None)}, "explanation of 'lab#0'", id="no filter to explain"
        ),
        pytest.param({"fetch": True}, "neighbors", id="too few neighbors"),
        pytest.param({"fetch": True}, "neighbors by offset", id="too few neighbors by offset"),
        pytest.param({"fetch": True}, "documents by their titles", id="too few documents"),
        pytest.param({"notes": True}, "notes of a model", id="words are lost by notes"),
    ],
)
def test_a_broken_rule_fails_its_case(changes: dict[str, Any], failed: str):
    cases = {case.name: case for case in index_cases(lambda chunks, vectors: Altered(chunks, vectors, **changes))}
    with pytest.raises(AssertionError):
        cases[failed].check()
