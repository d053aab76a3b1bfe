"""Answers kept for two places that one tenant may search: each is found again only where the same is searched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_community.vectorstores import FAISS
from langchain_core.caches import InMemoryCache
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from chain_samples import ANSWER, KEYWORD, Scripted
from ctxassembly import Chunk, FilterNotSeenWarning, Hit, MemoryIndex
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    ContextRetriever,
    VectorStoreNeighbors,
    answer_chain,
)
from langchain_samples import WordEmbeddings

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")

QUESTION = "When does the contract end?"
PLACES = {"staff": "The contract of Ms Vos ends on 30 June.", "public": "The contract with the city ends on 1 May."}
OURS = {"tenant": "ours"}
OPEN = ContextAssembler(neighbors="unfiltered")


class Given(NamedTuple):
    """A chain's retriever and assembler, and the input and the config of a call."""

    retriever: Any
    assembler: Any = None
    input: dict[str, Any] = {}  # noqa: RUF012
    config: dict[str, Any] = {}  # noqa: RUF012


class Own(BaseRetriever):
    """A retriever of a user's own, which knows its place."""

    place: str

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return filed(self.place)


class OwnStore(FAISS):
    """A vector store of a user's own."""


class KeepsAll(BaseDocumentCompressor):
    """A compressor of a user's own, which leaves out nothing."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        return documents


def filed(place: str) -> list[Document]:
    return [Document(PLACES[place], id=place, metadata={"source": f"{place}.pdf", "topic": place, **OURS})]


def hits(place: str) -> list[Hit]:
    return [Hit(Chunk(place, place, PLACES[place], 0))]


def filled(kind: Any, *places: str) -> Any:
    return kind.from_documents([document for place in places for document in filed(place)], WordEmbeddings())


FILES = {place: filled(FAISS, place).as_retriever() for place in PLACES}
ALL_FILES = filled(FAISS, *PLACES)
COMPRESSOR = KeepsAll()


def told(**given: Any) -> ContextAssembler:
    return ContextAssembler(filter=OURS, **given)


def ensemble(searched: Any) -> EnsembleRetriever:
    return EnsembleRetriever(retrievers=[searched, searched])


def compressed(searched: Any) -> ContextualCompressionRetriever:
    return ContextualCompressionRetriever(base_compressor=COMPRESSOR, base_retriever=searched)


def by_config(query: str, config: Any) -> list[Document]:
    return filed(config["configurable"]["place"])


def of_ours(found: Document) -> bool:
    return found.metadata["tenant"] == "ours"


def searching(place: str, **given: Any) -> ContextRetriever:
    """A retriever over one index for both, by a channel or a supplement of its own."""
    chunks = MemoryIndex([])
    return ContextRetriever(chunks, config=KEYWORD, assembler=OPEN, **given)


def placed(place: Any) -> dict[str, Any]:
    return {"configurable": {"place": place}}


PLACE = ConfigurableField("place")
BY_CONFIG = RunnableLambda(by_config)
NOTHING_MUCH = RunnableLambda(
    lambda query: [Document("A contract is a promise.", id="law", metadata={"source": "law.pdf"})]
)
ONE_OF_TWO = ensemble(FILES["staff"]).configurable_alternatives(
    PLACE, default_key="staff", public=ensemble(FILES["public"])
)
OF_ONE_OF_TWO = ensemble(FILES["staff"].configurable_alternatives(PLACE, default_key="staff", public=FILES["public"]))
PER_CALL = ensemble(FILES["staff"]).configurable_fields(retrievers=PLACE)
FOR_BOTH = compressed(ALL_FILES.as_retriever())
SEVERAL = {place: [searched, searched] for place, searched in FILES.items()}
WAYS: dict[str, Callable[[str], Given]] = {
    "EnsembleRetriever": lambda place: Given(ensemble(FILES[place]), told()),
    "with one store for both": lambda place: Given(
        ensemble(FILES[place]), told(store=VectorStoreNeighbors(ALL_FILES, id_of=lambda document_id, index: []))
    ),
    "with_retry": lambda place: Given(ensemble(FILES[place]).with_retry(), told()),
    "with_config": lambda place: Given(ensemble(FILES[place]).with_config(tags=["searched"]), told()),
    "a retriever of one's own": lambda place: Given(Own(place=place), told()),
    "a lambda": lambda place: Given(RunnableLambda(lambda query: filed(place)), told()),
    "a pipe": lambda place: Given(FILES[place] | RunnableLambda(lambda found: found), told()),
    "ContextAssemblyRetriever": lambda place: Given(
        ContextAssemblyRetriever(retriever=ensemble(FILES[place]), assembler=told())
    ),
    "alternatives": lambda place: Given(ONE_OF_TWO, told(), config=placed(place)),
    "alternatives inside": lambda place: Given(OF_ONE_OF_TWO, told(), config=placed(place)),
    "an object in the config": lambda place: Given(
        BY_CONFIG, told(), config={"configurable": {"place": place, "by": FILES[place]}}
    ),
    "fields of the call": lambda place: Given(PER_CALL, told(), config=placed(SEVERAL[place])),
    "by the config": lambda place: Given(BY_CONFIG, told(), config=placed(place)),
    "by a config that is bound": lambda place: Given(BY_CONFIG.with_config(placed(place)), told()),
    "a compressor for both": lambda place: Given(compressed(FILES[place]), told()),
    "a compressor, and a filter of the call": lambda place: Given(FOR_BOTH, told(), {"filter": {"topic": place}}),
    "a vector store of one's own": lambda place: Given(filled(OwnStore, place).as_retriever(), told()),
    "a filter by a function": lambda place: Given(
        filled(InMemoryVectorStore, place).as_retriever(search_kwargs={"filter": of_ours}), told()
    ),
    "open": lambda place: Given(ensemble(FILES[place]), OPEN),
    "open, by the config": lambda place: Given(BY_CONFIG, OPEN, config=placed(place)),
    "open, a vector store of one's own": lambda place: Given(filled(OwnStore, place).as_retriever(), OPEN),
    "open, a channel": lambda place: Given(searching(place, channels={"keyword": Own(place=place)})),
    "open, a function as a channel": lambda place: Given(
        searching(place, channels={"keyword": lambda query, limit, condition: hits(place)})
    ),
    "open, a supplement": lambda place: Given(
        ContextAssemblyRetriever(retriever=NOTHING_MUCH, assembler=OPEN, supplement=lambda query: PLACES[place])
    ),
}


async def _astreamed(chain: Any, asked: Any, config: Any) -> Any:
    return reduce(add, [piece async for piece in chain.astream(asked, config)])


HOW: dict[str, Callable[..., Any]] = {
    "invoke": lambda chain, asked, config: chain.invoke(asked, config),
    "astream": lambda chain, asked, config: asyncio.run(_astreamed(chain, asked, config)),
}


def asked_in_turn(given: dict[str, Given], how: str = "invoke", cache: Any = None) -> list[int]:
    """How often the model is asked, for each place in turn, twice; each answer has to rest on its place alone."""
    cache, asked = InMemoryCache() if cache is None else cache, []
    for place in (*PLACES, *PLACES):
        llm, one = Scripted(says=lambda messages: ANSWER), given[place]
        chain = answer_chain(llm, one.retriever, assembler=one.assembler, cache=cache)
        read = HOW[how](chain, {"input": QUESTION, **one.input}, one.config)["result"].context.text
        assert {name for name, text in PLACES.items() if text in read} == {place}
        asked.append(len(llm.asked))
    return asked


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("way", WAYS)
def test_an_answer_is_found_again_only_where_the_same_is_searched(way: str, how: str) -> None:
    assert asked_in_turn({place: WAYS[way](place) for place in PLACES}, how) == [1, 1, 0, 0]


def test_what_is_made_anew_is_searched_anew() -> None:
    cache = InMemoryCache()
    for _ in range(2):
        given = {place: Given(ensemble(FILES[place]), told()) for place in PLACES}
        assert asked_in_turn(given, cache=cache) == [1, 1, 0, 0]


def test_who_searches_by_a_function_is_told_to_give_the_filter_as_data() -> None:
    retriever = filled(InMemoryVectorStore, "staff").as_retriever(search_kwargs={"filter": of_ours})
    chain = answer_chain(Scripted(), retriever, assembler=ContextAssembler(filter=of_ours), cache=InMemoryCache())
    with pytest.warns(FilterNotSeenWarning, match=r"a function can't be compared .*filter=\{'tenant'"):
        chain.invoke({"input": QUESTION})


def test_a_call_that_can_not_be_compared_keeps_nothing_and_one_warning_says_so() -> None:
    chain = answer_chain(Scripted(), BY_CONFIG, assembler=told(), cache=(cache := InMemoryCache()))
    config = {"configurable": {"place": "staff", "database": object()}}
    with pytest.warns(FilterNotSeenWarning, match="Answers are not cached: an argument that is a object"):
        chain.invoke({"input": QUESTION}, config)
    chain.invoke({"input": QUESTION}, config)
    assert cache._cache == {}


def test_a_graph_s_own_entries_of_a_config_are_no_part_of_the_search() -> None:
    given = Given(ensemble(FILES["staff"]), told())
    llm = Scripted(says=lambda messages: ANSWER)
    chain = answer_chain(llm, given.retriever, assembler=given.assembler, cache=InMemoryCache())
    for step in "12":
        config = {"configurable": {"__pregel_read": print, "checkpoint_ns": f"answer:{step}", "thread_id": "1"}}
        chain.invoke({"input": QUESTION}, config)
    assert len(llm.asked) == 1
