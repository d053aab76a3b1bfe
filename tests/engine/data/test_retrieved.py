"""A retrieval as a person reads it: the line of its trace, and the table of its hits."""

from __future__ import annotations

from typing import get_args

import pytest

from ctxassembly import Chunk, Found, MemoryIndex, RetrievalConfig, RetrievalTrace, Retrieved, Step, retrieve
from ctxassembly.data.retrieved import StepName

KEYWORD = RetrievalConfig(strategy="keyword")


def step(name: StepName, *ids: str) -> Step:
    return Step(name, 0, ids)


class TestTrace:
    def test_says_what_was_searched_and_what_each_step_left(self):
        steps = (step("resolve"), step("search", *"abcd"), step("fuse", *"abc"), step("limit", *"ab"))
        trace = RetrievalTrace(
            "hybrid_bm25_vector", steps, terms={"iron": 2.0, "blood": 1.0}, round_trips=1, evidence=1.416
        )
        assert str(trace) == (
            "hybrid_bm25_vector for iron, blood: 4 found -> 3 fused -> 2 kept, evidence 1.42, 1 round trip"
        )

    def test_counts_the_chunks_that_a_step_brought_to_those_kept(self):
        steps = (
            step("search", *"abc"),
            step("fuse", *"abc"),
            step("boost", *"abc"),
            step("rerank", *"abc"),
            step("affinity", *"bac"),
            step("limit", *"ba"),
            step("entities", *"xyb"),
            step("rescue", *"xyr"),
        )
        assert RetrievalTrace("vector_only", steps).summary == (
            "vector_only: 3 found -> 3 fused -> 3 boosted -> 3 reranked -> 3 weighed -> 3 kept, 2 from the taxonomy, "
            "1 rescued, 0 round trips"
        )

    @pytest.mark.parametrize("name", sorted({*get_args(StepName)} - {"resolve", "limit"}))
    def test_tells_of_every_step_that_has_chunks(self, name: StepName):
        """A step that isn't entered where the line is made would be missing from it, and nobody would see."""
        steps = (step("search", "a"), step("limit", "a"))
        shorter, longer = (RetrievalTrace("vector_only", some).summary for some in (steps, (*steps, step(name, "b"))))
        assert len(longer) > len(shorter)

    def test_of_a_retrieval_counts_the_hits_with_those_that_were_rescued(self):
        texts = ("Iron and iron, iron.", "Iron, copper.", "Iron, copper.", "Zinc, and many words: no value.")
        index = MemoryIndex([Chunk(f"lab#{at}", "lab", text, at) for at, text in enumerate(texts)])
        retrieved = retrieve("iron copper zink", RetrievalConfig(strategy="keyword", limit=2), index=index)
        assert retrieved.trace.summary == (
            "keyword_only for iron, copper, zink: 3 found -> 3 fused -> 2 kept, 1 rescued, evidence 0.31, 3 round trips"
        )
        assert len(retrieved.hits) == 2

    def test_has_the_notes_below_it_one_a_line(self):
        trace = RetrievalTrace("none", notes=("query: there are no words to search for", "rerank: number 1 failed"))
        assert str(trace).splitlines() == ["none: 0 round trips", *trace.notes]

    def test_stays_one_line_with_many_words_and_with_line_breaks_in_them(self):
        trace = RetrievalTrace("keyword_only", terms={f"word\n{number}": 1.0 for number in range(32)})
        assert trace.summary.endswith("word 6, word 7, 24 more: 0 round trips")
        assert "\n" not in trace.summary


class TestRetrieved:
    def found(self, id_: str, score: float, *channels: str) -> Found:
        return Found(Chunk(id_, "lab", "Iron."), score, channels)  # type: ignore[arg-type]

    def test_prints_as_a_table_with_a_row_for_each_hit(self):
        found = (self.found("lab#1", 1.0, "vector", "keyword"), self.found("lab\n#0", 0.25, "rescue"))
        assert str(Retrieved("iron", found, RetrievalTrace("hybrid_bm25_vector"))).splitlines() == [
            "rank  score  channels        id",
            "   1  1.000  vector+keyword  lab#1",
            "   2  0.250  rescue          lab #0",
        ]

    def test_prints_a_short_table_of_many_hits(self):
        found = tuple(self.found(f"lab#{rank}", 1.0, "keyword") for rank in range(1_025))
        lines = str(Retrieved("iron", found, RetrievalTrace("keyword_only"))).splitlines()
        assert lines[-2:] == ["  20  1.000  keyword   lab#19", "and 1,005 more"]
        assert len(lines) == 22

    def test_says_so_if_there_are_no_hits(self):
        assert str(retrieve("zinc", KEYWORD, index=MemoryIndex([Chunk("a", "lab", "Iron.")]))) == "no hits"
