import math
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests

from ctxassembly import AssemblyConfig, Supplement
from ctxassembly.errors import ConfigError
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever
from langchain_samples import Recorder, document, documents, memory_store, vector_store

CORPUS = documents("A", "B", "C", "D")
QUERY = "the falcon in C, the granite in A and B, the ember in D"


class TestStandard(RetrieversIntegrationTests):
    """`k` is the most labels to return, of however many chunks each is made."""

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return ContextAssemblyRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"retriever": vector_store(CORPUS).as_retriever(search_kwargs={"k": 20})}

    @property
    def retriever_query_example(self) -> str:
        return QUERY


def test_k_counts_labels_and_a_call_may_set_its_own() -> None:
    retriever = ContextAssemblyRetriever.from_vectorstore(vector_store(CORPUS), hits=20, k=2)
    assert [each.metadata["citation"]["label"] for each in retriever.invoke(QUERY)] == ["1", "2"]
    assert len(retriever.invoke(QUERY, k=3)) == 3
    for wrong in ({"k": 0}, {"k": -1}):
        with pytest.raises(ConfigError, match="greater than or equal to 1"):
            ContextAssemblyRetriever(retriever=retriever, **wrong)
    with pytest.raises(ConfigError, match="k must be an integer of at least 1, got 0"):
        retriever.invoke(QUERY, k=0)


def test_unknown_parameters_are_errors() -> None:
    retriever = vector_store(CORPUS).as_retriever()
    with pytest.raises(ConfigError, match="asembler"):
        ContextAssemblyRetriever(retriever=retriever, asembler=ContextAssembler())  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="kk"):
        ContextAssemblyRetriever(retriever=retriever).invoke(QUERY, kk=3)
    assembler = ContextAssembler()
    with pytest.raises(ConfigError, match="assembler must be given without config and store"):
        ContextAssemblyRetriever.from_vectorstore(vector_store([]), assembler=assembler, config=AssemblyConfig())


async def test_callbacks_reach_the_children_and_the_query_the_assembler() -> None:
    retriever = ContextAssemblyRetriever.from_vectorstore(vector_store(CORPUS))
    for _ in range(2):
        recorder = Recorder()
        if _:
            await retriever.ainvoke(QUERY, {"callbacks": [recorder]})
        else:
            retriever.invoke(QUERY, {"callbacks": [recorder]})
        assert recorder.parents() == {
            "ContextAssemblyRetriever": None,
            "ScoredRetriever": "ContextAssemblyRetriever",
            "ContextAssembler": "ContextAssemblyRetriever",
        }
        assert [name for name, _ in recorder.events] == ["context_assembled"]


# Supplementary text


@pytest.mark.parametrize(
    ("supplement", "facts"),
    [
        ("Facts.", "Facts."),
        (Supplement("Facts.", force=True), "Facts."),
        (lambda query: f"On {query[:10]}.", "On the falcon."),
        (lambda query: Supplement(f"On {query[:10]}.", force=True), "On the falcon."),
        (lambda query: None, None),
        (None, None),
    ],
)
async def test_a_supplement_stands_after_the_documents(supplement: Any, facts: str | None) -> None:
    corpus = vector_store(CORPUS)
    bare = ContextAssemblyRetriever.from_vectorstore(corpus).invoke(QUERY)
    scored = ContextAssemblyRetriever.from_vectorstore(corpus, supplement=supplement)
    plain = ContextAssemblyRetriever(retriever=scored.retriever, assembler=scored.assembler, supplement=supplement)
    for retriever in (scored, plain):
        for found in (retriever.invoke(QUERY), await retriever.ainvoke(QUERY)):
            labels = [each for each in found if "citation" in each.metadata]
            assert [each.page_content for each in labels] == [each.page_content for each in bare]
            own = [each.page_content for each in found[len(bare) :]]
            assert own == ([] if facts is None else [f"--- SUPPLEMENTARY INFORMATION ---\n{facts}"])


async def test_k_does_not_count_it() -> None:
    retriever = ContextAssemblyRetriever.from_vectorstore(vector_store(CORPUS), hits=20, k=2, supplement="Facts.")
    for found in (retriever.invoke(QUERY), await retriever.ainvoke(QUERY)):
        assert [each.metadata["citation"]["label"] for each in found if each.id != "supplement"] == ["1", "2"]
        assert [each.id for each in found].index("supplement") == 2
    assert len(retriever.invoke(QUERY, k=1)) == 2


# Scores


BY_DOCUMENT = AssemblyConfig(cite="document")
without_ids = pytest.mark.filterwarnings("ignore:The store can't find adjacent chunks")
"""For tests of searches, over vector stores that can do nothing else."""


class Fixed(VectorStore):
    """Finds two documents with the numbers it was given, and notes what it was asked."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = numbers
        self.asked: list[dict[str, Any]] = []
        self.found = [document("A", 1), document("A", 5)]

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        self.asked.append({"k": k, **kwargs})
        return list(zip(self.found, self.numbers, strict=True))

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        raise NotImplementedError

    @classmethod
    def from_texts(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


@without_ids
@pytest.mark.parametrize(
    ("numbers", "scores"),
    [
        ([0.9, 0.5], [0.9, 0.5]),  # similarities fall
        ([0.25, 0.5], [0.75, 0.5]),  # distances rise
        ([-0.5, 3], [1.5, -2]),
        ([np.float32(0.25), np.float32(0.5)], [0.75, 0.5]),
        ([0.4, 0.4], None),  # neither: the rank stands alone
        ([0.4, None], None),
        ([0.4, math.nan], None),
    ],
)
async def test_a_distance_becomes_a_score_and_never_turns_the_order(numbers: Any, scores: Any) -> None:
    store = Fixed(*numbers)
    retriever = ContextAssemblyRetriever.from_vectorstore(store, config=BY_DOCUMENT)
    for (found,) in (retriever.invoke(QUERY), await retriever.ainvoke(QUERY)):
        assert found.metadata["scores"] == dict(zip(("A#1", "A#5"), scores or (), strict=False))
        assert found.id == "A#1"
    assert store.found == [document("A", 1), document("A", 5)]  # as they were


@pytest.mark.parametrize("search_type", ["similarity", "mmr"])
async def test_a_search_in_memory(search_type: Any) -> None:
    retriever = ContextAssemblyRetriever.from_vectorstore(vector_store(CORPUS), search_type=search_type)
    found = retriever.invoke(QUERY)
    assert [each.page_content for each in found] == [each.page_content for each in await retriever.ainvoke(QUERY)]
    best = found[0].metadata
    assert len(best["chunk_ids"]) > len(best["scores"])
    scores = [score for each in found for score in each.metadata["scores"].values()]
    assert best["citation"]["score"] == max(scores, default=None)
    assert len(scores) == (0 if search_type == "mmr" else 8)


class Thresholded(Fixed):
    def _select_relevance_score_fn(self) -> Any:
        return lambda distance: 1 - distance


@without_ids
async def test_a_search_with_a_threshold_gives_relevance_scores() -> None:
    retriever = ContextAssemblyRetriever.from_vectorstore(
        Thresholded(0.25, 0.5),
        search_type="similarity_score_threshold",
        search_kwargs={"score_threshold": 0.3},
        config=BY_DOCUMENT,
    )
    for (found,) in (retriever.invoke(QUERY), await retriever.ainvoke(QUERY)):
        assert found.metadata["scores"] == {"A#1": 0.75, "A#5": 0.5}


class Scoreless(Fixed):
    similarity_search_with_score = VectorStore.similarity_search_with_score

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return [document("A", 1), document("A", 5)]


@without_ids
async def test_a_store_without_scores_is_searched_all_the_same() -> None:
    retriever = ContextAssemblyRetriever.from_vectorstore(Scoreless(), config=BY_DOCUMENT)
    for (found,) in (retriever.invoke(QUERY), await retriever.ainvoke(QUERY)):
        assert found.metadata["chunk_ids"] == ["A#1", "A#5"]


# Neighbors and the search's filter


def test_a_store_or_an_assembler_of_ones_own_is_used() -> None:
    store = memory_store(CORPUS)
    by_store = ContextAssemblyRetriever.from_vectorstore(vector_store(CORPUS), store=store)
    assembler = ContextAssembler(store=store, config=AssemblyConfig(format="minimal"))
    by_assembler = ContextAssemblyRetriever.from_vectorstore(vector_store(CORPUS), assembler=assembler)
    assert by_store.invoke(QUERY)
    assert by_assembler.invoke(QUERY)
    assert store.round_trips == 2
    assert by_assembler.assembler.config.format == "minimal"


def ours(found: Document) -> bool:
    return bool(found.metadata["tenant"] == "ours")
