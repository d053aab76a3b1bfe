"""A retrieval as a person reads it: the line of its trace, and the table of its hits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, Retrieved, explain, retrieve
from ctxassembly.data.retrieval import StepName
from ctxassembly.retrieval import Boost, Node, Question, Relation, RetrievalTrace, RetrievedChunk, Step, Taxonomy
from ctxassembly.serialization import to_plain

KEYWORD = RetrievalConfig(strategy="keyword")


def step(name: StepName, *ids: str) -> Step:
    return Step(name, 0, ids)


class TestTrace:
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
            "keyword_only for iron, copper, zink: 3 found -> 3 fused -> 2 kept, 1 rescued, 3 keyword matches, "
            "evidence 0.31, 3 round trips"
        )
        assert len(retrieved.hits) == 2

    def test_has_the_number_of_keyword_matches_also_in_plain_data(self):
        """The published rule: the badge counts the keyword matches found, not those kept."""
        texts, vectors = ("Iron.", "Copper.", "Zinc."), [[1.0, 0.0], [0.9, 0.1], [0.8, 0.2]]
        index = MemoryIndex([Chunk(f"lab#{at}", "lab", text, at) for at, text in enumerate(texts)], vectors)
        retrieved = retrieve("iron copper", RetrievalConfig(), index=index, embed=lambda text: [1.0, 0.0])
        assert (len(retrieved.hits), retrieved.trace.keyword_matches) == (3, 2)
        assert "3 kept, 2 keyword matches, evidence" in retrieved.trace.summary
        assert to_plain(retrieved.trace)["keyword_matches"] == 2
        best = retrieve("iron copper", RetrievalConfig(limit=1), index=index, embed=lambda text: [1.0, 0.0])
        assert (len(best.hits), best.trace.keyword_matches) == (1, 2)
        assert retrieve("gold", RetrievalConfig(strategy="keyword"), index=index).trace.keyword_matches == 0
        by_vectors = RetrievalConfig(strategy="vector")
        assert retrieve("iron", by_vectors, index=index, embed=lambda text: [1.0, 0.0]).trace.keyword_matches is None

    def test_stays_one_line_with_many_words_and_with_line_breaks_in_them(self):
        trace = RetrievalTrace("keyword_only", terms={f"word\n{number}": 1.0 for number in range(32)})
        assert trace.summary.endswith("word 6, word 7 and 24 more: 0 round trips")
        assert "\n" not in trace.summary


class TestRetrieved:
    def found(self, id_: str, score: float, *channels: str) -> RetrievedChunk:
        return RetrievedChunk(Chunk(id_, "lab", "Iron."), score, channels)  # type: ignore[arg-type]

    def test_prints_as_a_table_with_a_row_for_each_hit(self):
        found = (self.found("lab#1", 1.0, "vector", "keyword"), self.found("lab\n#0", 0.25, "rescue"))
        assert str(Retrieved("iron", found, RetrievalTrace("hybrid_bm25_vector"))).splitlines() == [
            "rank  score  channels        id",
            "   1  1.000  vector+keyword  lab#1",
            "   2  0.250  rescue          lab #0",
        ]


TEXTS = ["Iron and ferritin.", "Iron, copper, zinc.", "Copper.", "Vitamin B12, and nothing else.", "Selenium."]
METALS = MemoryIndex(
    [Chunk(f"lab#{at}", "lab", text, at, metadata={"category": f"c{at}"}) for at, text in enumerate(TEXTS)],
    [[1.0, 0.0], [0.9, 0.1], [0.5, 0.5], [0.0, 1.0], [-1.0, 0.1]],
)
ANALYST = Taxonomy(
    [Node("team", "team", "Laboratory", ("iron",)), Node("p", "person", "analyst P")],
    [Relation("p", "WORKS_IN", "team")],
    type_words={"person": ("who",)},
)
GIVEN = {"index": METALS, "embed": lambda _: [1.0, 0.0]}


class TestExplain:
    @pytest.mark.parametrize(
        ("query", "settings", "given"),
        [
            ("Where is iron?", {"limit": 2}, {}),
            ("Who measures iron?", {"limit": 2}, {"taxonomy": ANALYST}),
            ("Iron, or vitamin?", {"limit": 2, "rescue": "first", "keyword_weight": 0.0}, {}),
            ("Where is iron?", {"min_evidence": 2.0}, {}),
            ("Where is iron?", {"min_similarity": 0.6}, {}),
            (Question("iron", intent="find"), {"limit": 1, "candidates": 5, "affinity": {"find": {"c0": 0.1}}}, {}),
        ],
    )
    def test_tells_of_every_chunk_of_its_trace_as_another_search_would(
        self, query: Any, settings: dict[str, Any], given: dict[str, Any]
    ):
        config = RetrievalConfig(**settings)
        retrieved = retrieve(query, config, **GIVEN, **given)
        known = {id_: None for step in retrieved.trace.steps for id_ in step.ids}
        assert len(known) >= 5
        told = [retrieved.explain(id_) for id_ in known]
        searched = [explain(query, id_, config, **GIVEN, **given) for id_ in known]
        floor = str(config.min_similarity)
        assert [replace(one, reason=one.reason.replace("min_similarity", floor)) for one in told] == searched
        assert {one.lost_at for one in told} != {None}

    def test_says_so_where_nothing_was_searched(self):
        assert retrieve(" ", **GIVEN).explain("lab#0").reason == "query: there are no words to search for"
        assert Retrieved("iron", (), RetrievalTrace("none")).explain("lab#0").reason == "there was no search"


class TestMismatches:
    QUESTION = Question("Iron, copper", intent="find")

    def test_are_rows_of_the_chunks_whose_category_does_not_go_with_the_intent(self):
        config = RetrievalConfig(
            limit=2,
            boosts=(Boost("all", 2.0, {"document_id": "lab"}),),
            affinity={"find": {"c1": 0.5, "c2": 0.1, "c0": 1.2}},
        )
        retrieved = retrieve(self.QUESTION, config, **GIVEN)
        rows = {row["chunk_id"]: row for row in retrieved.mismatches()}
        assert rows.keys() == {"lab#1", "lab#2"}
        assert rows["lab#1"] == {
            "query": "Iron, copper",
            "intent": "find",
            "category": "c1",
            "factor": 0.5,
            "chunk_id": "lab#1",
            "document_id": "lab",
            "score": retrieved.chunks[1].score,
            "place": 1,
        }
        assert (rows["lab#2"]["category"], rows["lab#2"]["factor"], rows["lab#2"]["place"]) == ("c2", 0.1, None)
