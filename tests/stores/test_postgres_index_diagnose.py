"""`diagnose` over an index in PostgreSQL: each layer, and two tenants of whom each reads its own rows alone."""

from __future__ import annotations

import pytest

from ctxassembly import AssemblyConfig, RetrievalConfig
from ctxassembly.evaluate import Evidence, LabeledQuestion, diagnose
from ctxassembly.stores.postgres import PostgresIndex
from postgres_samples import TEXTS, chunks, embed, embed_query

NORTH = chunks(TEXTS, "north", tenant="north")
SOUTH = chunks([f"In the south: {text}" for text in TEXTS], "south", tenant="south")


@pytest.fixture
def tenants(database_url: str) -> PostgresIndex:
    index = PostgresIndex.create(database_url, table="tenants", dimensions=16)
    both = [*NORTH, *SOUTH]
    index.add(both, embed([chunk.text for chunk in both]))
    return index


def asked(*evidence: Evidence) -> list[LabeledQuestion]:
    return [LabeledQuestion("When is ferritin measured?", evidence, filter={"tenant": "north"})]


def test_each_piece_of_evidence_has_its_layer(tenants: PostgresIndex):
    questions = asked(
        Evidence(quotation="in the morning, before breakfast"),
        Evidence(quotation="the desk has a wheelchair"),
        Evidence("north", chunk_id="north#2"),
        Evidence(quotation="Insurance pays for it"),
        Evidence("west"),
    )
    retrieval = RetrievalConfig(limit=2, rescue="off")
    assembly = AssemblyConfig(window=0)
    report = diagnose(questions, index=tenants, embed=embed_query, retrieval=retrieval, assembly=assembly)
    assert [row.layer for row in report.rows] == [
        None,
        "ranked out",
        "ranked out",
        "not in the corpus",
        "not in the corpus",
    ]
    assert [row.chunk_id for row in report.rows[1:3]] == ["north#3", "north#2"]


@pytest.mark.parametrize(
    "evidence",
    [
        Evidence("south"),
        Evidence("south", chunk_id="south#0"),
        Evidence(quotation="In the south: Ferritin is measured"),
    ],
)
def test_what_the_filter_excludes_is_named_by_its_id_alone(tenants: PostgresIndex, evidence: Evidence):
    report = diagnose(asked(evidence), index=tenants, embed=embed_query)
    [row] = report.rows
    assert (row.layer, row.chunk_id, row.remedies) == ("filtered", "south#0", {})
    quoted = evidence.quotation or ""
    assert "In the south" not in (repr(report) + str(report) + report.to_html()).replace(quoted, "")
