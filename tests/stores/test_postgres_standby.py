"""An index on a hot standby, which replays what the primary server writes."""

from __future__ import annotations

import pytest

from attached_samples import searched
from ctxassembly import ChunkRef, StoreError
from ctxassembly.stores.postgres import PostgresIndex
from own_server import server_of_ones_own
from postgres_samples import chunks, embed
from standby import standby_of, wait_until_replayed


def test_a_standby_answers_while_the_primary_is_frozen_and_takes_no_chunks():
    with server_of_ones_own() as primary, standby_of(primary.url) as standby_url:
        written = PostgresIndex.create(primary.url, dimensions=16)
        written.add(chunks(), embed=embed, progress=False)
        wait_until_replayed(primary.url, standby_url)
        with primary.frozen():
            index = PostgresIndex.create(standby_url, dimensions=16)
            assert searched(index, "wheelchair") == ["lab#3"]
            assert [chunk.id for chunk in index.fetch([ChunkRef("lab", 1)])] == ["lab#1"]
            assert index.check().chunks == 5
        with pytest.raises(StoreError, match="read-only transaction"):
            index.add(chunks(["more"], "more"), embed=embed, progress=False)
