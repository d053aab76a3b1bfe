"""An answer's parts as plain data, and hits of a retriever of another make."""

from __future__ import annotations

import json

from ctxassembly import AnswerChain, Chunk, Hit, MemoryIndex, RetrievalConfig
from ctxassembly.answering.requests import Search
from ctxassembly.config.answering import Mode
from ctxassembly.integrations.metadata import ContextPayload, answer_metadata, retriever_result
from ctxassembly.retrieval import Question

INDEX = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
HITS = [Hit(Chunk(f"lab#{at}", "lab", "Ferritin.", at, metadata={"year": 2020 + at}), None) for at in range(4)]


def test_the_trace_says_all_that_led_to_an_answer_and_nothing_twice() -> None:
    chain = AnswerChain.from_index(
        INDEX, lambda request: 'It says "in the morning" [1].', RetrievalConfig(strategy="keyword")
    )
    answer = chain.answer("When is ferritin measured?")
    parts = json.loads(json.dumps(answer_metadata(answer, ContextPayload(answer.context))))
    assert parts.keys() == {"citations", "quotes", "trace", "conversation"}
    assert [one["label"] for one in parts["citations"]] == ["1"]
    assert [one["found"] for one in parts["quotes"]] == [True]
    trace = parts["trace"]
    assert trace["assembly"]["summary"] == answer.context.trace.summary
    assert [step["name"] for step in trace["steps"]] == ["retrieve", "assemble", "answer"]
    assert trace["quality"]["quotes"] == 1
    assert not trace.keys() & {"question", "answer", "context", "citations", "quotes"}


def test_an_abstention_has_a_trace_without_an_assembly() -> None:
    chain = AnswerChain.from_index(INDEX, lambda request: "", RetrievalConfig(strategy="keyword"))
    trace = answer_metadata(chain.answer("qwe zzz"), None)["trace"]
    assert (trace["assembly"], trace["abstained"]) == (None, "retrieval: nothing usable was found")


def search(mode: Mode | None = None, **narrowed: object) -> Search:
    return Search("question", Question("And when?", "When?", "care"), mode or Mode(), 1.0, narrowed)


def test_hits_of_another_make_keep_their_order_and_lack_of_scores() -> None:
    found = retriever_result(search(), HITS, object())
    assert found.hits == tuple(HITS)
    assert (found.query, found.intent, found.statements) == ("When?", "care", ())
    assert (found.trace.search_method, found.trace.notes) == ("other", ("searched by object",))


def test_an_inferred_filter_narrows_them_and_a_mode_does_not() -> None:
    assert [hit.chunk.index for hit in retriever_result(search(year={"$gte": 2022}), HITS, object()).hits] == [2, 3]
    assert [
        hit.chunk.index for hit in retriever_result(search(Mode(limit=1), year={"$gte": 2021}), HITS, object()).hits
    ] == [1, 2, 3]
