"""`assemble_many` over an index in Postgres, in this process and in workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from databases import new_database
from sqlalchemy import make_url
from tenants import QUESTION, chunks

from ctxassembly import ConfigError, RetrievalConfig
from ctxassembly.batch import assemble_many
from ctxassembly.stores.postgres import PostgresIndex
from ctxassembly.stores.postgres.migrate import make_server
from postgres_samples import embed, embed_query

CONFIG = RetrievalConfig(on_search_error="raise")


@pytest.fixture(scope="module")
def tenants(server_url: str) -> Iterator[PostgresIndex]:
    """An index whose tenants' chunks are of one document, so that they are neighbors of each other."""
    stored = [replace(chunk, document_id="contracts", index=at) for at, chunk in enumerate(chunks())]
    with new_database(server_url) as url:
        index = PostgresIndex.create(url, dimensions=16)
        index.add(stored, embed=embed, progress=False)
        yield index


@pytest.mark.parametrize("workers", [1, 2])
def test_each_tenant_reads_its_own_and_a_second_run_resumes(tenants: PostgresIndex, workers: int, tmp_path: Path):
    questions = [
        {"id": f"{name}-{number}", "question": QUESTION, "filter": {"tenant": name}}
        for number in range(5)
        for name in ("ours", "theirs")
    ]
    found = {}
    for made, resumed in ((4, 0), (6, 4)):
        batch = assemble_many(
            questions[: made + resumed],
            index=tenants,
            retrieval=CONFIG,
            embed=embed_query,
            workers=workers,
            out=tmp_path / "contexts.jsonl",
            progress=False,
        )
        found = {row.id: row.context for row in batch}
        assert str(batch.summary) == f"made {made}, resumed {resumed}, failed 0"
    assert list(found) == [question["id"] for question in questions]
    for name, context in found.items():
        assert context
        tenant = name.partition("-")[0]
        assert {source.chunk_id for source in context.provenance} == {f"{tenant}#0", f"{tenant}#1"}


def test_a_password_goes_to_workers_only_if_asked(tenants: PostgresIndex):
    url = make_url(tenants.server.url).set(password="secret").render_as_string(hide_password=False)
    index = replace(tenants, server=make_server(url, 200))
    with pytest.raises(ConfigError, match="or give pickle_password=True"):
        assemble_many([QUESTION], index=index, embed=embed_query, workers=2)
    assemble_many([QUESTION], index=index, embed=embed_query)
    sendable = replace(index, server=make_server(url, 200, pickles_password=True))
    assemble_many([QUESTION], index=sendable, embed=embed_query, workers=2)
