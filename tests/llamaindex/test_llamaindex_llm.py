"""`llm=` of the LlamaIndex adapter."""

from __future__ import annotations

import asyncio
import pickle
import re
import threading
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest
from llama_index.core import MockEmbedding, Settings, VectorStoreIndex
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.instrumentation.events.llm import LLMCompletionStartEvent
from llama_index.core.llms import CustomLLM, MockLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.schema import NodeWithScore, TextNode

from ctxassembly import AssemblyConfig, TokenBudget
from ctxassembly.assembly.arguments import AssemblyCall, Services
from ctxassembly.assembly.pipeline import assemble_flow
from ctxassembly.data.requests import CompressTexts
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.runtime import assemble as drive
from ctxassembly.tokens.models import LLAMAINDEX_DEFAULT_WINDOW
from llamaindex_ctxassembly import ContextAssemblyPostprocessor
from llamaindex_ctxassembly.convert.models import async_text_model, text_model

NODES = [NodeWithScore(node=TextNode(id_="water", text="You may drink water."))]
COMPRESS = AssemblyConfig(compress="llm")
PROMPTS = ("first", "second")


class SyncOnly(CustomLLM):
    """One with `complete` alone; the rest comes from CustomLLM. It may wait for something before it answers."""

    wait_for: Any = None

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        assert self.wait_for is None or self.wait_for.wait(60), "the loop stood still"
        return CompletionResponse(text=prompt.upper())

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError


class Awaited(SyncOnly):
    """One that has an `acomplete` of its own."""

    @llm_completion_callback()
    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        await asyncio.sleep(0)
        return CompletionResponse(text=f"awaited {prompt}")


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the model answers: the flow asks it before it does anything else."""
    found: list[Any] = []

    def flow(call: AssemblyCall, services: Services, clock: Any) -> Generator[Any, Any, Any]:
        found.extend((yield CompressTexts(PROMPTS, timeout_seconds=60.0)) if services.can_compress else [])
        return (yield from assemble_flow(call, replace(services, can_compress=False), clock))

    monkeypatch.setattr(drive, "assemble_flow", flow)
    return found


def shout(prompt: str) -> str:
    return prompt.upper()


async def ashout(prompt: str) -> str:
    return prompt.upper()


@pytest.mark.parametrize(
    ("llm", "expected"),
    [
        (SyncOnly(), "FIRST"),
        (MockLLM(), "first"),
        (shout, "FIRST"),
    ],
)
def test_whatever_answers_gives_its_text(llm: Any, expected: str) -> None:
    assert text_model(llm)("first") == expected
    assert async_text_model(llm)("first") == expected


async def test_what_can_be_awaited_is_awaited() -> None:
    assert text_model(Awaited())("first") == "FIRST"
    assert await async_text_model(Awaited())("first") == "awaited first"
    assert await async_text_model(ashout)("first") == "FIRST"


def test_no_model_is_none() -> None:
    assert text_model(None) is None
    assert async_text_model(None) is None


async def test_the_postprocessor_asks_its_model_sync_and_async(answers: list[Any]) -> None:
    postprocessor = ContextAssemblyPostprocessor(llm=Awaited())
    assert len(postprocessor.postprocess_nodes(NODES)) == 1
    assert len(await postprocessor.apostprocess_nodes(NODES)) == 1
    assert answers == ["FIRST", "SECOND", "awaited first", "awaited second"]


async def test_a_model_without_an_acomplete_of_its_own_does_not_stall_the_loop(answers: list[Any]) -> None:
    """CustomLLM's calls `complete` on the loop. This one waits for what only the running loop can do."""
    turned = threading.Event()
    postprocessor = ContextAssemblyPostprocessor(llm=SyncOnly(wait_for=turned))
    asyncio.get_running_loop().call_later(0.01, turned.set)
    await postprocessor.apostprocess_nodes(NODES)
    assert answers == ["FIRST", "SECOND"]


@pytest.mark.parametrize("llm", [SyncOnly(), Awaited()])
async def test_the_models_spans_stand_below_the_postprocessors(llm: Any, answers: list[Any], instruments: Any) -> None:
    """Both of them, though they run in threads, and each with its event."""
    events, spans = instruments
    postprocessor = ContextAssemblyPostprocessor(llm=llm)
    postprocessor.postprocess_nodes(NODES)
    await postprocessor.apostprocess_nodes(NODES)
    names = {span.id_: span.id_.split("-")[0].split(".")[1] for span in spans.completed_spans}
    parents = [
        (name, names.get(span.parent_id)) for span in spans.completed_spans if "complete" in (name := names[span.id_])
    ]
    awaited = "acomplete" if isinstance(llm, Awaited) else "complete"
    expected = [("complete", "_postprocess_nodes")] * 2 + [(awaited, "_apostprocess_nodes")] * 2
    assert parents == expected
    assert [event.prompt for event in events if isinstance(event, LLMCompletionStartEvent)].count("second") == 2


async def test_an_async_function_needs_apostprocess_nodes(answers: list[Any]) -> None:
    postprocessor = ContextAssemblyPostprocessor(llm=ashout)
    with pytest.raises(InputError, match="llm can only be awaited"):
        postprocessor.postprocess_nodes(NODES)
    await postprocessor.apostprocess_nodes(NODES)
    assert answers == ["FIRST", "SECOND"]


def test_without_a_model_none_is_asked(answers: list[Any]) -> None:
    assert len(ContextAssemblyPostprocessor().postprocess_nodes(NODES)) == 1
    assert answers == []


def test_compression_by_a_model_without_one_is_an_error_at_construction() -> None:
    with pytest.raises(ConfigError, match="compress='llm' needs a language model: pass llm="):
        ContextAssemblyPostprocessor(config=COMPRESS)


def test_what_can_not_answer_is_an_error_at_construction() -> None:
    with pytest.raises(
        ConfigError, match="llm must be a LlamaIndex LLM or a function from a prompt to an answer, got 'g"
    ):
        ContextAssemblyPostprocessor(config=COMPRESS, llm="gpt-4o")


@pytest.mark.parametrize("llm", [SyncOnly(), Awaited(), shout, ashout])
@pytest.mark.parametrize("config", [COMPRESS, AssemblyConfig()])
def test_a_model_is_no_error_whatever_is_compressed(config: AssemblyConfig, llm: Any) -> None:
    assert ContextAssemblyPostprocessor(config=config, llm=llm).llm is llm


def test_the_model_is_left_out_of_json_and_handed_in_again() -> None:
    written = ContextAssemblyPostprocessor(config=COMPRESS, llm=shout).to_dict()
    assert "llm" not in written
    assert ContextAssemblyPostprocessor.from_dict(written, llm=shout).config == COMPRESS
    with pytest.raises(ConfigError, match="compress='llm' needs a language model: pass llm="):
        ContextAssemblyPostprocessor.from_dict(written)


async def test_what_the_model_extracts_stands_in_the_node_and_is_flagged() -> None:
    text = "The valley is wide. The market closes at noon. Wool was carded in winter. The lake is deep in the middle."
    nodes = [NodeWithScore(node=TextNode(id_="valley", text=text, metadata={"source": "A.pdf"}))]
    config = AssemblyConfig(window=0, max_tokens=25, compress="llm")

    class Extractor(SyncOnly):
        @llm_completion_callback()
        def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
            return CompletionResponse(text="The market closes at noon.")

    assembly = ContextAssemblyPostprocessor(config=config, llm=Extractor())
    question = "market hours"
    sync, awaited = (
        assembly.postprocess_nodes(nodes, query_str=question),
        await assembly.apostprocess_nodes(nodes, query_str=question),
    )
    for (found,) in (sync, awaited):
        assert found.node.get_content() == "[1] Source: A.pdf\nThe market closes at noon. [...]"
        (shortened,) = found.node.metadata["citation"]["shortened"]
        assert shortened == {"chunk_id": "valley", "by": "llm", "tokens_before": 26, "tokens_after": 6}


class Small(MockLLM):
    """Takes 4,096 tokens, as many that are run locally do."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=4_096, num_output=512, model_name="small")


WARNED = r"A context of up to 8,000 tokens doesn't fit into the 4,096 tokens of small.*TokenBudget.for_model\(llm\)"


def test_a_context_that_has_no_room_in_the_window_of_the_llm_is_warned_of(monkeypatch: pytest.MonkeyPatch):
    with pytest.warns(UserWarning, match=WARNED):
        ContextAssemblyPostprocessor(llm=Small())
    monkeypatch.setattr(Settings, "_llm", Small())
    with pytest.warns(UserWarning, match=WARNED):
        ContextAssemblyPostprocessor()
    budget = TokenBudget.for_model(Settings.llm)
    assert budget.context == 4_096 - 1_024 - 64
    ContextAssemblyPostprocessor(config=AssemblyConfig(max_tokens=budget))


class Nameless(MockLLM):
    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=4_096)


def test_the_warning_names_a_model_that_llamaindex_calls_unknown():
    with pytest.warns(UserWarning, match="the 4,096 tokens of Nameless"):
        ContextAssemblyPostprocessor(llm=Nameless())


def test_a_window_that_llamaindex_only_supposes_is_not_warned_of(monkeypatch: pytest.MonkeyPatch):
    assert MockLLM().metadata.context_window == LLAMAINDEX_DEFAULT_WINDOW
    monkeypatch.setattr(Settings, "_llm", MockLLM())
    ContextAssemblyPostprocessor(llm=MockLLM())


def test_nor_has_it_room_if_the_llm_is_set_after_the_postprocessor_was_made(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
):
    """As in a notebook that sets `Settings.llm` in a later cell: an ordinary query engine then warns, once."""
    monkeypatch.setattr(Settings, "_llm", None)
    index = VectorStoreIndex([each.node for each in NODES], embed_model=MockEmbedding(embed_dim=8))
    ours = ContextAssemblyPostprocessor()
    monkeypatch.setattr(Settings, "_llm", Small())
    engine = index.as_query_engine(node_postprocessors=[ours])
    engine.query("May I drink?")
    engine.query("May I drink?")
    (warned,) = [each for each in recwarn if "doesn't fit into" in str(each.message)]
    assert re.match(WARNED, str(warned.message))
    assert pickle.loads(pickle.dumps(ours)).config == ours.config
