"""`PostgresIndex.attach` on tables as people name them: schemas, capitals, columns of their own, many dimensions."""

from __future__ import annotations

import pytest
from langchain_postgres import PGEngine, PGVectorStore
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.vector_stores.postgres import PGVectorStore as LlamaIndexPGVectorStore
from sqlalchemy import NullPool, make_url

from attached_samples import Hashed, names, searched
from ctxassembly import ChunkRef, MetadataKeys, PostgresIndex, retrieve
from ctxassembly.data.requests import SearchChunks
from postgres_samples import TEXTS, embed, embed_query, execute

SCHEMA, TABLE = "Other Schema", "Mixed Case %s"
KEY, BODY, VECTOR, METADATA, DOCUMENT, PLACE, TENANT = (
    *("Chunk Id", "The Body", "eMbedding", "Meta:data", "documentId", "Chunk-No", "o'tenant"),
)
KEYS = MetadataKeys(document_id=DOCUMENT, index=PLACE)


@pytest.fixture
def oddly_named(engine: PGEngine, database_url: str) -> PGVectorStore:
    own = f'"{DOCUMENT}" varchar(40), "{PLACE}" smallint, "{TENANT}" text'
    rows = [
        f"""('lab#{at}', '{text.replace("'", "''")}', '{vector}', '{{"n": {at}}}', 'lab', {at}, '{"ab"[at % 2]}')"""
        for at, (text, vector) in enumerate(zip(TEXTS, embed(list(TEXTS)), strict=True))
    ]
    execute(
        database_url,
        f'CREATE SCHEMA "{SCHEMA}"',
        f'CREATE TABLE "{SCHEMA}"."{TABLE}" ("{KEY}" text PRIMARY KEY, "{BODY}" text NOT NULL,'
        f' "{VECTOR}" vector(16) NOT NULL, "{METADATA}" json, {own})',
        f'INSERT INTO "{SCHEMA}"."{TABLE}" VALUES {", ".join(rows)}',
    )
    return PGVectorStore.create_sync(
        engine,
        Hashed(),
        TABLE,
        SCHEMA,
        id_column=KEY,
        content_column=BODY,
        embedding_column=VECTOR,
        metadata_json_column=METADATA,
        metadata_columns=[DOCUMENT, PLACE, TENANT],
    )


def test_any_names_will_do_for_a_langchain_table(oddly_named: PGVectorStore):
    index = PostgresIndex.attach(oddly_named, keys=KEYS, title=TENANT)
    assert PostgresIndex.attach(oddly_named, dry_run=True, keys=KEYS, title=TENANT).steps == ()
    found = retrieve("When is ferritin measured?", index=index, embed=Hashed()).hits[0].chunk
    assert (found.id, found.document_id, found.index) == ("lab#0", "lab", 0)
    assert found.metadata == {"n": 0, DOCUMENT: "lab", PLACE: 0, TENANT: "a"} | {
        key: value for key, value in found.metadata.items() if key not in ("n", DOCUMENT, PLACE, TENANT)
    }
    assert names(index.fetch([ChunkRef("lab", 1), ChunkRef("lab", chunk_id="lab#4")])) == ["lab#1", "lab#4"]
    for condition in ({TENANT: "b"}, {"n": {"$in": [1, 3]}}, {PLACE: {"$in": [1, 3]}}, {DOCUMENT: "lab", TENANT: "b"}):
        assert names(index.search(SearchChunks(9, embed_query("x"), None, condition))) == ["lab#1", "lab#3"]
        assert searched(index, " ".join(TEXTS), condition) == ["lab#1", "lab#3"]
    assert searched(index, "b") == ["lab#1", "lab#3"]  # a column as title
    assert index.check().missing_indexes == ()
    index.refresh()


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_llamaindex_table_of_another_schema_and_case_is_searched(database_url: str, hybrid: bool):
    """Its own hybrid search has a column of words, too, which stays as it is."""
    url = make_url(database_url)
    store = LlamaIndexPGVectorStore(
        connection_string=url.set(drivername="postgresql+psycopg2"),
        async_connection_string=url.set(drivername="postgresql+asyncpg"),
        table_name="Patient_Leaflets",
        schema_name="knowledge",
        embed_dim=16,
        use_jsonb=True,
        hybrid_search=hybrid,
        text_search_config="dutch",
        indexed_metadata_keys={("tenant", "text")},
        hnsw_kwargs={"hnsw_m": 16, "hnsw_ef_construction": 64, "hnsw_ef_search": 40},
        create_engine_kwargs={"poolclass": NullPool},
    )
    store.add(
        [
            TextNode(
                id_=f"lab#{at}",
                text=text,
                metadata={"chunk_index": at, "tenant": "ab"[at % 2]},
                relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="lab")},
                embedding=vector,
            )
            for at, (text, vector) in enumerate(zip(TEXTS, embed(list(TEXTS)), strict=True))
        ]
    )
    plan = str(PostgresIndex.attach(store, dry_run=True))
    assert '"knowledge"."data_patient_leaflets"' in plan
    assert "hnsw" not in plan  # its own serves
    index = PostgresIndex.attach(store)
    assert PostgresIndex.attach(store, dry_run=True).steps == ()
    assert retrieve("wheelchair", index=index, embed=embed_query, filter={"tenant": "b"}).hits[0].chunk.id == "lab#3"
    assert names(index.fetch([ChunkRef("lab", 1)])) == ["lab#1"]
    assert index.check().missing_indexes == ()
