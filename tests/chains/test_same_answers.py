"""The same scripted model answers the same through LangChain, through LlamaIndex and without a framework."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from llama_index.core.base.llms.types import ChatMessage

from chat_models import LlamaIndexModel, engine_model, langchain_model
from ctxassembly import (
    AnswerChain,
    AssemblyConfig,
    Chunk,
    MemoryIndex,
    RetrievalConfig,
    TokenBudget,
    presets,
)
from ctxassembly.answering import Answer, AnswerConfig, Exchange, Intent, Mode
from ctxassembly.conversations.sources import MESSAGE_KEY
from langchain_ctxassembly import ContextAssembler, answer_chain
from langchain_ctxassembly import ContextRetriever as LangChainRetriever
from llamaindex_ctxassembly import AnswerQueryEngine, ContextAssemblyPostprocessor
from llamaindex_ctxassembly import ContextRetriever as LlamaIndexRetriever

TEXTS = {
    "gastro": ("Drink water until two hours before a gastroscopy.", "Eat nothing for six hours before a gastroscopy."),
    "lab": ("Ferritin is measured in the morning.", "The laboratory opens at seven."),
    "parking": ("Parking costs two euros an hour.", "Patients of the dialysis park for free."),
}
INDEX = MemoryIndex(
    Chunk(f"{name}#{at}", name, text, at, metadata={"source": f"{name}.pdf", "year": 2020 + at})
    for name, texts in TEXTS.items()
    for at, text in enumerate(texts)
)
RETRIEVAL = RetrievalConfig(strategy="keyword", limit=4)
OPEN = AssemblyConfig(neighbors="unfiltered")
CONFIG = AnswerConfig(
    intents=(Intent("practical", "Parking."), Intent("care", "Treatments."), Intent("off", "Else.", answer="Sorry.")),
    default_intent="care",
    decompose="auto",
    extra_rules=("Give no medical advice.",),
    modes={"normal": Mode(answer_tokens=100), "escalated": Mode(limit=2, answer_tokens=300)},
)
DRINK = "What may I drink before a gastroscopy?"
UNDERSTOOD: dict[str, dict[str, Any]] = {
    DRINK: {"intent": "care", "confidence": 0.9},
    "And eat?": {"intent": "care", "confidence": 0.4, "question": "What may I eat before a gastroscopy?"},
    "Parking and ferritin?": {"intent": "practical", "confidence": 1, "sub_questions": ["Parking?", "Ferritin?"]},
    "A poem, please": {"intent": "off", "confidence": 1},
    "xyzzy": {"intent": "care", "confidence": 1},
    "Parking in 2021?": {"intent": "practical", "confidence": 1},
}


def says(messages: Sequence[tuple[str, str]]) -> str:
    """The understanding of each question as above; the answer quotes the last label and one that nobody has."""
    if messages[0][1].startswith("Prepare a user's question"):
        return json.dumps(UNDERSTOOD[json.loads(messages[-1][1])["question"]])
    if messages[0][1].startswith("Summarize this conversation"):
        return "The user asked where to park."
    labels = re.findall(r"^\[(\d+)\] Source", messages[-1][1], re.MULTILINE)
    return f'After {len(messages)} messages: "two hours before" [{labels[0]}]. See also [{labels[-1]}], and [99].'


def langchain_retriever(assembly: AssemblyConfig = OPEN) -> LangChainRetriever:
    return LangChainRetriever(INDEX, config=RETRIEVAL, assembler=ContextAssembler(config=assembly))


def llamaindex_retriever(assembly: AssemblyConfig = OPEN) -> LlamaIndexRetriever:
    postprocessor = ContextAssemblyPostprocessor(config=assembly)
    return LlamaIndexRetriever(INDEX, config=RETRIEVAL, postprocessor=postprocessor)


Turn = tuple[str, str, Any]


def without_a_framework(turns: Sequence[Turn]) -> list[Answer]:
    history, conversation, answers = [], None, []
    chain = AnswerChain.from_index(INDEX, engine_model(says), RETRIEVAL, OPEN, CONFIG)
    for question, mode, condition in turns:
        given = {"history": history, "conversation": conversation, "mode": mode, "filter": condition}
        answers.append(chain.answer(question, **given))
        history.append(answers[-1].exchange)
        conversation = answers[-1].conversation
    return answers


def through_langchain(turns: Sequence[Turn], *, streamed: bool) -> list[Answer]:
    history: list[Any] = []
    answers = []
    chain = answer_chain(langchain_model(says), langchain_retriever(), CONFIG)
    for question, mode, condition in turns:
        given: Any = {"input": question, "chat_history": history, "mode": mode, "filter": condition}
        output: Any = list(chain.stream(given))[-1] if streamed else chain.invoke(given)
        answers.append(output["result"])
        message = AIMessage.model_validate_json(output["message"].model_dump_json())
        history += [HumanMessage(question), message]
    return answers


def through_llamaindex(turns: Sequence[Turn], *, streamed: bool) -> list[Answer]:
    history: list[ChatMessage] = []
    answers = []
    engine = AnswerQueryEngine(LlamaIndexModel(says=says), llamaindex_retriever(), CONFIG)
    for question, mode, condition in turns:
        run = engine.start_run(question, history, mode, condition, is_streamed=streamed)
        *_, answer = run.events()
        assert isinstance(answer, Answer)
        answers.append(answer)
        message = ChatMessage.model_validate_json(run.message(answer).model_dump_json())
        history += [ChatMessage(content=question, role="user"), message]
    return answers


def compared(answer: Answer) -> dict[str, Any]:
    """All of an answer but times, and what only tells how the searches went."""
    plain = answer.to_dict()
    steps = [(step["name"], step["outcome"]) for step in plain["steps"]]
    context = answer.context.text if answer.context else None
    kept = ("question", "answer", "mode", "understanding", "citations", "unknown_labels", "quotes", "quality", "hits")
    return {**{name: plain[name] for name in (*kept, "abstained", "notes")}, "steps": steps, "context": context}


CONVERSATION: list[Turn] = [
    (DRINK, "normal", None),
    ("And eat?", "normal", None),
    ("Parking and ferritin?", "escalated", None),
    ("xyzzy", "normal", None),
    ("Parking in 2021?", "normal", {"source": "parking.pdf"}),
    ("A poem, please", "normal", None),
]


@pytest.mark.parametrize("streamed", [False, True])
def test_both_frameworks_give_the_answers_of_the_engine(streamed: bool) -> None:
    expected = [compared(answer) for answer in without_a_framework(CONVERSATION)]
    for given in (through_langchain, through_llamaindex):
        for turn, wanted in zip(given(CONVERSATION, streamed=streamed), expected, strict=True):
            found = compared(turn)
            for name, value in wanted.items():
                assert found[name] == value, (given.__name__, wanted["question"], name)


def test_the_conversation_has_all_that_is_to_be_compared() -> None:
    answers = without_a_framework(CONVERSATION)
    assert [answer.abstention_reason is None for answer in answers] == [True, True, True, False, True, False]
    labels = [citation.label for answer in answers for citation in answer.citations]
    assert len(labels) > len(set(labels))  # documents keep theirs
    assert any(quote.found for answer in answers for quote in answer.quotes)
    assert {answer.understanding.intent for answer in answers} == {"care", "practical", "off"}
    assert answers[1].understanding.rewritten
    assert answers[2].understanding.sub_questions


def answers_of_all_three(
    config: AnswerConfig,
    question: str,
    earlier: Sequence[tuple[str, str]] = (),
    *,
    assembly: AssemblyConfig | None = None,
    streamed: bool = False,
) -> list[Answer]:
    """The answers of the engine, of LangChain and of LlamaIndex to one question of a conversation."""
    assembly = replace(assembly or OPEN, neighbors="unfiltered")
    chain = AnswerChain.from_index(INDEX, engine_model(says), RETRIEVAL, assembly, config)
    history = [Exchange(*pair) for pair in earlier]
    first: Any = [*chain.stream(question, history=history)] if streamed else [chain.answer(question, history=history)]
    langchain = langchain_retriever(assembly)
    said = [message for asked, answer in earlier for message in (HumanMessage(asked), AIMessage(answer))]
    runnable, given = answer_chain(langchain_model(says), langchain, config), {"input": question, "chat_history": said}
    outputs: Any = [*runnable.stream(given)] if streamed else [runnable.invoke(given)]  # type: ignore[arg-type]
    assert "".join(output.get("answer", "") for output in outputs) == outputs[-1]["result"].text
    llamaindex = llamaindex_retriever(assembly)
    messages = [ChatMessage(content=one.content, role="user" if one.type == "human" else "assistant") for one in said]
    run = AnswerQueryEngine(LlamaIndexModel(says=says), llamaindex, config).start_run(
        question, messages, is_streamed=streamed
    )
    *pieces, third = run.events()
    assert "".join(piece.text for piece in pieces) == third.text
    labels = [citation.label for citation in third.context.citations] if third.context else []
    assert [node.metadata["citation"]["label"] for node in run.nodes] == labels
    return [first[-1], outputs[-1]["result"], third]


SHORT = Mode(answer_tokens=100)
RULES: dict[str, tuple[dict[str, Any], list[tuple[str, str]], dict[str, Any]]] = {
    "system prompt, query, history, context and answer share one window": (
        {"extra_rules": ("Be brief. " * 20,), "rewrite": "off", "modes": {"normal": SHORT}},
        [("Where do I park?", "word " * 30), ("And eat?", "Nothing.")],
        {"notes": ["history: 2 messages left out, beyond 5 exchanges or 35 tokens"]},
    ),
    "an answer is checked for forbidden advice": (
        {"forbidden": (r"\btwo hours\b",), "refusal": "Ask your doctor."},
        [],
        {"answer": "Ask your doctor."},
    ),
    "think harder after dissatisfaction, abstention or low quality": (
        {"modes": {"normal": Mode(limit=1), "escalated": Mode(limit=4)}, "think_harder": "escalated"},
        [],
        {
            "mode": "escalated",
            "notes": [
                "think harder: 1 unknown labels, 0 quotes not found; answered once more in mode 'escalated'",
            ],
        },
    ),
    "older history is summarized": (
        {"rewrite": "off", "summarize_history": True, "history_exchanges": 1},
        [("Where do I park?", "Here."), ("And eat?", "Nothing.")],
        {
            "answer": 'After 6 messages: "two hours before" [1]. See also [1], and [99].',
        },
    ),
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_all_three_follow_the_published_rules_alike(rule: str, streamed: bool) -> None:
    settings, earlier, wanted = RULES[rule]
    assembly = OPEN
    if "window" in rule:
        budget = TokenBudget(window=360, system=0, query=0, conversation=0, generation=100, buffer=64)
        assembly = AssemblyConfig(max_tokens=budget)
    answers = answers_of_all_three(AnswerConfig(**settings), DRINK, earlier, assembly=assembly, streamed=streamed)
    expected, *others = (compared(answer) for answer in answers)
    assert {name: expected[name] for name in wanted} == wanted
    assert others == [expected] * 2


def test_a_chat_model_that_says_its_window_is_held_to_it_in_both_frameworks() -> None:
    """The published rule: system prompt, query, history, context and answer share one window."""

    config = AnswerConfig(modes={"normal": Mode(answer_tokens=100)}, rewrite="off")
    long = "word " * 150
    sized = FakeListChatModel(responses=["Water [1]."], profile={"max_input_tokens": 400})
    history = [HumanMessage("Where do I park?"), AIMessage(long)]
    chain = answer_chain(sized, langchain_retriever(), config)
    first = chain.invoke({"input": DRINK, "chat_history": history})["result"]
    engine = AnswerQueryEngine(LlamaIndexModel(says=lambda _: "Water [1].", window=400), llamaindex_retriever(), config)
    messages = [ChatMessage(content="Where do I park?", role="user"), ChatMessage(content=long, role="assistant")]
    second = engine.answer(DRINK, chat_history=messages)
    assert first.notes == second.notes
    assert first.notes[0].startswith("history: 2 messages left out, beyond 5 exchanges or ")
    assert first.context.text == second.context.text
    assert first.context.trace.max_tokens == second.context.trace.max_tokens < 200


@pytest.mark.parametrize("assembly", [presets.VOICE, AssemblyConfig()], ids=["voice", "default"])
def test_a_spoken_answer_has_the_same_citations_in_both_frameworks(assembly: AssemblyConfig) -> None:
    """The published rule: a spoken answer has the same sources, without labels, also with the default format."""
    question, spoken = "What is measured in the morning?", "Ferritin is measured then."
    config, assembly = AnswerConfig(voice=True), replace(assembly, neighbors="unfiltered")
    chain = AnswerChain.from_index(INDEX, engine_model(lambda _: spoken), RETRIEVAL, assembly, config)
    expected = [citation.chunk_ids for citation in chain.answer(question).citations]
    langchain = langchain_retriever(assembly)
    output = answer_chain(langchain_model(lambda _: spoken), langchain, config).invoke({"input": question})
    llamaindex = llamaindex_retriever(assembly)
    response: Any = AnswerQueryEngine(LlamaIndexModel(says=lambda _: spoken), llamaindex, config).query(question)
    assert "lab#0" in expected[0]
    assert (output["answer"], str(response)) == (spoken, spoken)
    assert [tuple(one["chunk_ids"]) for one in output["citations"]] == expected
    assert [tuple(one["chunk_ids"]) for one in response.metadata["citations"]] == expected
    assert output["message"].additional_kwargs[MESSAGE_KEY]["cited"]
