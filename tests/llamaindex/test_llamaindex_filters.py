"""A filter means one thing in Python and in SQL, and never more than LlamaIndex's own stores make of it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any

import chromadb
import pytest
import sqlalchemy
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core import VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from llama_index.core.vector_stores.utils import build_metadata_filter_fn
from llama_index.vector_stores.chroma import ChromaVectorStore
from llama_index.vector_stores.postgres import PGVectorStore
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient
from sqlalchemy import NullPool, make_url

from ctxassembly import Chunk, ChunkRef, MemoryStore, MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.stores.postgres.filters import build_llamaindex_condition
from llamaindex_ctxassembly import AnswerQueryEngine, ContextAssemblyPostprocessor, PGVectorNeighbors
from llamaindex_ctxassembly.filters import filter_chunks, normalize_filters
from llamaindex_ctxassembly.nodes import to_chunk
from llamaindex_samples import WordEmbedding

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")

NOTHING = MetadataFilters(filters=[])


def one(key: str, operator: FilterOperator, value: Any) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key=key, operator=operator, value=value)])


def group(condition: FilterCondition | None, *filters: MetadataFilter | MetadataFilters) -> MetadataFilters:
    return MetadataFilters(filters=list(filters), condition=condition)


def allows(filters: MetadataFilters, metadata: Mapping[str, Any]) -> bool:
    return bool(filter_chunks(filters, [Chunk("n", "D", "Text.", metadata=metadata)]))


# What it means

METADATA = {"tenant": "a", "title": "The Annual report", "year": 2020, "groups": ["x", "y"], "document_id": "mine"}
MINE = one("tenant", FilterOperator.EQ, "mine")
THAT_YEAR = one("year", FilterOperator.EQ, 2020)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (NOTHING, True),
        (group(FilterCondition.OR), True),
        (one("tenant", FilterOperator.EQ, "a"), True),
        (one("tenant", FilterOperator.EQ, "b"), False),
        (one("gone", FilterOperator.EQ, "a"), False),
        (one("year", FilterOperator.GTE, 2020), True),
        (one("year", FilterOperator.LT, 2020), False),
        (one("tenant", FilterOperator.IN, ["a", "b"]), True),
        (one("tenant", FilterOperator.NIN, ["a", "b"]), False),
        (one("groups", FilterOperator.ANY, ["y", "z"]), True),
        (one("groups", FilterOperator.ALL, ["y", "z"]), False),
        (one("groups", FilterOperator.CONTAINS, "y"), True),
        (one("title", FilterOperator.TEXT_MATCH, "Annual report"), True),
        (one("title", FilterOperator.TEXT_MATCH_INSENSITIVE, "report"), True),
        (one("title", FilterOperator.TEXT_MATCH, "wool"), False),
        (one("gone", FilterOperator.TEXT_MATCH, "wool"), False),
        (one("gone", FilterOperator.IS_EMPTY, None), True),
        # What vector stores keep under these keys is the document.
        (one("ref_doc_id", FilterOperator.EQ, "D"), True),
        (one("document_id", FilterOperator.EQ, "mine"), False),
        (group(FilterCondition.OR, MINE, THAT_YEAR), True),
        (group(FilterCondition.AND, MINE, THAT_YEAR), False),
        (group(None, MINE, THAT_YEAR), False),
        (group(FilterCondition.NOT, MINE), True),
        (group(FilterCondition.NOT, MINE, THAT_YEAR), False),
    ],
)
def test_conditions_mean_what_they_mean_to_every_store(filters: MetadataFilters, expected: bool) -> None:
    assert allows(filters, METADATA) is expected


@pytest.mark.parametrize("empty", [NOTHING, group(FilterCondition.OR), group(FilterCondition.AND, NOTHING, NOTHING)])
def test_a_group_in_which_no_condition_stands_neither_opens_nor_closes_anything(empty: MetadataFilters) -> None:
    assert normalize_filters(empty) is None
    assert allows(group(FilterCondition.OR, MINE, empty), METADATA) is False
    assert allows(group(FilterCondition.AND, THAT_YEAR, empty), METADATA) is True
    assert allows(group(FilterCondition.NOT, MINE, empty), METADATA) is True
    assert allows(group(FilterCondition.OR, group(FilterCondition.AND, MINE, empty)), METADATA) is False


@pytest.mark.parametrize(
    ("filters", "metadata"),
    [
        # Qdrant and Postgres don't return these, other stores do.
        (one("tenant", FilterOperator.NE, "b"), {}),
        (one("tenant", FilterOperator.NIN, ["b"]), {"tenant": None}),
        # A part of a text is no element of it, whatever the simple vector store says.
        (one("groups", FilterOperator.ANY, ["admin"]), {"groups": "not-admin"}),
        (one("groups", FilterOperator.ALL, ["ad", "min"]), {"groups": "admin"}),
        # Values of two kinds, or that can't be compared at all.
        (one("year", FilterOperator.GT, 2019), {"year": "2020"}),
        (one("year", FilterOperator.TEXT_MATCH, "20"), {"year": 2020}),
        (one("year", FilterOperator.CONTAINS, 2), {"year": 2020}),
        # Words to Qdrant, which finds them in any order; a part of the text to others, which may mind the case.
        (one("tenant", FilterOperator.TEXT_MATCH, "min"), {"tenant": "admin"}),
        (one("tenant", FilterOperator.TEXT_MATCH, "b a"), {"tenant": "a b"}),
        (one("tenant", FilterOperator.TEXT_MATCH, "a"), {"tenant": "a-b"}),
        (one("tenant", FilterOperator.TEXT_MATCH_INSENSITIVE, "A"), {"tenant": "a"}),
        (one("tenant", FilterOperator.TEXT_MATCH, ""), {"tenant": "a"}),
    ],
)
def test_where_stores_differ_or_fail_nothing_passes_under_not_neither(
    filters: MetadataFilters, metadata: dict[str, Any]
) -> None:
    assert not allows(filters, metadata)
    if filters.filters[0].operator not in (FilterOperator.ANY, FilterOperator.ALL):  # type: ignore[union-attr]
        assert not allows(group(FilterCondition.NOT, filters), metadata)
        assert allows(group(FilterCondition.OR, filters, one("x", FilterOperator.IS_EMPTY, None)), metadata)


def test_a_value_that_cannot_be_compared_passes_nothing_and_raises_nothing() -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError

        __hash__ = None  # type: ignore[assignment]

    assert not allows(one("tenant", FilterOperator.EQ, "a"), {"tenant": Odd()})
    assert not allows(one("tenant", FilterOperator.NE, "a"), {"tenant": Odd()})


@pytest.mark.parametrize("operator", ["IN", "NIN", "ANY", "ALL"])
def test_an_operator_on_lists_needs_a_list(operator: str) -> None:
    # "mine" is in "not-mine" to the simple vector store, and Qdrant splits it at commas.
    with pytest.raises(ConfigError, match=f"filter on 'tenant' must be a list for {operator}, got 'not-mine'"):
        normalize_filters(group(FilterCondition.OR, one("tenant", FilterOperator[operator], "not-mine")))


# Nothing more than the stores themselves

TEXTS, NUMBERS = ("a", "b", "ab", "B", "O'Brien"), (-1, 0, 7, 2020)
TITLES = ("a b", "b a", "A ab", "ab-a", "abc", "b", "a  b", "a_b")
VALUES: dict[str, tuple[Any, ...]] = {"tenant": TEXTS, "year": NUMBERS, "groups": (["a"], ["a", "b"], ["ab"])}
ROWS: list[dict[str, Any]] = [
    {"title": TITLES[(len(str(tenant)) * 3 + len(str(year))) % len(TITLES)]}
    | {key: value for key, value in zip(VALUES, values, strict=True) if value != "absent"}
    for tenant in (*TEXTS, None, "absent")
    for year in (*NUMBERS, None, "absent")
    for values in [(tenant, year, VALUES["groups"][(len(str(tenant)) + len(str(year))) % 3])]
]
ORDER = (FilterOperator.GT, FilterOperator.GTE, FilterOperator.LT, FilterOperator.LTE)
EQUAL = (FilterOperator.EQ, FilterOperator.NE)
MANY = (FilterOperator.IN, FilterOperator.NIN)


def a_condition(key: str, operators: tuple[FilterOperator, ...], values: st.SearchStrategy[Any]) -> Any:
    return st.builds(MetadataFilter, key=st.just(key), operator=st.sampled_from(operators), value=values)


def filters_of(
    *among: FilterCondition, contains: bool = False, match: bool = False
) -> st.SearchStrategy[MetadataFilters]:
    """Random filters, flat and nested, of the groups in `among`."""
    texts, numbers = st.sampled_from(TEXTS[:4]), st.sampled_from(NUMBERS)
    some = st.one_of(
        a_condition("tenant", (*EQUAL, *ORDER), texts),
        a_condition("tenant", MANY, st.lists(texts, min_size=1, max_size=3)),
        a_condition("year", (*EQUAL, *ORDER), numbers),
        a_condition("year", MANY, st.lists(numbers, min_size=1, max_size=3)),
        a_condition("groups", (FilterOperator.ANY, FilterOperator.ALL), st.lists(texts, min_size=1, max_size=2)),
        a_condition("gone", EQUAL, texts),
        st.sampled_from(("tenant", "gone")).map(
            lambda key: MetadataFilter(key=key, operator=FilterOperator.IS_EMPTY, value=None)
        ),
    )

    if contains:  # which Qdrant doesn't know
        some |= a_condition("groups", (FilterOperator.CONTAINS,), texts)
    if match:  # which Qdrant does by words, others within them
        some |= a_condition(
            "title",
            (FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE),
            st.sampled_from((*TITLES, "A", " a", "")),
        )

    def groups(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[MetadataFilters]:
        return st.builds(MetadataFilters, filters=st.lists(inner, max_size=3), condition=st.sampled_from(among))

    return st.one_of(groups(some), groups(st.recursive(some, groups, max_leaves=6))).filter(says_something)


def says_something(filters: MetadataFilters) -> bool:
    """Whether each group is empty or holds a condition: of empty groups in a group Qdrant makes all or nothing."""
    inner = [each for each in filters.filters if isinstance(each, MetadataFilters)]
    return all(map(says_something, inner)) and (not filters.filters or normalize_filters(filters) is not None)


WITH_NOT = filters_of(FilterCondition.AND, FilterCondition.OR, FilterCondition.NOT, match=True)
WITHOUT_NOT = filters_of(FilterCondition.AND, FilterCondition.OR, contains=True, match=True)
ONE_READING = filters_of(FilterCondition.AND, FilterCondition.OR, contains=True)
many = settings(max_examples=80, deadline=None)


def nodes() -> list[TextNode]:
    made = []
    for place, metadata in enumerate(ROWS):
        name = str(uuid.UUID(int=place))  # Qdrant takes no other ids
        node = TextNode(id_=name, text=f"Text {place}.", metadata=dict(metadata), embedding=[1.0, 0.0])
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="D")
        made.append(node)
    return made


def ours(filters: MetadataFilters) -> set[str]:
    return {chunk.id for chunk in filter_chunks(filters, [to_chunk(node, MetadataKeys()) for node in nodes()])}


@pytest.fixture(scope="module")
def postgres(module_database_url: str) -> PGVectorStore:
    url = make_url(module_database_url)
    store = PGVectorStore(
        connection_string=url.set(drivername="postgresql+psycopg2"),
        async_connection_string=url.set(drivername="postgresql+asyncpg"),
        table_name="filtered",
        embed_dim=2,
        create_engine_kwargs={"poolclass": NullPool},
        initialization_fail_on_error=True,
    )
    store.add(nodes())
    return store


Answer = Callable[[MetadataFilters], set[str]]
Refusal = type[Exception] | tuple[type[Exception], ...]


def simple() -> Answer:
    found = {node.node_id: node.metadata for node in nodes()}

    def answer(filters: MetadataFilters) -> set[str]:
        return {each for each in found if build_metadata_filter_fn(found.__getitem__, filters)(each)}

    return answer


def chroma() -> Answer:
    store = ChromaVectorStore(chromadb.EphemeralClient().create_collection(f"filtered-{uuid.uuid4().hex}"))
    for node in nodes():
        del node.metadata["groups"]  # it keeps no lists
        store.add([node])
    return lambda filters: {node.node_id for node in store.get_nodes(None, filters=filters)}  # type: ignore[arg-type]


def qdrant() -> Answer:
    store = QdrantVectorStore("filtered", client=QdrantClient(":memory:"))
    store.add(nodes())  # type: ignore[arg-type]
    return lambda filters: {node.node_id for node in store.get_nodes(filters=filters)}


THEIRS: dict[str, tuple[Callable[[], Answer], Refusal, int]] = {
    "simple": (simple, ValueError, 15),
    "chroma": (chroma, ValueError, 10),
    "qdrant": (qdrant, (NotImplementedError, ValueError), 25),
}
"""How to ask it, what it raises of filters that it doesn't know, and how many of 80 it knows at least."""


@pytest.fixture(params=THEIRS, scope="module")
def theirs(request: pytest.FixtureRequest) -> Iterator[tuple[Answer, Refusal, int]]:
    made, refusal, at_least = THEIRS[request.param]
    return made(), refusal, at_least


def test_what_passes_would_have_been_returned_by_each_store_itself(theirs: tuple[Answer, Refusal, int]) -> None:
    answer, refusal, at_least = theirs
    compared = 0

    @many
    @given(WITH_NOT)
    def check(filters: MetadataFilters) -> None:
        nonlocal compared
        try:
            answered = answer(filters)
        except refusal:
            return
        compared += 1
        assert ours(filters) <= answered

    check()
    assert compared >= at_least


def test_sql_lets_through_what_python_does_or_less(postgres: PGVectorStore) -> None:
    passed = 0

    @many
    @given(ONE_READING)
    def check(filters: MetadataFilters) -> None:
        nonlocal passed
        fetched = {chunk.id for chunk in PGVectorNeighbors(postgres, filter=filters).fetch([ChunkRef("D")])}
        assert fetched <= ours(filters)
        passed += 0 < len(fetched) < len(ROWS)

    check()
    assert passed >= 15


def test_sql_lets_through_what_the_postgres_store_itself_does_or_less(postgres: PGVectorStore) -> None:
    compared = 0

    @many
    @given(WITHOUT_NOT.filter(lambda filters: normalize_filters(filters) is not None))
    def check(filters: MetadataFilters) -> None:
        nonlocal compared
        try:
            answered = {node.node_id for node in postgres.get_nodes(filters=filters)}
        except sqlalchemy.exc.SADeprecationWarning:
            return  # it can't take an empty group
        compared += 1
        fetched = {chunk.id for chunk in PGVectorNeighbors(postgres, filter=filters).fetch([ChunkRef("D")])}
        assert fetched <= answered

    check()
    assert compared >= 15


# Filters that are too large


TENANT = MetadataFilter(key="tenant", value="ours")
TOO_MUCH: dict[str, tuple[MetadataFilters, str]] = {
    "deep": (reduce(lambda inner, _: group(FilterCondition.AND, inner), range(5_000), group(None, TENANT)), "levels"),
    "wide": (group(FilterCondition.OR, *[TENANT] * 3_000), "1000 conditions, got 3000$"),
    "long in": (one("tenant", FilterOperator.IN, ["ours"] * 100_001), "100000 values in lists, got 100001$"),
}


def by_engine(filters: MetadataFilters) -> Any:
    nodes = [TextNode(text="Ferritin.", metadata={"tenant": "ours", "file_name": "lab.pdf"})]
    index = VectorStoreIndex(nodes, embed_model=WordEmbedding())
    return AnswerQueryEngine(MockLLM(), index.as_retriever(filters=filters)).query("Ferritin?")


READERS: dict[str, Callable[[MetadataFilters], Any]] = {
    "in memory": lambda filters: filter_chunks(filters, [Chunk("n", "D", "Text.")]),
    "in SQL": lambda filters: build_llamaindex_condition(normalize_filters(filters), sqlalchemy.column("metadata_")),
    "a postprocessor": lambda filters: ContextAssemblyPostprocessor(
        store=MemoryStore([]), filter=filters
    ).postprocess_nodes([NodeWithScore(node=TextNode(text="Ferritin."), score=1.0)], query_str="Ferritin?"),
    "an engine": by_engine,
}


@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", TOO_MUCH)
def test_filters_beyond_the_limits_are_refused_at_once(reader: str, name: str) -> None:
    filters, words = TOO_MUCH[name]
    began = time.monotonic()
    with pytest.raises(ConfigError, match=words.rstrip("$")) as caught:
        READERS[reader](filters)
    assert time.monotonic() - began < 3
    assert "filter must be a filter of at most" in str(caught.value)
    assert len(str(caught.value)) < 400
