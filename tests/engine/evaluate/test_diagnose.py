"""Each test has evidence that one layer loses, and no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryIndex, MemoryStore, RetrievalConfig
from ctxassembly.evaluate import DiagnosisReport, Evidence, LabeledQuestion, diagnose

TEXTS = {
    "lab#0": "Ferritin is measured in the morning.",
    "diet#0": "Ferritin, iron and a long list of other values of the blood.",
    "garage#0": "The garage has a lift for wheelchairs.",
}
VECTORS = {"lab#0": (1.0, 0.0), "diet#0": (0.9, 0.1), "garage#0": (0.0, 1.0)}
CHUNKS = [Chunk(name, name[:-2], text, 0, 0) for name, text in TEXTS.items()]
INDEX = MemoryIndex(CHUNKS, VECTORS)
ASKED = "When is ferritin measured?"


def ask(evidence: Evidence, text: str = ASKED, **more: Any) -> LabeledQuestion:
    return LabeledQuestion(text, (evidence,), **more)


def examine(evidence: Evidence, *, asked: str = ASKED, **given: Any) -> Any:
    given = {"index": INDEX, "embed": lambda _: (1.0, 0.0), **given}
    given["retrieval"] = given.pop("retrieval", RetrievalConfig(rescue="off"))
    if given["index"] is None:
        del given["index"]
    return diagnose([ask(evidence, asked)], **given).rows[0]


def kept(row: Any) -> dict[str, bool]:
    return row.remedies


@pytest.mark.parametrize(
    "evidence",
    [
        Evidence(quotation="measured in the  morning"),
        Evidence(quotation="MEASURED in the Morning"),
        Evidence("lab", start=0, end=8),
        Evidence(chunk_id="lab#0"),
        Evidence("lab", chunk_id="lab#0"),
        Evidence("lab"),
    ],
)
def test_evidence_in_the_context_is_read(evidence: Evidence):
    row = examine(evidence)
    assert (row.layer, row.reason, row.remedies) == (None, "it is in the context", {})


@pytest.mark.parametrize(
    "evidence",
    [
        Evidence(quotation="Insurance pays for it."),
        Evidence("insurance"),
        Evidence("insurance", start=0, end=9),
        Evidence("lab", start=500, end=510),
        Evidence(chunk_id="insurance#0"),
        Evidence("lab", quotation="a lift for patients"),
    ],
)
def test_not_in_the_corpus(evidence: Evidence):
    row = examine(evidence)
    assert (row.layer, row.chunk_id, row.remedies) == ("not in the corpus", None, {})
    assert row.advice == "add the document, or check the reader: tables and scans lose text"


SPLIT = [
    Chunk("lab#0", "lab", "Ferritin is measured early in", 0, 0),
    Chunk("lab#1", "lab", "the morning, before breakfast.", 1, 30),
    *CHUNKS[1:],
]


@pytest.mark.parametrize(
    "evidence",
    [
        Evidence(quotation="early in the morning"),
        Evidence(quotation="Early in the morning"),
        Evidence("lab", start=21, end=41),
        Evidence("lab", start=9, end=59),
    ],
)
def test_split_apart(evidence: Evidence):
    """Without neighbors the second half is missing: the words of the question are in the first one alone."""
    retrieval = RetrievalConfig(strategy="keyword", limit=1, rescue="off")
    row = examine(evidence, index=MemoryIndex(SPLIT), retrieval=retrieval, assembly=AssemblyConfig(window=0))
    assert row.layer == "split apart"
    assert row.reason == "no single chunk has it, several together do"
    assert [setting for setting, keeps in kept(row).items() if keeps] == ["window=3", "candidate_window=8"]
    assert {"limit=2", "candidate_window=8", "max_tokens=16000"} < kept(row).keys()
    assert row.advice == "split into larger chunks or with more overlap"


KEYWORD = RetrievalConfig(strategy="keyword", rescue="off")


@pytest.mark.parametrize(
    "evidence", [Evidence(quotation="a lift for wheelchairs"), Evidence("garage"), Evidence("garage", start=4, end=10)]
)
def test_not_found(evidence: Evidence):
    row = examine(evidence, retrieval=KEYWORD)
    assert (row.layer, row.chunk_id) == ("not found", "garage#0")
    assert row.reason == "not among the best 1,000 of any channel"
    assert kept(row) == {"limit=40": False, "candidates=320": False, "strategy='hybrid'": True}


def test_ranked_out_below_the_limit():
    row = examine(Evidence(quotation="a lift for wheelchairs"), retrieval=RetrievalConfig(limit=2, rescue="off"))
    assert (row.layer, row.chunk_id, row.reason) == ("ranked out", "garage#0", "place 3 after fuse, where 2 are kept")
    assert kept(row)["limit=4"] is True
    assert kept(row)["keyword_weight=0.9"] is False


def test_not_fused():
    config = RetrievalConfig(min_similarity=0.4, rescue="off")
    row = examine(Evidence(quotation="a lift for wheelchairs"), retrieval=config)
    assert (row.layer, row.chunk_id) == ("not fused", "garage#0")
    assert kept(row) == {"min_similarity=None": True}


def test_reranked_away():
    def backwards(query: str, chunks: Any) -> Any:
        return [(place, None) for place in reversed(range(len(chunks)))]

    config = RetrievalConfig(limit=1, rescue="off")
    row = examine(Evidence(quotation="in the morning"), retrieval=config, rerankers=[backwards])
    assert (row.layer, row.chunk_id) == ("ranked out", "lab#0")
    assert row.reason == "place 3 after rerank, where 1 are kept"


def test_refused():
    row = examine(Evidence(quotation="in the morning"), retrieval=RetrievalConfig(min_evidence=2.0))
    assert row.layer == "refused"
    assert kept(row) == {"min_evidence=None": True}


def test_deduplicated():
    """The same words but for a lead-in, which is the evidence."""
    words = " ".join(f"word{at}" for at in range(60))
    index = MemoryIndex([Chunk("a#0", "a", f"Ferritin {words}."), Chunk("b#0", "b", f"Please note: Ferritin {words}.")])
    row = examine(
        Evidence(quotation="Please note"), index=index, retrieval=KEYWORD, assembly=AssemblyConfig(dedup="near")
    )
    assert (row.layer, row.chunk_id) == ("deduplicated", "b#0")
    assert row.reason == "b#0 was duplicate: near duplicate, because of a#0"
    assert kept(row) == {"dedup='exact'": True, "dedup_sentences=False": False, "dedup='none'": True}


def test_over_budget():
    texts = [f"Ferritin is measured at {hour}. {'Iron and other values follow. ' * 20}" for hour in range(3)]
    index = MemoryIndex([Chunk(f"{at}", f"{at}", text) for at, text in enumerate(texts)])
    config = AssemblyConfig(max_tokens=300, fill=True, granularity="chunk")
    row = examine(Evidence("2"), index=index, retrieval=KEYWORD, assembly=config)
    assert (row.layer, row.reason) == ("over budget", "2 was dropped: budget")
    assert kept(row)["max_tokens=600"] is True


def test_not_relevant_enough():
    """A long context leaves out what has little to do with the question, although there is room."""
    texts = [f"Ferritin is measured in the morning, says part {at}. " * 40 for at in range(12)]
    chunks = [Chunk(f"{at}", f"{at}", text) for at, text in enumerate(texts)]
    chunks.append(
        Chunk("z", "z", "The garage has a lift, a kiosk and a florist. " + "It is ferritin-free and open. " * 30)
    )
    config = AssemblyConfig(min_relevance=0.5, max_tokens=20_000, dedup_sentences=False)
    row = examine(Evidence("z"), index=MemoryIndex(chunks), retrieval=KEYWORD, assembly=config)
    assert row.layer == "not relevant enough"
    assert kept(row) == {"min_relevance=0.25": True, "fill=True, min_relevance=0.4": True}


TENANTS = [
    Chunk("ours#0", "ours", "The contract ends on 31 March.", 0, 0, metadata={"tenant": "ours"}),
    Chunk("theirs#0", "theirs", "The contract ends on 24 December.", 0, 0, metadata={"tenant": "theirs"}),
]


@pytest.mark.parametrize(
    "evidence",
    [
        Evidence("theirs"),
        Evidence("theirs", start=17, end=32),
        Evidence(chunk_id="theirs#0"),
        Evidence(quotation="ends on 24"),
    ],
)
@pytest.mark.parametrize("strategy", ["hybrid", "keyword"])
def test_filtered_and_nobody_reads_what_the_filter_excludes(evidence: Evidence, strategy: Any):
    index = MemoryIndex(TENANTS, [(1.0, 0.0), (1.0, 0.0)])
    question = ask(evidence, "When does the contract end?", filter={"tenant": "ours"})
    config = RetrievalConfig(strategy=strategy)
    report = diagnose([question], index=index, embed=lambda _: (1.0, 0.0), retrieval=config)
    [row] = report.rows
    assert (row.layer, row.chunk_id, row.reason) == ("filtered", "theirs#0", "the filter excludes it")
    assert row.remedies == {}
    shown = repr(report) + str(report) + report.to_html()
    assert "December" not in shown


def test_a_part_that_the_filter_excludes_is_filtered():
    """The second half of the evidence is in a chunk of another level of access."""
    halves = ("The contract of the north ends early in", "the spring, says its last page.")
    chunks = [
        Chunk(f"north#{at}", "north", text, at, at * 40, metadata={"level": at}) for at, text in enumerate(halves)
    ]
    question = ask(Evidence("north", quotation="early in the spring"), "When does it end?", filter={"level": 0})
    report = diagnose([question], index=MemoryIndex(chunks), retrieval=KEYWORD)
    assert (report.rows[0].layer, report.rows[0].chunk_id) == ("filtered", "north#1")
    assert "last page" not in repr(report) + str(report) + report.to_html()


def test_before_the_hits_of_another_retriever_one_layer_is_seen():
    def seen(evidence: Evidence, chunks: Any = CHUNKS) -> tuple[str, str]:
        store = MemoryStore(chunks)
        row = examine(evidence, index=None, embed=None, retriever=lambda query: [Hit(CHUNKS[1])], store=store)
        assert row.remedies == {} or row.layer == "split apart"
        return row.layer, row.reason

    assert seen(Evidence(quotation="in the morning")) == ("not found", "no hit of the retriever has it")
    assert seen(Evidence("lab", quotation="in the morning")) == ("not found", "the retriever didn't return it")
    assert seen(Evidence("lab", quotation="early in the morning"), SPLIT)[0] == "split apart"


def report_of(*evidence: Evidence) -> DiagnosisReport:
    questions = [ask(piece, f"{ASKED} {at}") for at, piece in enumerate(evidence)]
    return diagnose([*questions, LabeledQuestion("Anything?")], index=INDEX, retrieval=replace(KEYWORD, limit=1))


def test_the_report_counts_by_layer_and_shows_an_example_of_each():
    report = report_of(Evidence("lab"), Evidence("diet"), Evidence("garage"), Evidence(quotation="list of other"))
    assert report.counts == {"not found": 1, "ranked out": 2}
    assert list(report.counts) == ["not found", "ranked out"]
    lines = str(report).splitlines()
    assert lines[0] == (
        "4 questions with 4 pieces of evidence: 1 read, 3 lost; 1 question without marked evidence left out "
        f"({report.unmarked[0]})"
    )
    assert lines[1].split() == ["lost", "pieces", "what", "would", "have", "kept", "it"]
    assert lines[2].startswith("not found        1  no setting that was tried; the question has other words")
    assert lines[3] == "ranked out       2  limit=2 keeps 2"
    assert lines[-3:] == [
        f'ranked out: "{ASKED} 1" needs diet of diet#0',
        "  place 2 after fuse, where 1 are kept",
        "  limit=2 keeps it; no help: candidates=16",
    ]
