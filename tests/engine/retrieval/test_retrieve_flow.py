"""The whole flow, on an index in memory: the steps in their order, failures, and which query goes where."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ctxassembly import (
    AssemblyConfig,
    Chunk,
    ConfigError,
    Hit,
    InputError,
    MemoryIndex,
    RetrievalConfig,
    Retrieved,
    StoreError,
    aretrieve,
    assemble,
    retrieve,
)
from ctxassembly.retrieval import FindTerms, Node, Question, Relation, SearchChunks, Taxonomy

UP, RIGHT, BETWEEN = (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)
CHUNKS = [
    Chunk("card#0", "card", "De cardioloog behandelt hartfalen. Een rolstoel staat klaar bij de polikliniek.", 0,
          metadata={"category": "clinical_info", "tenant": "noord"}),
    Chunk("card#1", "card", "Hartfalen is een aandoening van het hart.", 1,
          metadata={"category": "clinical_info", "tenant": "noord"}),
    Chunk("park#0", "park", "Parkeren kan in de garage naast de hoofdingang.", 0,
          metadata={"category": "practical", "tenant": "noord"}),
    Chunk("park#1", "park", "De route naar de hoofdingang loopt langs de garage.", 1,
          metadata={"category": "practical", "tenant": "zuid"}),
    Chunk("huid#0", "huid", "Psoriasis is een huidziekte.", 0,
          metadata={"category": "clinical_info", "tenant": "zuid"}),
    Chunk("epil#0", "epil", "Kinderepilepsie behandelt de kinderneuroloog.", 0,
          metadata={"category": "clinical_info", "tenant": "zuid"}),
]  # fmt: skip
VECTORS = [RIGHT, RIGHT, UP, UP, BETWEEN, BETWEEN]
KEYWORD = RetrievalConfig(strategy="keyword")


@pytest.fixture
def index() -> MemoryIndex:
    return MemoryIndex(CHUNKS, VECTORS)


def embed(text: str) -> Sequence[float]:
    return UP if "garage" in text or "route" in text.lower() else RIGHT


def ids(retrieved: Retrieved) -> list[str]:
    return [hit.chunk.id for hit in retrieved.hits]


def steps(retrieved: Retrieved) -> list[str]:
    return [step.name for step in retrieved.trace.steps]


def notes(retrieved: Retrieved) -> str:
    return "\n".join(retrieved.trace.notes)


# Strategies


def test_hybrid_searches_both_in_two_round_trips(index: MemoryIndex):
    retrieved = retrieve("Waar is de garage?", index=index, embed=embed)
    assert set(ids(retrieved)[:2]) == {"park#0", "park#1"}
    assert retrieved.trace.search_method == "hybrid_bm25_vector"
    assert retrieved.trace.round_trips == 2
    assert steps(retrieved) == ["resolve", "search", "fuse", "limit"]
    assert retrieved.chunks[0].channels == ("vector", "keyword")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"config": RetrievalConfig(), "index": None, "embed": embed}, ConfigError, "strategy='hybrid' needs an index"),
        ({"config": RetrievalConfig()}, ConfigError, "strategy='hybrid' needs an embedding model"),
        ({"config": RetrievalConfig(strategy="graph")}, ConfigError, "strategy='graph' needs a taxonomy"),
        ({"filter": "tenant = 'zuid'"}, ConfigError, "filter must be a function"),  # no empty result, no lost channel
        ({"query": Question("x", filter={"a": 1}), "filter": {"a": 1}}, InputError, "filter is given twice"),
        ({"index": object()}, InputError, "index must be"),
        ({"channels": {"bm25": len}}, InputError, "channels must be"),
    ],
)
def test_wrong_arguments_are_errors(index: MemoryIndex, given: dict[str, Any], error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        retrieve(**{"query": "garage", "config": KEYWORD, "index": index, **given})


# What is kept, and in what order


AFFINITY = {"navigate": {"clinical_info": 0.1, "practical": 1.2}}


# Rescue


def test_a_rare_word_that_no_hit_has_brings_a_chunk(index: MemoryIndex):
    question = "De garage, of psoriasis?"
    config = RetrievalConfig(limit=2, keyword_weight=0.0)
    without = retrieve(question, replace(config, rescue="off"), index=index, embed=embed)
    assert ids(without) == ["park#0", "park#1"]
    rescued = retrieve(question, config, index=index, embed=embed)
    assert ids(rescued) == ["park#0", "huid#0"]
    assert rescued.chunks[1].because_of == ("psoriasis",)
    assert rescued.trace.round_trips == 3
    first = retrieve(question, replace(config, rescue="first"), index=index, embed=embed)
    assert ids(first) == ["huid#0", "park#0"]


# Evidence


# Which query goes where


class Recording(MemoryIndex):
    """Keeps what it is asked."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.asked: list[Any] = []

    def find_terms(self, request: FindTerms) -> Any:
        self.asked.append(request)
        return super().find_terms(request)

    def search(self, request: SearchChunks) -> Any:
        self.asked.append(request)
        return super().search(request)


FIELD = Taxonomy(
    [
        Node("derm", "department", "Dermatologie", ("huidarts",)),
        Node("pso", "condition", "Psoriasis", ("schilferhuid",)),
        Node("garage", "place", "Garage", ("parkeerplaats",)),
    ],
    [Relation("derm", "HANDLES", "pso")],
)


def test_which_query_goes_where():
    """Vectors, and assembly: as meant, and names. Words: these, the user's own, and their names. Rescue: no names."""
    index, embedded = Recording(CHUNKS, VECTORS), list[str]()
    question = Question("En de parkeerplaats?", rewritten="Waar parkeer ik voor de huidarts?")
    retrieved = retrieve(question, index=index, embed=lambda text: embedded.append(text) or UP, taxonomy=FIELD)
    assert embedded == ["Waar parkeer ik voor de huidarts? Dermatologie"]
    assert index.asked[0].text == "Waar parkeer ik voor de huidarts? En de parkeerplaats? Dermatologie Garage"
    assert retrieved.trace.queries == {
        "vector": "Waar parkeer ik voor de huidarts? Dermatologie",
        "keyword": index.asked[0].text,
        "rescue": "Waar parkeer ik voor de huidarts? En de parkeerplaats?",
    }
    assert retrieved.query == "Waar parkeer ik voor de huidarts? Dermatologie"
    assert retrieved.trace.names == ("Dermatologie",)


# Filters


@pytest.mark.parametrize("condition", [{"tenant": "zuid"}, {"$and": [{"$or": [{"tenant": "zuid"}]}]}])
def test_a_filter_holds_in_every_channel_and_in_rescue(index: MemoryIndex, condition: Any):
    question = "Waar is de garage, en een rolstoel bij hartfalen?"
    for config in (RetrievalConfig(), KEYWORD, RetrievalConfig(strategy="vector"), RetrievalConfig(keyword_weight=0.0)):
        everyone = retrieve(question, config, index=index, embed=embed)
        assert {"card#0", "park#0"} & set(ids(everyone))
        retrieved = retrieve(question, config, index=index, embed=embed, filter=condition)
        assert set(ids(retrieved)) <= {"park#1", "huid#0", "epil#0"}
        assert ids(retrieved)


def test_a_filter_goes_with_every_request_and_hides_nodes_of_others_from_each_form_of_the_question():
    theirs = Node("garage", "place", "Garage", ("parkeerplaats",), {"tenant": "noord"})
    index, condition = Recording(CHUNKS, VECTORS), {"tenant": "zuid"}
    question = Question("En de parkeerplaats bij psoriasis?", rewritten="Waar is de route?")
    config = RetrievalConfig(limit=1, keyword_weight=0.0)
    given: dict[str, Any] = {"index": index, "embed": embed, "taxonomy": Taxonomy([theirs])}
    assert "Garage" in retrieve(question, config, **given).trace.queries["keyword"]
    index.asked.clear()
    found = retrieve(question, config, filter=condition, **given)
    assert [type(request) for request in index.asked] == [FindTerms, SearchChunks, SearchChunks]
    assert [request.filter for request in index.asked] == [condition] * 3
    assert "Garage" not in str(found.trace.queries)


# Channels of another make


def test_a_retriever_of_another_make_gets_query_number_and_filter(index: MemoryIndex):
    asked: list[Any] = []

    def bm25(query: str, limit: int, condition: Any) -> list[Hit]:
        asked.append((query, limit, condition))
        return [Hit(CHUNKS[4], 11.7)]

    condition = {"tenant": "zuid"}
    retrieved = retrieve(
        "garage", RetrievalConfig(limit=3), index=index, embed=embed, channels={"keyword": bm25}, filter=condition
    )
    assert asked == [("garage", 12, condition)]
    assert ids(retrieved)[0] == "huid#0"
    assert retrieved.trace.search_method == "hybrid_bm25_vector"
    assert retrieved.chunks[0].keyword_score == 11.7


# Failures


class Broken(MemoryIndex):
    def __init__(self, *, terms: bool = False, vectors: bool = False, words: bool = False, seconds: float = 0) -> None:
        super().__init__(CHUNKS, VECTORS)
        self.broken = (terms, vectors, words)
        self.seconds = seconds

    def find_terms(self, request: FindTerms) -> Any:
        time.sleep(self.seconds)
        return self._terms(request)

    async def afind_terms(self, request: FindTerms) -> Any:
        await asyncio.sleep(self.seconds)
        return self._terms(request)

    def _terms(self, request: FindTerms) -> Any:
        if self.broken[0]:
            raise OSError("the server closed the connection")
        return super().find_terms(request)

    def search(self, request: SearchChunks) -> Any:
        if (self.broken[1] and request.vector is not None) or (self.broken[2] and request.vocabulary is not None):
            raise OSError("the server closed the connection")
        return super().search(request)


def no_model(_: str) -> Sequence[float]:
    raise RuntimeError("no model")


@pytest.mark.parametrize(
    ("index", "embedder", "method", "note"),
    [
        (Broken(terms=True), embed, "vector_only", "keyword: failed (OSError: the server closed the connection)"),
        (Broken(), no_model, "keyword_only", "vector: failed (RuntimeError: no model), done without"),
        (
            Broken(),
            lambda _: [],
            "keyword_only",
            "vector: failed (InputError: embed must return one vector",
        ),
        (Broken(), lambda _: (1.0, 2.0, 3.0), "keyword_only", "vector: failed (InputError: the query's vector has 3"),
        (Broken(vectors=True), embed, "keyword_only", "vector: failed (OSError"),
        (
            Broken(seconds=4),
            embed,
            "vector_only",
            "keyword: failed (TimeoutError: no answer within 1 s)",
        ),
    ],
)
async def test_a_channel_that_fails_is_done_without_and_traced(index: Any, embedder: Any, method: str, note: str):
    config = RetrievalConfig(timeout_seconds=1 if index.seconds else 10)
    for retrieved in (
        retrieve("hartfalen", config, index=index, embed=embedder),
        await aretrieve("hartfalen", config, index=index, embed=embedder),
    ):
        assert "card#1" in ids(retrieved)[:2]
        assert retrieved.trace.search_method == method
        assert retrieved.trace.notes[0].startswith(note)
        assert len(retrieved.trace.notes) == 1


async def test_all_failing_is_one_error():
    index = Broken(terms=True)
    with pytest.raises(StoreError, match=r"no channel answered: .*no model.*; .*closed the connection") as caught:
        retrieve("hartfalen", index=index, embed=no_model)
    assert isinstance(caught.value.__cause__, (RuntimeError, OSError))
    failed = retrieve("hartfalen", RetrievalConfig(min_evidence=1.2), index=Broken(), embed=no_model)
    assert failed.hits  # a failure doesn't mean that nothing answers
    assert "evidence: not measured" in notes(failed)
    with pytest.raises(StoreError, match="no channel answered"):
        await aretrieve("hartfalen", index=Broken(vectors=True, words=True), embed=embed)


@pytest.mark.parametrize("index", [Broken(terms=True), Broken(vectors=True), Broken(words=True)])
def test_a_failure_is_raised_if_the_caller_wants_that(index: Any):
    with pytest.raises(StoreError, match=r"^the (vector|keyword) channel failed: .*closed the connection"):
        retrieve("hartfalen", RetrievalConfig(on_search_error="raise"), index=index, embed=embed)


# Reranking


def backwards(_: str, chunks: Sequence[Chunk]) -> list[tuple[int, float]]:
    return [(place, float(place)) for place in reversed(range(len(chunks)))]


def test_a_reranker_sees_the_question_as_meant_and_decides_the_order(index: MemoryIndex):
    asked: list[str] = []

    def reranker(query: str, chunks: Sequence[Chunk]) -> Any:
        asked.append(query)
        return backwards(query, chunks)

    config = replace(KEYWORD, rescue="off")
    before = ids(retrieve("de hoofdingang", config, index=index))
    question = Question("daar?", rewritten="de hoofdingang")
    after = retrieve(question, config, index=index, rerankers=[reranker])
    assert (ids(after), asked) == (before[::-1], ["de hoofdingang"])
    assert "rerank" in steps(after)


@pytest.mark.parametrize("failing", [no_model, lambda *_: 3, lambda *_: [("a", "b")], lambda *_: [1, 2]])
def test_a_failing_reranker_falls_to_the_next(index: MemoryIndex, failing: Any):
    """RAGFlow answers with HTTP 500."""
    config = replace(KEYWORD, rescue="off")
    before = ids(retrieve("de hoofdingang", config, index=index))
    retrieved = retrieve("de hoofdingang", config, index=index, rerankers=[failing, backwards])
    assert ids(retrieved) == before[::-1]
    assert "rerank: number 1 failed" in notes(retrieved)
    none_left = retrieve("de hoofdingang", config, index=index, rerankers=[failing])
    assert ids(none_left) == before


@pytest.mark.parametrize("scores", [(3.0, -2.0), (0.9, 0.2), (None, None)])
def test_the_reranker_gets_the_best_and_the_others_stay_behind_in_their_order(index: MemoryIndex, scores: Any):
    config = RetrievalConfig(rescue="off", limit=5, rerank_candidates=2)
    before = retrieve("de garage", config, index=index, embed=embed)
    handed: list[str] = []

    def reranker(_: str, chunks: Sequence[Chunk]) -> list[tuple[int, float | None]]:
        handed.extend(chunk.id for chunk in chunks)
        return list(zip((1, 0), scores, strict=True))

    after = retrieve("de garage", config, index=index, embed=embed, rerankers=[reranker])
    assert handed == ids(before)[:2]
    assert ids(after) == [*ids(before)[1::-1], *ids(before)[2:]]
    given = [found.score for found in after.chunks]
    assert given == sorted(given, reverse=True)
    assert [found.rerank_score is None for found in after.chunks] == [scores[0] is None] * 2 + [True] * 3
    assert "rerank: the best 2 of 6 chunks; the others stay behind them" in notes(after)
    rerank = next(step for step in after.trace.steps if step.name == "rerank")
    assert (rerank.chunks_in, rerank.chunks_out) == (6, 6)


# One call changes nothing for another


HOSTILE = [
    "\x00", "a\x00b", "", " \n ", "👍", "de het een", "'; DROP TABLE x; --", "a & b | !c <-> (d:*)", "x" * 1_000_000,
    "woord " * 200_000, "\ud800", " ".join(f"w{at}" for at in range(5_000)), "%_\\", "{}", "三天内",
]  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE, ids=lambda query: ascii(query[:12]))
async def test_hostile_queries_give_results_or_none(index: MemoryIndex, query: str):
    for taxonomy in (None, FIELD):
        retrieved = retrieve(query, index=index, embed=embed, taxonomy=taxonomy)
        assert retrieved == await aretrieve(query, index=index, embed=embed, taxonomy=taxonomy)
        if not query.strip():
            assert (retrieved.hits, retrieved.trace.search_method) == ((), "none")
            assert notes(retrieved) == "query: there are no words to search for"
        else:
            assert not retrieved.trace.notes


QUESTIONS = ["garage", "hartfalen", "psoriasis garage", "rolstoel", "epilepsie hoofdingang"]


async def test_sync_equals_async_and_calls_at_once_do_not_mix(index: MemoryIndex):
    config = RetrievalConfig(limit=2, affinity=AFFINITY)
    before = repr(config)
    expected = [retrieve(question, config, index=index, embed=embed, taxonomy=FIELD) for question in QUESTIONS]
    again = await asyncio.gather(
        *(aretrieve(question, config, index=index, embed=embed, taxonomy=FIELD) for question in QUESTIONS * 8)
    )
    assert again == expected * 8
    assert repr(config) == before
    assert len({tuple(ids(one)) for one in expected}) >= 4


@pytest.mark.parametrize("strategy", ["hybrid", "vector", "keyword"])
def test_hits_are_joined_with_their_neighbors_in_the_index_that_found_them(strategy: Any):
    """Their scores, which neighbors have not, are no reason to take these for somebody else's."""
    texts = [f"Sentence {at} speaks of topic{at}." for at in range(5)]
    chunks = [Chunk(f"a#{at}", "a", text, at, metadata={"source": "a.pdf"}) for at, text in enumerate(texts)]
    index = MemoryIndex(chunks, [[1.0, float(at)] for at in range(5)])
    config = RetrievalConfig(strategy=strategy, limit=1)
    found = retrieve("topic3", config, index=index, embed=lambda _: [1.0, 3.0])
    context = assemble(found.hits, AssemblyConfig(candidate_window=1), store=index, query=found.query)
    assert len(found.hits) == 1
    assert len(context.citations[0].chunk_ids) == 3
    assert context.trace.unscoped == ()


def test_function_words_say_less_than_words_as_rare():
    """Both chunks have a word that no other has: one is asked with, the other is asked for."""
    chunks = [
        Chunk("a", "a", "Explain why."),
        Chunk("b", "b", "The ferritin."),
        *(Chunk(f"{n}", "c", "The") for n in range(9)),
    ]
    index = MemoryIndex(chunks)

    def best(config: RetrievalConfig) -> Retrieved:
        return retrieve("explain the ferritin", config, index=index)

    alike = best(replace(KEYWORD, stop_word_weight=1.0, limit=2))
    assert alike.trace.terms["explain"] == alike.trace.terms["ferritin"]
    weights = best(replace(KEYWORD, limit=2)).trace.terms
    assert weights["explain"] == 0.75 * weights["ferritin"]
    assert weights["the"] == 0.75 * alike.trace.terms["the"]
    assert weights["ferritin"] == alike.trace.terms["ferritin"]
