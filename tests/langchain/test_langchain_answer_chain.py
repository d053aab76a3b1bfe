"""answer_chain as a Runnable: keys, streams, conversations, spans, models, faults."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from chain_samples import (
    ANSWER,
    HOW,
    KEYWORD,
    QUESTION,
    Runs,
    Scripted,
    following,
    is_understanding,
    leaflets,
    retriever,
)
from ctxassembly import AnswerError, ConfigError, InputError, MemoryIndex, StoreError, Supplement
from ctxassembly.answering import AnswerConfig, Intent
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    ContextRetriever,
    answer_chain,
    understanding_chain,
)
from langchain_samples import document, vector_store

CONFIGURABLE = ContextAssembler().configurable_fields(config=ConfigurableField("config"))
KEYS = {"input", "answer", "context", "citations", "quotes", "documents", "trace", "conversation", "result", "message"}
FOLLOWUP = "And before?"
REWRITTEN = "What to drink before a gastroscopy?"


def same(output: Any) -> Any:
    """What has to be the same however the chain was called."""
    documents = [(one.id, one.page_content, one.metadata.get("citation")) for one in output["context"]]
    return [output[name] for name in ("input", "answer", "citations", "quotes", "conversation")], documents


def test_an_answer_comes_with_all_that_it_rests_on() -> None:
    output = answer_chain(Scripted(), retriever()).invoke({"input": QUESTION})
    assert output.keys() == KEYS
    assert (output["input"], output["answer"]) == (QUESTION, ANSWER)
    assert [(one["label"], one["source"]) for one in output["citations"]] == [("1", "lab.pdf")]
    assert [one.metadata["citation"]["label"] for one in output["context"]] == ["1"]
    assert "\n\n".join(one.page_content for one in output["context"]) == output["result"].context.text
    assert [one.id for one in output["documents"]] == ["lab#0"]
    assert output["trace"]["quality"]["labeled"] == 1.0
    assert output["trace"]["assembly"]["summary"] == output["result"].context.trace.summary
    json.dumps({key: value for key, value in output.items() if key in ("input", "answer", "citations", "trace")})


def test_its_schemas_name_the_keys() -> None:
    chain = answer_chain(Scripted(), retriever())
    taken = chain.get_input_jsonschema()["$defs"]["AnswerInput"]
    assert set(taken["properties"]) == {"input", "chat_history", "conversation", "mode", "filter"}
    assert taken["required"] == ["input"]
    assert set(chain.get_output_jsonschema()["$defs"]["AnswerOutput"]["properties"]) == KEYS


def test_called_awaited_and_streamed_it_is_the_same_answer() -> None:
    chain, given = answer_chain(Scripted(), retriever()), {"input": QUESTION}
    called, *others = (same(ask(chain, given)) for ask in HOW.values())
    assert others == [called] * 3
    assert [same(one) for one in chain.batch([given, given])] == [called] * 2
    *pieces, last = chain.stream(given)
    assert [list(piece) for piece in pieces] == [["answer"]] * len(pieces)
    assert len(pieces) > 3
    assert "answer" not in last


# A conversation


def test_all_but_the_engines_own_answer_survives_a_checkpoint() -> None:
    output = dict(answer_chain(Scripted(), retriever()).invoke({"input": QUESTION}))
    output.pop("result")
    serializer = JsonPlusSerializer()
    assert serializer.loads_typed(serializer.dumps_typed(output)) == output


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # LangChain wants a graph; chains of users have this one
@pytest.mark.parametrize("how", ["invoke", "stream"])
def test_langchains_message_history_keeps_the_conversation(how: str) -> None:
    histories: dict[str, InMemoryChatMessageHistory] = {}
    chain = RunnableWithMessageHistory(
        answer_chain(Scripted(says=following({"question": REWRITTEN})), retriever()),
        lambda session_id: histories.setdefault(session_id, InMemoryChatMessageHistory()),
        input_messages_key="input",
        history_messages_key="chat_history",
        output_messages_key="message",
    )
    for session, question in (("ann", QUESTION), ("bob", QUESTION), ("ann", FOLLOWUP)):
        output = HOW[how](chain, {"input": question}, {"configurable": {"session_id": session}})
    assert [one.metadata["citation"]["label"] for one in output["context"]] == ["2"]
    assert [len(histories[name].messages) for name in ("ann", "bob")] == [4, 2]


# Spans


STEPS = ["understand", "retrieve", "assemble", "answer"]


@pytest.mark.parametrize("how", HOW)
def test_each_step_is_a_run_below_the_chains(how: str) -> None:
    llm, runs = Scripted(says=following({"question": REWRITTEN})), Runs()
    chain = answer_chain(llm, retriever(), AnswerConfig(rewrite="always")).with_config(run_name="ask")
    HOW[how](chain, {"input": QUESTION}, {"callbacks": [runs]})
    assert runs.below("ask") == STEPS
    assert {name: usage["input_tokens"] for name, usage in runs.tokens.items()} == {"understand": 40, "answer": 40}
    assert {one.id for one in runs.ended["retrieve"]} == {"gastro#0", "lab#0"}
    assert dict(runs.events).keys() == {"context_assembled", "question_answered"}
    steps = {step["name"]: (step["tokens_in"], step["tokens_out"]) for step in runs.events[-1][1]["steps"]}
    tokens = (40, 5)
    assert steps == {"understand": tokens, "retrieve": (None, None), "assemble": (None, None), "answer": tokens}


@pytest.mark.parametrize("how", HOW)
def test_a_search_that_fails_ends_its_run_with_the_error(how: str) -> None:
    class Broken(MemoryIndex):
        def search(self, request: Any) -> Any:
            raise ConnectionError("no route to host")

    runs, chain = Runs(), answer_chain(Scripted(), ContextRetriever(Broken(leaflets()), config=KEYWORD))
    with pytest.raises(StoreError, match=r"no search answered: .*no route to host"):
        HOW[how](chain, {"input": QUESTION}, {"callbacks": [runs]})
    assert {"retrieve", "answer_chain"} <= set(runs.failed)


# Models


def test_a_mode_has_its_model_and_its_limit() -> None:
    usual, other = Scripted(max_tokens=99), Scripted(says=lambda messages: "Thought harder [1].")
    chain = answer_chain(usual, retriever(), models={"escalated": other})
    assert chain.invoke({"input": QUESTION})["answer"] == ANSWER
    assert chain.invoke({"input": QUESTION, "mode": "escalated"})["answer"] == "Thought harder [1]."
    # Copies of a pydantic model share its private lists.
    assert (usual.limits, other.limits, usual.max_tokens) == ([1000], [3000], 99)


def test_a_limit_reaches_models_behind_retries_fallbacks_and_bindings() -> None:
    llm = Scripted()
    wrapped = llm.bind(stop=["END"]).with_retry().with_config(tags=["one"]).with_fallbacks([Scripted()])
    answer_chain(wrapped, retriever()).invoke({"input": QUESTION})
    assert llm.limits == [1000]


@pytest.mark.parametrize("name", ["usual", "other"])
def test_the_config_of_a_call_chooses_among_models(name: str) -> None:
    models = {one: Scripted(says=lambda messages, one=one: f"By the {one} [1].") for one in ("usual", "other")}
    which = ConfigurableField(id="llm")
    llm = models["usual"].configurable_alternatives(which, default_key="usual", other=models["other"])
    output = answer_chain(llm, retriever()).invoke({"input": QUESTION}, {"configurable": {"llm": name}})
    assert output["answer"] == f"By the {name} [1]."
    assert models[name].limits == [1000]


class CallsTools(Scripted):
    """A model that can be held to a schema."""

    def bind_tools(self, tools: Any, **given: Any) -> Any:
        return self.bind(tools=tools, **given)

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **given: Any) -> Any:
        made = super()._generate(messages, stop, run_manager)
        if given.get("tools"):
            name = given["tools"][0]["title"]
            call = {"name": name, "args": {"question": REWRITTEN}, "id": "1"}
            made.generations[0].message = AIMessage(
                "", tool_calls=[call], usage_metadata={**made.generations[0].message.usage_metadata}
            )
        return made


@pytest.mark.parametrize("wrap", [lambda llm: llm, lambda llm: llm.with_retry(), lambda llm: llm.with_fallbacks([llm])])
def test_a_model_that_can_call_tools_is_held_to_the_schema(wrap: Any) -> None:
    # In text it says nothing that could be read.
    llm = wrap(CallsTools(says=lambda messages: "Hm." if is_understanding(messages) else ANSWER))
    config = AnswerConfig(rewrite="always")
    found = understanding_chain(llm, config).invoke({"input": QUESTION})
    assert (found.rewritten, found.notes) == (REWRITTEN, ())
    in_text = understanding_chain(llm, config, structured=False).invoke({"input": QUESTION})
    assert in_text.notes == ("understand: the reply is malformed, 'Hm.'",)
    output = answer_chain(llm, retriever(), config).invoke({"input": QUESTION})
    assert output["trace"]["steps"][0]["tokens_in"] == 40


async def test_understanding_is_a_runnable_by_itself() -> None:
    intents = (Intent("practical", "Parking."), Intent("medical", "Treatments.", answer="Ask your doctor."))
    llm = Scripted(says=lambda messages: 'Sure: {"intent": "medical", "confidence": 0.8}')
    config = AnswerConfig(intents=intents, default_intent="practical")
    step = understanding_chain(llm, config)
    found = step.invoke({"input": "Is it cancer?", "chat_history": []})
    assert (found.intent, found.confidence) == ("medical", 0.8)
    assert await step.ainvoke({"input": "Is it cancer?"}) == found
    assert step.batch([{"input": "Is it cancer?"}] * 2) == [found, found]
    output = answer_chain(llm, retriever(), config).invoke({"input": "Is it cancer?"})
    assert (output["answer"], output["documents"]) == ("Ask your doctor.", [])


# Fallbacks and faults


@pytest.mark.parametrize("how", HOW)
def test_a_fallback_answers_where_the_first_model_fails_at_once(how: str) -> None:
    chain = answer_chain(Scripted(fails="at once").with_fallbacks([Scripted()]), retriever())
    assert HOW[how](chain, {"input": QUESTION})["answer"] == ANSWER


async def test_after_the_first_token_no_fallback_takes_over() -> None:
    other = Scripted()
    chain = answer_chain(Scripted(fails="after three").with_fallbacks([other]), retriever())
    given: list[str] = []
    with pytest.raises(AnswerError, match="connection reset") as raised:
        given.extend(piece["answer"] for piece in chain.stream({"input": QUESTION}))
    assert "".join(given) == raised.value.partial == "In the morn"
    with pytest.raises(AnswerError, match="connection reset"):
        _ = [piece async for piece in chain.astream({"input": QUESTION})]
    assert other.asked == []


async def test_a_reader_who_goes_away_stops_the_model() -> None:
    llm = Scripted()
    chain = answer_chain(llm, retriever())
    stream = chain.stream({"input": QUESTION})
    next(stream)
    assert llm.closed == []
    stream.close()
    assert llm.closed in ([0], [1])
    awaited = chain.astream({"input": QUESTION})
    await anext(awaited)
    await awaited.aclose()
    assert len(llm.closed) == 2
    assert max(llm.closed) < 3


async def test_a_cancelled_stream_stops_the_model() -> None:
    llm = Scripted(seconds=0.05)
    chain = answer_chain(llm, retriever())
    begun = asyncio.Event()

    async def read() -> None:
        async for _ in chain.astream({"input": QUESTION}):
            begun.set()

    task = asyncio.create_task(read())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.1)
    assert len(llm.closed) == 1
    assert llm.closed[0] < 5


@pytest.mark.parametrize(
    ("llm", "found", "settings", "message"),
    [
        (str, None, {}, "llm must be a chat model"),
        (retriever(), None, {}, "llm must be a chat model"),
        (Scripted(), "lab", {}, "retriever must be"),
        (Scripted(), ContextAssemblyRetriever(retriever=RunnableLambda(str), k=3), {}, r"retriever\.k must be None"),
        (Scripted(), RunnableLambda(str), {"assembler": 7}, "assembler must be"),
        (Scripted(), RunnableLambda(str), {"assembler": CONFIGURABLE}, "assembler must be"),
        (Scripted(), None, {"assembler": ContextAssembler()}, "assembler must be None with a ContextRetriever"),
        (Scripted(), None, {"config": {"voice": True}}, "config must be an AnswerConfig"),
        (Scripted(), None, {"models": {"deep": Scripted()}}, "mode must be one of"),
        (Scripted(), None, {"models": {"full": 3}}, r"models\['full'\] must be"),
        (Scripted(), None, {"cache": 3, "cache_scope": "all"}, "cache must be a LangChain cache"),
        (Scripted(), None, {"cache": InMemoryCache()}, "cache= needs to know who may share answers"),
    ],
)
def test_wrong_arguments_are_an_error(llm: Any, found: Any, settings: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        answer_chain(llm, found or retriever(), **settings)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"question": "?"}, "the input must be"),
        ("?", "the input must be"),
        ({"input": "?", "chat_history": [5]}, "chat_history must be a list of messages"),
        ({"input": "?", "chat_history": [("nobody", "Hello.")]}, "chat_history must be a list of messages"),
        ({"input": QUESTION, "mode": "deep"}, "mode must be one of 'normal', 'full', 'escalated'"),
    ],
)
def test_a_wrong_input_is_an_error(given: Any, message: str) -> None:
    with pytest.raises((ConfigError, InputError), match=message):
        answer_chain(Scripted(), retriever()).invoke(given)


# Retrievers of other makes


class Plain(BaseRetriever):
    """A retriever of one's own, which takes no more than words."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(f"{query} In the morning.", metadata={"source": "own.pdf"})]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("wrap", [lambda own: own, lambda own: own.with_retry()])
def test_any_retriever_will_do_and_is_refused_a_filter(wrap: Any, how: str) -> None:
    chain, runs = answer_chain(Scripted(), wrap(Plain())), Runs()
    output = HOW[how](chain, {"input": QUESTION}, {"callbacks": [runs]})
    assert (output["answer"], output["citations"][0]["source"]) == (ANSWER, "own.pdf")
    assert output["trace"]["retrieval"]["question"]["notes"][0].startswith("searched by ")
    assert runs.below("answer_chain") == ["retrieve", "assemble", "answer"]
    assert len(runs.below("retrieve")) == 1
    with pytest.raises(ConfigError, match=r"directly inside, not .*: give the filter to the search in its own way"):
        HOW[how](chain, {"input": QUESTION, "filter": {"year": 2021}})


def test_the_filter_of_a_call_is_in_addition_to_the_retrievers_own() -> None:
    made = [document("A", at, user=user) for at, user in enumerate(("ann", "ann", "bob"))]
    own = {"k": 4, "filter": lambda one: one.metadata["user"] == "ann"}
    chain = answer_chain(Scripted(), vector_store(made).as_retriever(search_kwargs=own))
    with pytest.raises(ConfigError, match="retriever must be without a filter of its own"):
        chain.invoke({"input": QUESTION, "filter": {"page": 1}})
    output = chain.invoke({"input": QUESTION, "filter": lambda one: one.metadata["chunk_index"] > 0})
    assert [one.id for one in output["documents"]] == ["A#1"]


def test_a_supplement_of_the_retriever_is_in_the_context() -> None:
    ours = retriever(supplement=lambda query: Supplement(f"Asked: {query}", force=True))
    assert f"Asked: {QUESTION}" in answer_chain(Scripted(), ours).invoke({"input": QUESTION})["result"].context.text
