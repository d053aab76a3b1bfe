"""Neighbors from LlamaIndex's PGVectorStore on a real PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import sqlalchemy
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from llama_index.vector_stores.postgres import PGVectorStore
from sqlalchemy import NullPool, make_url

from ctxassembly import AssemblyConfig, ChunkRef, MetadataKeys
from ctxassembly.errors import ConfigError
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, PGVectorNeighbors
from llamaindex_samples import document, scored

# They are about other things: nobody here has a filter.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning")


@pytest.fixture
def store(database_url: str, request: pytest.FixtureRequest) -> PGVectorStore:
    """An empty store, whose metadata are JSON unless a test asks for "jsonb"."""
    url = make_url(database_url)
    return PGVectorStore(
        connection_string=url.set(drivername="postgresql+psycopg2"),
        async_connection_string=url.set(drivername="postgresql+asyncpg"),
        table_name="chunks",
        embed_dim=2,
        use_jsonb=getattr(request, "param", "json") == "jsonb",
        create_engine_kwargs={"poolclass": NullPool},
        initialization_fail_on_error=True,
    )


both_kinds_of_json = pytest.mark.parametrize("store", ["json", "jsonb"], indirect=True)


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Any:
    async def call(postprocessor: ContextAssemblyPostprocessor, nodes: list[NodeWithScore]) -> list[NodeWithScore]:
        if request.param == "sync":
            return postprocessor.postprocess_nodes(nodes)
        return await postprocessor.apostprocess_nodes(nodes)

    return call


@pytest.fixture
def statements(store: PGVectorStore) -> Iterator[list[tuple[str, Any]]]:
    """What goes over the wire, with its parameters, once the store is set up."""
    store._initialize()
    seen: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        seen.append((statement, parameters))

    assert store._engine is not None
    assert store._async_engine is not None
    engines = (store._engine, store._async_engine.sync_engine)
    for engine in engines:
        sqlalchemy.event.listen(engine, "before_cursor_execute", note)
    yield seen
    for engine in engines:
        sqlalchemy.event.remove(engine, "before_cursor_execute", note)


def fill(store: PGVectorStore, nodes: Sequence[TextNode]) -> None:
    store.add([node.model_copy(update={"embedding": [1.0, 0.0]}) for node in nodes])


def ids(labeled: Sequence[NodeWithScore]) -> list[str]:
    return [chunk_id for each in labeled for chunk_id in each.metadata["chunk_ids"]]


def only(key: str, operator: FilterOperator, value: Any) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key=key, operator=operator, value=value)])


@pytest.mark.parametrize("window", [1, 3])
async def test_links_take_one_statement_a_step_for_all_hits(
    store: PGVectorStore, run: Any, statements: list[Any], window: int
) -> None:
    a, b = document("A"), document("B", [f"{number} is a number." for number in range(8)])
    fill(store, [*a, *b])
    statements.clear()

    postprocessor = ContextAssemblyPostprocessor(vector_store=store, config=AssemblyConfig(window=window))
    labeled = await run(postprocessor, scored(a[4], b[4]))

    assert len(statements) == window
    assert (
        ids(labeled)
        == [
            *(f"A-{place}" for place in range(4 - window, 5 + window)),
            *(f"B-{place}" for place in range(4 - window, 5 + window)),
        ][: 2 * (2 * window + 1)]
    )
    assert all("embedding" not in statement for statement, _ in statements)


@pytest.mark.parametrize("key", ["chunk_index", "index", "place.number"])
async def test_an_index_in_the_metadata_takes_one_statement_for_all_hits(
    store: PGVectorStore, run: Any, statements: list[Any], key: str
) -> None:
    nodes = [*document("A", links="none"), *document("B", [f"{number} is a number." for number in range(8)], "none")]
    for node in nodes:
        place = int(node.node_id[2:])
        index = (place, f"{place}", float(place))[place % 3]
        node.start_char_idx = None
        node.metadata = {"place": {"number": index}} if "." in key else {key: index}
    fill(store, nodes)
    statements.clear()

    config = AssemblyConfig(window=2, keys=MetadataKeys(index=("chunk_index", "index", "place.number")))
    labeled = await run(ContextAssemblyPostprocessor(vector_store=store, config=config), scored(nodes[3], nodes[12]))

    assert len(statements) == 1
    assert ids(labeled) == ["A-1", "A-2", "A-3", "A-4", "A-5", "B-2", "B-3", "B-4", "B-5", "B-6"]
    assert labeled[0].metadata["trace"]["notes"] == []


async def test_a_row_that_llamaindex_did_not_write_is_a_chunk_too(store: PGVectorStore, statements: list[Any]) -> None:
    insert = sqlalchemy.text(
        "INSERT INTO data_chunks (node_id, text, metadata_, embedding) VALUES ('x', 'Text.', :metadata, '[1,0]')"
    )
    metadata = {"ref_doc_id": "A", "chunk_index": 4}
    with store._session() as session, session.begin():  # type: ignore[operator]
        session.execute(insert, {"metadata": json.dumps(metadata)})

    (chunk,) = PGVectorNeighbors(store).fetch([ChunkRef("A", 4)])

    assert (chunk.id, chunk.document_id, chunk.text, chunk.index) == ("x", "A", "Text.", 4)


# The caller's filter

TENANTS = ("mine", "O'Brien", "x' OR '1'='1", '"; DROP TABLE data_chunks; --', "%", "a:b", "é{}\\")


@both_kinds_of_json
async def test_a_filter_value_is_a_value_whatever_is_in_it(
    store: PGVectorStore, run: Any, statements: list[tuple[str, Any]]
) -> None:
    for number, tenant in enumerate(TENANTS):
        nodes = document(f"{number}")
        for place, node in enumerate(nodes):
            node.metadata["tenant"] = tenant if place in (2, 3, 5) else "somebody else"
        fill(store, nodes)
    for number, tenant in enumerate(TENANTS):
        statements.clear()
        filters = only("tenant", FilterOperator.EQ, tenant)
        postprocessor = ContextAssemblyPostprocessor(
            vector_store=store, filter=filters, config=AssemblyConfig(window=3)
        )
        labeled = await run(postprocessor, scored(document(f"{number}")[3]))

        assert ids(labeled) == [f"{number}-2", f"{number}-3"]
        assert all(tenant == "%" or tenant not in statement for statement, _ in statements)


async def test_a_document_id_or_a_key_is_a_value_too(store: PGVectorStore, run: Any) -> None:
    nodes = [*document("x' OR '1'='1"), *document("B", ["Other."])]
    for node in nodes:
        node.metadata["o'clock"] = 1
    fill(store, nodes)

    filters = only("o'clock", FilterOperator.EQ, 1)
    chunks = PGVectorNeighbors(store, filter=filters).fetch([ChunkRef("x' OR '1'='1")])

    assert len(chunks) == 8
    assert PGVectorNeighbors(store, filter=only("o'", FilterOperator.EQ, 1)).fetch([ChunkRef("B")]) == []


async def test_an_excluded_row_is_never_read(store: PGVectorStore, statements: list[Any]) -> None:
    nodes = document()
    nodes[4].metadata["tenant"] = "mine"
    fill(store, nodes)

    chunks = PGVectorNeighbors(store, filter=only("tenant", FilterOperator.EQ, "mine")).fetch([ChunkRef("A")])

    assert [chunk.id for chunk in chunks] == ["A-4"]


async def test_the_filter_of_the_store_and_that_of_the_postprocessor_both_hold(store: PGVectorStore, run: Any) -> None:
    nodes = document()
    for place, node in enumerate(nodes):
        node.metadata |= {"tenant": "theirs" if place == 0 else "mine", "draft": int(place == 4)}
    fill(store, nodes)
    mine, final = only("tenant", FilterOperator.EQ, "mine"), only("draft", FilterOperator.EQ, 0)
    own = PGVectorNeighbors(store, filter=mine)
    assembling = ContextAssemblyPostprocessor(store=own, filter=final, config=AssemblyConfig(window=2))
    assert ids(await run(assembling, scored(nodes[2]))) == ["A-1", "A-2", "A-3"]


ROWS: dict[str, dict[str, Any]] = {
    "seven": {"n": 7, "word": "b", "groups": ["x", "y"]},
    "text": {"n": "7", "word": "c", "groups": ["z"]},
    "float": {"n": 7.5, "word": "a"},
    "zeros": {"n": "007", "word": "B"},
    "words": {"n": "seven", "word": "b"},
    "huge": {"n": "1e999999", "word": "d"},
    "none": {"n": None},
    "absent": {},
}
EVERY = [
    (only("n", FilterOperator.EQ, 7), {"seven", "text", "zeros"}),
    (only("n", FilterOperator.EQ, "7"), {"seven", "text"}),
    (only("n", FilterOperator.EQ, "007"), {"zeros"}),
    (only("n", FilterOperator.EQ, "nan"), set()),
    (only("n", FilterOperator.NE, 7), {"float"}),
    (only("n", FilterOperator.NE, "7"), {"float"}),
    (only("n", FilterOperator.GT, 7), {"float"}),
    (only("n", FilterOperator.LT, 10**400), {"seven", "text", "float", "zeros"}),
    (only("n", FilterOperator.GTE, "7"), {"seven", "text", "float", "zeros"}),
    (only("n", FilterOperator.LT, 7.5), {"seven", "text", "zeros"}),
    (only("n", FilterOperator.LTE, 7.5), {"seven", "text", "zeros", "float"}),
    (only("word", FilterOperator.EQ, "b"), {"seven", "words"}),
    (only("word", FilterOperator.NE, "b"), {"text", "float", "zeros", "huge"}),
    (only("word", FilterOperator.GTE, "c"), {"text", "huge"}),
    (only("word", FilterOperator.LT, "nan"), {"seven", "text", "float", "zeros", "words", "huge"}),
    (only("word", FilterOperator.IN, ["a", "c"]), {"float", "text"}),
    (only("word", FilterOperator.IN, []), set()),
    (only("word", FilterOperator.NIN, ["a", "b"]), {"text", "zeros", "huge"}),
    (only("word", FilterOperator.NIN, []), {"seven", "text", "float", "zeros", "words", "huge"}),
    (only("n", FilterOperator.IN, [7, 8]), {"seven", "text"}),
    (only("groups", FilterOperator.ANY, ["y", "z"]), {"seven", "text"}),
    (only("groups", FilterOperator.ALL, ["x", "y"]), {"seven"}),
    (only("groups", FilterOperator.CONTAINS, "y"), {"seven"}),
    (only("groups", FilterOperator.CONTAINS, "%"), set()),
    (only("word", FilterOperator.CONTAINS, "b"), set()),
    (only("word", FilterOperator.TEXT_MATCH, "b"), {"seven", "words"}),
    (only("word", FilterOperator.TEXT_MATCH, "B"), {"zeros"}),
    (only("word", FilterOperator.TEXT_MATCH_INSENSITIVE, "B"), {"seven", "words", "zeros"}),
    (only("word", FilterOperator.TEXT_MATCH, "_"), set()),
    (only("word", FilterOperator.TEXT_MATCH, "b\\"), set()),
    (only("n", FilterOperator.TEXT_MATCH, "7"), {"text", "zeros"}),
    (only("word", FilterOperator.IS_EMPTY, None), {"none", "absent"}),
    (only("ref_doc_id", FilterOperator.EQ, "A"), set(ROWS)),
    (MetadataFilters(filters=[]), set(ROWS)),
    (
        MetadataFilters(
            filters=[
                MetadataFilter(key="word", value="a"),
                MetadataFilters(filters=[MetadataFilter(key="word", value="b"), MetadataFilter(key="n", value=7)]),
            ],
            condition=FilterCondition.OR,
        ),
        {"float", "seven"},
    ),
    (MetadataFilters(filters=[MetadataFilter(key="word", value="b")], condition=None), {"seven", "words"}),
]


def rows_as_nodes() -> list[TextNode]:
    nodes = document("A", [f"Text of {name}." for name in ROWS])
    for node, (name, metadata) in zip(nodes, ROWS.items(), strict=True):
        node.id_, node.metadata = name, metadata
    return nodes


@both_kinds_of_json
async def test_each_operator_lets_through_what_it_says(store: PGVectorStore) -> None:
    fill(store, rows_as_nodes())
    for filters, expected in EVERY:
        neighbors = PGVectorNeighbors(store, filter=filters)
        fetched, awaited = neighbors.fetch([ChunkRef("A")]), await neighbors.afetch([ChunkRef("A")])

        assert {chunk.id for chunk in fetched} == {chunk.id for chunk in awaited} == expected, filters


@both_kinds_of_json
def test_no_operator_lets_through_what_the_store_itself_would_not(store: PGVectorStore) -> None:
    # The store fails as a whole where a row's value is no number and one is asked for.
    fill(store, [node for node in rows_as_nodes() if node.node_id not in ("words", "huge")])
    compared = 0
    for filters, _ in EVERY:
        ours = {chunk.id for chunk in PGVectorNeighbors(store, filter=filters).fetch([ChunkRef("A")])}
        try:
            theirs = {node.node_id for node in store.get_nodes(filters=filters)}
        except (sqlalchemy.exc.SQLAlchemyError, sqlalchemy.exc.SADeprecationWarning, ValueError, OverflowError):
            continue  # it can't take nan, huge numbers, an empty list or no filter at all, and asks for a condition
        assert ours <= theirs, filters
        compared += 1
    assert compared >= 18


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (only("n", FilterOperator.TEXT_MATCH, 7), "filter on 'n' must be a string for TEXT_MATCH, got 7"),
        (only("n", FilterOperator.CONTAINS, 7), "a string for CONTAINS"),
        (only("n", FilterOperator.IN, "abc"), "a list for IN"),
        (only("n", FilterOperator.EQ, ["a"]), "a string or a number for EQ"),
        (only("n", FilterOperator.EQ, None), "a string or a number for EQ"),
        (MetadataFilters(filters=[only("n", FilterOperator.TEXT_MATCH, None)]), "TEXT_MATCH"),
    ],
)
def test_a_filter_that_is_not_translated_is_an_error_at_construction(filters: MetadataFilters, message: str) -> None:
    unreachable = PGVectorStore(connection_string="postgresql+psycopg2://", async_connection_string="", table_name="t")

    with pytest.raises(ConfigError, match=message):
        ContextAssemblyPostprocessor(vector_store=unreachable, filter=filters)
