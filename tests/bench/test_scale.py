"""The measuring of scale, on a table of 2,000 chunks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxassembly.stores.embedded_server import embedded_postgres
from scale.__main__ import main
from scale.loading import Database, add, attach, fill
from scale.rows import Corpus
from scale.systems import LIMIT, OURS, PEERS, ours
from scale.wire import Wire, read

pytestmark = pytest.mark.bench

CHUNKS = 2_000
CORPUS = Corpus(16)


@pytest.mark.parametrize("early", [0, 1, 3])
def test_a_pipeline_whose_answer_begins_before_its_end_is_one_round_trip(early: int) -> None:
    executed = ["F\t9\tParse\t", "F\t9\tBind", "F\t9\tExecute"]
    answer = ["B\t4\tParseComplete", "B\t9\tDataRow\t 'a'", "B\t9\tCommandComplete"]
    end = ["F\t4\tSync", "F\t4\tFlush"]
    trace = [*executed, *executed, *answer[:early], *end, *answer[early:], "B\t5\tReadyForQuery\t I"]
    assert read("\n".join(trace)) == Wire(2, 1)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("scale")
    sizes = ["--chunks", str(CHUNKS), "--dimensions", "16", "--memory", "64MB"]
    assert main([*sizes, "--questions", "14", "--peers", "1", "--counted", "9", "--out", str(out)]) == 0
    (found,) = json.loads((out / "scale.json").read_text())
    return found


def test_a_query_takes_two_round_trips_and_three_with_rescue(report: dict[str, Any]) -> None:
    wires = {name: Wire(**wire) for name, wire in report["wire"].items()}
    # Each trip takes the settings of a search and its statement.
    assert all(wires[name].statements == 2 * wires[name].round_trips for name in OURS), wires
    trips = [wires[name].round_trips for name in OURS]
    assert trips[:3] == [1, 2, 2]  # vectors, words, both
    assert max(trips) == trips[-1] == 3  # under the narrowest filter, misspelt words are in no hit
    assert [wires[name] for name in PEERS] == [Wire(1, 1), Wire(6, 6)]


def test_all_systems_find(report: dict[str, Any]) -> None:
    assert report["gold found"].keys() == {*OURS, *PEERS} - {name for name in OURS if "filter" in name}
    assert report["gold found"]["keyword"] > 0.9
    assert report["gold found"]["OR, ts_rank_cd"] > 0
    assert report["hits"]["both, filled in, fused"] == report["hits"]["langchain-postgres, hybrid"] == LIMIT
    assert report["hits"]["the same, filter of 10 %"] == LIMIT


def test_all_stages_and_phases_are_timed(report: dict[str, Any]) -> None:
    assert report["milliseconds"]["rescue"]["questions"] >= 6
    assert {"find_terms", "vector", "keyword", "filled in", "rescue", "all, with rescue", *PEERS} <= report[
        "milliseconds"
    ].keys()
    assert report["milliseconds"]["keyword"]["questions"] == 12  # two have warmed up
    assert {"column of words", "index of words", "HNSW", "statistics"} <= report["seconds"]["attach"].keys()
    assert all(seconds > 0 for seconds in report["seconds"]["add"].values())


def test_the_table_attached_and_that_of_our_own_give_the_same() -> None:
    with embedded_postgres(durable=False) as url:
        database = Database(url, "64MB", 0)
        with database.vector_store("theirs", CORPUS.dimensions) as store:
            fill(database, "theirs", CORPUS, 500)
            attached, _ = attach(database, "theirs", store)
        own, _ = add(database, "own", CORPUS, 500)
        for asked in CORPUS.questions(10, 500):
            found = [ours(index, "keyword")(asked) for index in (attached, own)]
            assert found[0] == found[1]
            assert asked.gold in found[0]


@pytest.mark.parametrize("given", [["--chunks", "99"], ["--questions", "2"], ["--counted", "1"]])
def test_too_few_to_measure_are_an_error(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(given)
    assert f"{given[0]} must be at least {int(given[1]) + 1}, got {given[1]}" in capsys.readouterr().err
