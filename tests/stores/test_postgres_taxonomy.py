"""A taxonomy out of two tables of a real PostgreSQL."""

from __future__ import annotations

from typing import Any

import pytest

from ctxassembly import ConfigError
from ctxassembly.retrieval import ListRule, Taxonomy
from ctxassembly.stores.postgres import read_taxonomy
from postgres_samples import execute

TABLES = (
    "CREATE TABLE taxonomy_nodes (id text PRIMARY KEY, type text, name text, aliases text[], campus text)",
    "CREATE TABLE taxonomy_relations (source text, type text, target text)",
    """INSERT INTO taxonomy_nodes VALUES
        ('card', 'afdeling', 'Cardiologie', '{hartspecialist,cardiologen}', NULL),
        ('derm', 'afdeling', 'Dermatologie', '{huidarts}', NULL),
        ('hf', 'aandoening', 'Hartfalen', NULL, NULL),
        ('d', 'arts', 'cardioloog D', '{}', 'Zuid'),
        ('e', 'arts', 'cardioloog E', '{}', 'Noord')""",
    """INSERT INTO taxonomy_relations VALUES
        ('card', 'HANDLES', 'hf'), ('d', 'WORKS_IN', 'card'), ('e', 'WORKS_IN', 'card')""",
)
SETTINGS: dict[str, Any] = {
    "name": "artsenlijst",
    "type_words": {"arts": ("arts", "artsen")},
    "lists": ListRule(types=("arts",)),
    "statements": {"arts": "Dr. {name} is verbonden aan {afdeling} op {campus}."},
}


@pytest.fixture
def url(database_url: str) -> str:
    execute(database_url, *TABLES)
    return database_url


def test_two_tables_are_read_as_dicts_are(url: str):
    nodes: list[dict[str, Any]] = [
        {"id": "card", "type": "afdeling", "name": "Cardiologie", "aliases": ["hartspecialist", "cardiologen"]},
        {"id": "derm", "type": "afdeling", "name": "Dermatologie", "aliases": ["huidarts"]},
        {"id": "hf", "type": "aandoening", "name": "Hartfalen"},
        {"id": "d", "type": "arts", "name": "cardioloog D", "metadata": {"campus": "Zuid"}},
        {"id": "e", "type": "arts", "name": "cardioloog E", "metadata": {"campus": "Noord"}},
    ]
    pairs = [("card", "HANDLES", "hf"), ("d", "WORKS_IN", "card"), ("e", "WORKS_IN", "card")]
    relations = [dict(zip(("source", "type", "target"), pair, strict=True)) for pair in pairs]
    expected = Taxonomy.from_dict({"nodes": nodes, "relations": relations}, **SETTINGS)
    found = read_taxonomy(url, **SETTINGS)
    assert found.nodes == expected.nodes
    assert {id_: set(found.related(node)) for id_, node in found.nodes.items()} == {
        id_: set(expected.related(node)) for id_, node in expected.nodes.items()
    }
    question = "Wat doet de hartspecialist bij hartfalen?"
    assert found.resolve(question) == expected.resolve(question)


def test_numbers_as_ids_json_and_more_columns(database_url: str):
    execute(
        database_url,
        'CREATE SCHEMA "Zorg; x"',
        """CREATE TABLE "Zorg; x"."no""des" (
            id bigint, type text, name text, aliases jsonb, metadata jsonb, source text, beds int, closed date)""",
        'CREATE TABLE "Zorg; x".edges (source bigint, type text, target bigint, since date)',
        """INSERT INTO "Zorg; x"."no""des" VALUES
            (1, 'afdeling', 'Cardiologie', '["hart", "EHH"]', '{"campus": ["Zuid", "Noord"]}', 'HR', 12, '2026-01-01'),
            (20, 'arts', 'cardioloog D', NULL, NULL, NULL, NULL, NULL)""",
        """INSERT INTO "Zorg; x".edges VALUES (20, 'WORKS_IN', 1, '2020-02-02')""",
    )
    taxonomy = read_taxonomy(database_url, 'no"des', "edges", schema="Zorg; x")
    department, doctor = taxonomy.nodes.values()
    assert (department.id, department.aliases) == ("1", ("hart", "EHH"))
    assert department.metadata == {"campus": ["Zuid", "Noord"], "source": "HR", "beds": 12, "closed": "2026-01-01"}
    assert (doctor.id, doctor.aliases, doctor.metadata) == ("20", (), {})
    assert taxonomy.related(doctor)[0][1] == department


@pytest.mark.parametrize(
    ("statement", "given", "message"),
    [
        ("", {"nodes": "nowhere"}, "nodes and relations must be tables or views that this user may read, .*nowhere"),
        ("", {"schema": "nowhere"}, "nodes and relations must be tables or views that this user may read"),
        ("", {"nodes": "x" * 64}, "nodes must be a name of 1 to 63 bytes"),
        ("", {"relations": "a\0b"}, "relations must be a name of 1 to 63 bytes"),
        ("", {"schema": ""}, "schema must be a name of 1 to 63 bytes"),
        ("", {"timeout_seconds": 0}, "timeout_seconds must be a number above 0"),
        ("", {"url": "sqlite://"}, "url must be a URL such as postgresql"),
        ("ALTER TABLE taxonomy_nodes RENAME name TO label", {}, "nodes must be a table with columns id, name, type"),
        ("ALTER TABLE taxonomy_relations DROP target", {}, "relations must be a table with columns source, target"),
        ("DELETE FROM taxonomy_nodes WHERE id = 'hf'", {}, "relations must be relations between the ids of nodes"),
        ("UPDATE taxonomy_nodes SET name = NULL WHERE id = 'hf'", {}, "node.name must be a non-empty string"),
        ("INSERT INTO taxonomy_relations VALUES (NULL, 'X', 'hf')", {}, "relations between the ids of nodes, got None"),
        ("ALTER TABLE taxonomy_nodes ALTER aliases TYPE text", {}, "node.aliases must be a sequence of strings"),
        ("ALTER TABLE taxonomy_nodes ADD metadata jsonb DEFAULT '[1]'", {}, "metadata must be a JSON object"),
    ],
)
def test_what_makes_no_taxonomy_is_an_error(url: str, statement: str, given: dict[str, Any], message: str):
    if statement:
        execute(url, statement)
    with pytest.raises(ConfigError, match=message):
        read_taxonomy(**{"url": url, **given})
