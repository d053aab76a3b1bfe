"""`diagnose` over an index in PostgreSQL: each layer, and two tenants of whom each reads its own rows alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxassembly import AssemblyConfig, RetrievalConfig
from ctxassembly.evaluate import Evidence, LabeledQuestion, diagnose, tune
from ctxassembly.evaluate.__main__ import main
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
    ids=lambda one: one.kind,
)
def test_what_the_filter_excludes_is_named_by_its_id_alone(tenants: PostgresIndex, evidence: Evidence):
    report = diagnose(asked(evidence), index=tenants, embed=embed_query)
    [row] = report.rows
    assert (row.layer, row.chunk_id, row.remedies) == ("filtered", "south#0", ())
    quoted = evidence.quotation or ""
    assert "In the south" not in (repr(report) + str(report) + report.to_html()).replace(quoted, "")


def test_settings_are_tuned(tenants: PostgresIndex):
    wanted = {
        "When is ferritin measured?": 0,
        "May I drink water before the examination?": 1,
        "Who sees children with kinderepilepsie?": 2,
        "When is the appointment desk open?": 3,
    }
    questions = [
        LabeledQuestion(text, (Evidence("north", chunk_id=f"north#{at}"),), filter={"tenant": "north"})
        for text, at in wanted.items()
    ]
    tuned = tune(questions, index=tenants, embed=embed_query)
    assert (tuned.fitted_on, tuned.tested_on) == (2, 2)


def test_the_command_line_reads_a_table(
    tenants: PostgresIndex, database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "questions.jsonl"
    row = {"question": "When is ferritin measured?", "chunk_id": "south#0"}
    rows = [row, {**row, "id": "north", "filter": {"tenant": "north"}}]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    assert main([str(path), "--store", database_url, "--table", "tenants", "--json"]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["recall"] for one in printed] == [1.0, 1.0, 0.0, 0.0]


def test_the_command_line_creates_no_table(database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps({"question": "When?", "answer": "Now."}), "utf-8")
    for _ in range(2):
        with pytest.raises(SystemExit):
            main([str(path), "--store", database_url, "--table", "missing"])
        assert "table 'missing' isn't one that PostgresIndex.create made" in capsys.readouterr().err
