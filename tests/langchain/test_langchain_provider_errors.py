"""An error of a model or of embeddings is the cause of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda

from chain_samples import ANSWER, QUESTION, retriever
from ctxassembly import AnswerError, Chunk, MemoryIndex, RetrievalConfig, StoreError
from langchain_ctxassembly import ContextRetriever, answer_chain

ASKED: Any = {"input": QUESTION}


class RateLimitError(Exception):
    status_code = 429


def failing(*_: Any) -> Any:
    raise RateLimitError("slow down")


def invoked(chain: Any) -> None:
    chain.invoke(ASKED)


def streamed(chain: Any) -> None:
    list(chain.stream(ASKED))


@pytest.mark.parametrize("run", [invoked, streamed])
def test_the_models_error_is_the_cause(run: Callable[[Any], None]) -> None:
    with pytest.raises(AnswerError, match="the model failed: RateLimitError: slow down") as caught:
        run(answer_chain(RunnableLambda(failing), retriever()))
    assert isinstance(caught.value.__cause__, RateLimitError)
    assert caught.value.partial == ""


async def test_awaited_too() -> None:
    chain = answer_chain(RunnableLambda(failing), retriever())
    with pytest.raises(AnswerError):
        await chain.ainvoke(ASKED)
    with pytest.raises(AnswerError):
        _ = [piece async for piece in chain.astream(ASKED)]


def test_a_retry_and_fallbacks_name_our_class() -> None:
    calls: list[Any] = []

    def failing_once(given: Any) -> str:
        calls.append(given)
        return failing() if len(calls) == 1 else ANSWER

    retried = answer_chain(RunnableLambda(failing_once), retriever()).with_retry(
        retry_if_exception_type=(AnswerError,), wait_exponential_jitter=False
    )
    assert retried.invoke(ASKED)["answer"] == ANSWER
    other = answer_chain(RunnableLambda(lambda _: ANSWER), retriever())
    chain = answer_chain(RunnableLambda(failing), retriever()).with_fallbacks(
        [other], exceptions_to_handle=(AnswerError,)
    )
    assert chain.invoke(ASKED)["answer"] == ANSWER


@pytest.mark.parametrize("run", [invoked, streamed])
def test_the_embedding_models_error_is_the_cause(run: Callable[[Any], None]) -> None:
    index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)], [[1.0, 0.0]])
    found = ContextRetriever(index, failing, config=RetrievalConfig(strategy="vector"))
    with pytest.raises(StoreError, match="RateLimitError: slow down"):
        run(answer_chain(RunnableLambda(lambda _: ANSWER), found))
    with pytest.raises(StoreError) as caught:
        found.invoke(QUESTION)
    assert isinstance(caught.value.__cause__, RateLimitError)
