"""An error of a provider keeps its class through an answer chain: for `except`, retries and fallbacks."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import anthropic
import httpx
import pytest
from langchain_core.runnables import RunnableLambda

from chain_samples import ANSWER, QUESTION, retriever
from ctxassembly import AnswerError, Chunk, MemoryIndex, RetrievalConfig, SearchError
from langchain_ctxassembly import ContextRetriever, answer_chain

ASKED: Any = {"input": QUESTION}


def rate_limited() -> anthropic.RateLimitError:
    request = httpx.Request("POST", "https://api.example/v1/messages")
    return anthropic.RateLimitError("slow down", response=httpx.Response(429, request=request), body={"type": "error"})


def failing(*errors: Exception) -> tuple[Any, list[int]]:
    """A model that raises each of `errors` once, and then answers; and a list with an entry for each call."""
    calls: list[int] = []

    def answer(_: Any) -> str:
        calls.append(len(calls))
        if len(calls) <= len(errors):
            raise errors[len(calls) - 1]
        return ANSWER

    return RunnableLambda(answer), calls


def invoked(chain: Any) -> None:
    chain.invoke(ASKED)


def streamed(chain: Any) -> None:
    list(chain.stream(ASKED))


@pytest.mark.parametrize("run", [invoked, streamed])
def test_except_catches_the_providers_class_and_ours(run: Callable[[Any], None]) -> None:
    for kind in (anthropic.RateLimitError, anthropic.APIStatusError, AnswerError):
        model, _ = failing(rate_limited())
        with pytest.raises(kind, match="the model failed: RateLimitError: slow down") as caught:
            run(answer_chain(model, retriever()))
        error: Any = caught.value
        assert (error.status_code, error.body, error.partial) == (429, {"type": "error"}, "")
        assert isinstance(error.__cause__, anthropic.RateLimitError)
        assert error.response is error.__cause__.response


async def test_awaited_too() -> None:
    model, _ = failing(rate_limited(), rate_limited())
    with pytest.raises(anthropic.RateLimitError):
        await answer_chain(model, retriever()).ainvoke(ASKED)
    with pytest.raises(anthropic.RateLimitError):
        _ = [piece async for piece in answer_chain(model, retriever()).astream(ASKED)]


def test_a_retry_retries_the_class_that_it_names_alone() -> None:
    model, calls = failing(rate_limited())
    retried = answer_chain(model, retriever()).with_retry(
        retry_if_exception_type=(anthropic.RateLimitError,), wait_exponential_jitter=False
    )
    assert retried.invoke(ASKED)["answer"] == ANSWER
    assert len(calls) == 2
    model, calls = failing(ConnectionResetError(104, "reset"))
    retried = answer_chain(model, retriever()).with_retry(
        retry_if_exception_type=(anthropic.RateLimitError,), wait_exponential_jitter=False
    )
    with pytest.raises(ConnectionError) as caught:
        retried.invoke(ASKED)
    assert caught.value.errno == 104
    assert len(calls) == 1


def test_fallbacks_handle_the_class_that_they_name() -> None:
    model, _ = failing(rate_limited())
    other, _ = failing()
    chain = answer_chain(model, retriever()).with_fallbacks(
        [answer_chain(other, retriever())], exceptions_to_handle=(anthropic.RateLimitError,)
    )
    assert chain.invoke(ASKED)["answer"] == ANSWER


def test_an_embedding_models_error_keeps_its_class() -> None:
    def embed(_: str) -> list[float]:
        raise rate_limited()

    index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)], [[1.0, 0.0]])
    model, _ = failing()
    found = ContextRetriever(index, embed, config=RetrievalConfig(strategy="vector"))
    for run in (invoked, streamed):
        with pytest.raises(anthropic.RateLimitError) as caught:
            run(answer_chain(model, found))
        assert isinstance(caught.value, SearchError)
    with pytest.raises(anthropic.RateLimitError):
        found.invoke(QUESTION)


@pytest.mark.parametrize("error", [ConnectionError(104, "reset"), UnicodeDecodeError("utf8", b"x", 0, 1, "odd")])
def test_an_error_of_two_classes_can_be_pickled(error: Exception) -> None:
    model, _ = failing(error)
    with pytest.raises(type(error)) as caught:
        invoked(answer_chain(model, retriever()))
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, type(error))
    assert isinstance(again, AnswerError)
    assert str(again) == str(caught.value)
    assert pickle.loads(pickle.dumps(AnswerError("nothing", "half"))).partial == "half"


class FinalError(Exception):
    """An error that nothing can inherit from."""

    def __init_subclass__(cls) -> None:
        raise TypeError("final")


@pytest.mark.parametrize("error", [FinalError("odd"), StopIteration(3)])
def test_a_class_that_cannot_be_inherited_from_is_left_out(error: Exception) -> None:
    with pytest.raises(AnswerError, match="the model failed"):
        raise AnswerError.from_error(error, "the model failed", "")
