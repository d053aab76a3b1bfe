"""The answer, by the model that CTXASSEMBLY_MODEL names, streamed to the terminal with its citations."""

from __future__ import annotations

import os
import textwrap
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from ctxassembly.answering import Answer
from ctxassembly.errors import CtxAssemblyError
from demo.ask import retriever_over
from langchain_ctxassembly import answer_chain

VARIABLE = "CTXASSEMBLY_MODEL"
HOW = (
    f'An answer: {VARIABLE}="openai:gpt-4o-mini" make demo, or another model that LangChain\'s init_chat_model knows '
    "(needs its key, and .venv/bin/pip install langchain langchain-openai)."
)
SNIPPET = 100
"""Characters."""


class ModelError(CtxAssemblyError):
    """The model that was named can't be had."""


def model() -> BaseChatModel | None:
    """The model that the environment names; None if it names none.

    Raises:
        ModelError: it can't be had: no such provider, a package or a key is missing.
    """
    name = os.environ.get(VARIABLE, "").strip()
    if not name:
        return None
    try:
        from langchain.chat_models import init_chat_model  # a package of its own, which nothing else here needs

        return init_chat_model(name)
    except Exception as error:  # each provider has errors of its own
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(f"The model {name!r} of {VARIABLE} can't be used: {reason}") from error


def answered(console: Console, store: VectorStore, question: str, llm: BaseChatModel | None) -> None:
    """Print the answer of `llm` as it comes, then what it cites and what each step took; without one, how to name one.

    Raises:
        AnswerError: the model failed.
    """
    console.print()
    if llm is None:
        console.print(HOW, soft_wrap=True, markup=False)
        return
    console.print(Rule(f"The answer of {os.environ[VARIABLE]}", align="left"))
    result = _streamed(console, retriever_over(store), question, llm)
    console.print()
    for citation in result.citations:
        snippet = textwrap.shorten(citation.snippet, SNIPPET, placeholder=" ...")
        console.print(Text(f"[{citation.label}] {citation.source}: {snippet}", style="dim"), soft_wrap=True)
    for line in _notes(result):
        console.print(Text(line, style="dim"), soft_wrap=True)


def _streamed(console: Console, retriever: BaseRetriever, question: str, llm: BaseChatModel) -> Answer:
    last: Any = {}
    for last in answer_chain(llm, retriever).stream({"input": question}):
        console.print(Text(last.get("answer", "")), end="", soft_wrap=True)
    console.print()
    answer: Answer = last["result"]
    return answer


def _notes(answer: Answer) -> list[str]:
    tokens = [
        f", {step.tokens_in:,} tokens in, {step.tokens_out:,} out" if step.tokens_in else "" for step in answer.steps
    ]
    steps = [
        f"{step.name:10}{step.elapsed_ms:8,.0f} ms  {step.outcome}{told}"
        for step, told in zip(answer.steps, tokens, strict=True)
    ]
    return [
        *steps,
        *answer.notes,
        *([f"no model was asked: {answer.abstention_reason}"] if answer.abstention_reason else []),
    ]
