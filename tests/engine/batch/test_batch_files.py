"""The file of a batch: what a second run finds there, makes again, or refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, MemoryIndex, RetrievalConfig
from ctxassembly.batch import Batch, BatchRow, assemble_many, retrieve_many
from ctxassembly.errors import ConfigError, InputError

WORDS = RetrievalConfig(strategy="keyword", on_search_error="raise")
CHUNKS = [
    Chunk(f"lab#{at}", "lab", text, at, metadata={"ward": at, "source": "lab.pdf"})
    for at, text in enumerate(("Drink water until two hours before.", "Ferritin is measured in the morning. é中"))
]
QUESTIONS = [(f"q{number}", f"When is ferritin measured, {number}?") for number in range(6)]


class Index(MemoryIndex):
    """Notes its questions, and fails for those with a word in `fails`."""

    def __init__(self, fails: str = "-") -> None:
        super().__init__(CHUNKS)
        self.asked: list[str] = []
        self.fails = fails

    def find_terms(self, request: Any) -> Any:
        self.asked.append(request.text)
        if self.fails in request.text:
            raise OSError("gone")
        return super().find_terms(request)


def made(out: Path, questions: Any = QUESTIONS, index: Any = None, **options: Any) -> Batch:
    return assemble_many(questions, index=index or Index(), retrieval=WORDS, progress=False, out=out, **options)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def names(path: Path) -> list[str]:
    return [line["id"] for line in lines(path)]


@pytest.fixture(params=["contexts.jsonl", "contexts.parquet"])
def out(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    if request.param.endswith("parquet"):
        pytest.importorskip("pyarrow")
    return tmp_path / request.param


def test_rows_read_from_the_file_are_those_that_were_made(out: Path):
    first = list(made(out))
    index = Index()
    batch = made(out, index=index)
    assert list(batch) == first
    assert not index.asked
    assert str(batch.summary) == "made 0, resumed 6, failed 0"


def test_so_are_those_of_a_retrieval(out: Path):
    first, second = (list(retrieve_many(QUESTIONS, WORDS, index=Index(), progress=False, out=out)) for _ in range(2))
    assert first == second


def test_a_run_ended_early_resumes_without_loss_or_repeat(out: Path):
    batch = made(out)
    first = [next(batch), next(batch)]
    batch.close()
    index = Index()
    again = made(out, index=index)
    rows = list(again)
    assert rows[:2] == first
    assert [row.id for row in rows] == [name for name, _ in QUESTIONS]
    assert [*dict.fromkeys(index.asked)] == [text for _, text in QUESTIONS[2:]]
    assert (again.summary.made, again.summary.resumed) == (4, 2)
    assert [row.id for row in made(out)] == [name for name, _ in QUESTIONS]


def test_a_failed_question_is_asked_again(out: Path):
    batch = made(out, index=Index(fails=" 2?"))
    assert [row.error is None for row in batch] == [True, True, False, True, True, True]
    assert batch.summary.failed == 1
    again = made(out)
    assert [row.id for row in again if row.error is None] == [name for name, _ in QUESTIONS]
    assert str(again.summary) == "made 1, resumed 5, failed 0"
    assert str(made(out).run()) == "made 0, resumed 6, failed 0"


def test_each_id_has_one_line(tmp_path: Path):
    path = tmp_path / "contexts.jsonl"
    made(path, index=Index(fails=" 2?")).run()
    made(path).run()
    assert sorted(names(path)) == [name for name, _ in QUESTIONS]
    made(path, [*QUESTIONS, ("more", "water"), *QUESTIONS]).run()
    assert sorted(names(path)) == ["more", *(name for name, _ in QUESTIONS)]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_repeated_question_is_answered_once(tmp_path: Path, workers: int):
    batch = made(tmp_path / "contexts.jsonl", [QUESTIONS[0]] * 3, workers=workers)
    first, second, third = batch
    assert first == second == third
    assert str(batch.summary) == "made 1, resumed 2, failed 0"


@pytest.mark.parametrize("cut", [1, 2, 5, 9, 40, 400])
def test_an_unfinished_last_line_is_made_again(tmp_path: Path, cut: int):
    path = tmp_path / "contexts.jsonl"
    first = list(made(path))
    whole = path.read_bytes()
    start = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    path.write_bytes(whole[: start + cut])
    batch = made(path)
    assert [row.context.text for row in batch if row.context] == [row.context.text for row in first if row.context]
    assert (batch.summary.made, batch.summary.resumed) == (1, 5)
    assert path.read_bytes()[:start] == whole[:start]
    assert names(path) == [name for name, _ in QUESTIONS]


OTHERS = [
    "my notes",
    "my notes\n",
    '{"id": 7}\n',
    "[]\n",
    "\xff\n",
    '{"id": "q1"}\n',
    '{"id": "q1", "question": "Ferritin?"}\n{"id": "q2", "question": "Until when may I drink before the examination?"}',
    '{"id": "q1", "question": "Fer',
]


@pytest.mark.parametrize("text", OTHERS)
def test_a_file_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path, text: str):
    path = tmp_path / "contexts.jsonl"
    path.write_text(text, "latin-1")
    with pytest.raises(InputError, match=r"contexts.jsonl.*no rows? of a batch; pass another path as out"):
        list(made(path))
    assert path.read_text("latin-1") == text


ANOTHER: Sequence[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("question", {"question": "Why?"}, {}),
    ("filter", {"filter": {"ward": 1}}, {}),
    ("configuration", {}, {"config": AssemblyConfig(max_tokens=50)}),
    ("filter of the index", {}, {"index": Index().with_filter({"ward": 1})}),
    ("filter of the store", {}, {"store": Index().with_filter({"ward": 1})}),
]


@pytest.mark.parametrize(("question", "options"), [one[1:] for one in ANOTHER], ids=[one[0] for one in ANOTHER])
def test_a_row_of_something_else_is_never_returned(tmp_path: Path, question: Any, options: Any):
    """A file of one tenant's contexts gives none of them to another with the same ids."""
    asked = {"id": "q1", "question": "ferritin", "filter": {"ward": 0}}
    made(tmp_path / "contexts.jsonl", [asked]).run()
    with pytest.raises(InputError, match="id 'q1' of another question, filter or configuration"):
        list(made(tmp_path / "contexts.jsonl", [{**asked, **question}], **options))


def test_one_id_for_two_questions_is_an_error(tmp_path: Path):
    with pytest.raises(InputError, match="id 'q1' of another question"):
        list(made(tmp_path / "contexts.jsonl", [("q1", "iron"), ("q1", "water")]))


def test_a_filter_without_a_lasting_text_is_refused(tmp_path: Path):
    asked = {"id": "q1", "question": "ferritin", "filter": lambda chunk: True}
    with pytest.raises(InputError, match="question q1: a filter must be plain data where rows are kept by id"):
        list(made(tmp_path / "contexts.jsonl", [asked]))
    with pytest.raises(InputError, match="all questions: a filter must be plain data"):
        list(made(tmp_path / "contexts.jsonl", index=Index().with_filter(lambda chunk: True)))


def test_filters_of_llamaindex_and_dates_are_plain_data(tmp_path: Path):
    from datetime import date

    from llama_index.core.vector_stores import MetadataFilter, MetadataFilters

    filters = [MetadataFilters(filters=[MetadataFilter(key="ward", value=at)]) for at in range(2)]
    asked = [{"question": "ferritin", "filter": one} for one in (*filters, {"since": date(2024, 1, 1)})]
    made(tmp_path / "contexts.jsonl", asked).run()
    assert len(set(names(tmp_path / "contexts.jsonl"))) == 3


def test_odd_characters_come_back(tmp_path: Path):
    questions = [("\ud800", "ferritin \ud800"), ("a\u2028b", "ferritin \u2028 \x00 é 中")]
    first, second = (list(made(tmp_path / "contexts.jsonl", questions)) for _ in range(2))
    assert [row.context and row.context.text for row in first] == [row.context and row.context.text for row in second]
    assert [row.id for row in second] == ["\ufffd", "a\u2028b"]


def test_a_row_survives_json():
    row = BatchRow("q1", "Why?", error="StoreError: gone")
    assert BatchRow.from_dict(json.loads(json.dumps(row.to_dict()))) == row
    assert replace(row, error=None) != row


SCRIPT = """
import sys, time
from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
from ctxassembly.batch import assemble_many

class Slow(MemoryIndex):
    def search(self, request):
        time.sleep(0.02)
        return super().search(request)

def main():
    index = Slow([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    questions = ((f"q{number}", f"ferritin {number}") for number in range(int(sys.argv[3])))
    print(assemble_many(questions, index=index, retrieval=RetrievalConfig(strategy="keyword"), out=sys.argv[1],
                        workers=int(sys.argv[2]), progress=False).run())

if __name__ == "__main__":
    main()
"""


def children_of(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(one) for one in found.stdout.split()]


def is_running(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_killed_run_resumes_without_loss_or_repeat_and_leaves_no_worker(tmp_path: Path, workers: str):
    script, out = tmp_path / "run.py", tmp_path / "contexts.jsonl"
    script.write_text(SCRIPT, "utf-8")
    command = [sys.executable, str(script), str(out), workers, "120"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while (not out.exists() or out.read_bytes().count(b"\n") < 10) and time.monotonic() < deadline:
        time.sleep(0.02)
    children = children_of(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    before = out.read_bytes().count(b"\n")
    assert 10 <= before < 120
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert finished.stdout == f"made {120 - before}, resumed {before}, failed 0\n"
    assert sorted(names(out)) == sorted(f"q{number}" for number in range(120))
    assert not [one for one in children if is_running(one)]


def test_parquet_has_columns_to_read_and_leaves_no_other_file(tmp_path: Path):
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "contexts.parquet"
    rows = list(made(out, [*QUESTIONS, ("blank", " ")]))
    assert [path.name for path in tmp_path.iterdir()] == ["contexts.parquet"]
    table = parquet.read_table(out).to_pylist()
    assert [one["id"] for one in table] == [row.id for row in rows]
    assert [one["text"] for one in table] == [row.context.text if row.context else None for row in rows]
    assert table[-1]["error"] == "InputError: the question is empty"


def test_a_parquet_file_of_something_else_is_refused(tmp_path: Path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"id": ["q1"]}), tmp_path / "contexts.parquet")
    with pytest.raises(InputError, match=r"contexts\.parquet: no rows of a batch"):
        list(made(tmp_path / "contexts.parquet"))


def test_a_parquet_file_of_something_else_is_left_as_it_is_beside_lines_of_ours(tmp_path: Path):
    """As a killed run leaves them, whose path another file has taken since."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    made(tmp_path / "contexts.parquet.jsonl").run()
    parquet.write_table(pa.table({"id": ["q1"], "json": ["{}"]}), tmp_path / "contexts.parquet")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InputError, match=r"contexts\.parquet: no rows of a batch"):
        list(made(tmp_path / "contexts.parquet"))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_row_whose_values_are_of_other_types_is_an_error_of_ours(tmp_path: Path):
    path = tmp_path / "contexts.jsonl"
    made(path).run()
    path.write_text("".join(json.dumps({**line, "context": {"text": []}}) + "\n" for line in lines(path)), "utf-8")
    with pytest.raises(InputError, match=r"contexts\.jsonl, id 'q0': no row of a batch; pass another path as out"):
        list(made(path))


def test_parquet_without_pyarrow_is_an_error_that_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ctxassembly.batch.rows.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"a \.jsonl path where pyarrow isn't installed, .*; pip install pyarrow"):
        made(tmp_path / "contexts.parquet")


def test_the_progress_bar_counts_the_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("tqdm")
    assemble_many(QUESTIONS, index=Index(), retrieval=WORDS).run()
    assert "batch: 100%" in capsys.readouterr().err
