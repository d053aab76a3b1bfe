"""`llm=` of the LlamaIndex adapter: what compresses, called and awaited, and the window that a context must fit."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core import MockEmbedding, Settings, VectorStoreIndex
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.instrumentation.events.llm import LLMCompletionStartEvent
from llama_index.core.llms import CustomLLM, MockLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.schema import NodeWithScore, TextNode

from ctxassembly import AssemblyConfig
from ctxassembly.errors import ConfigError
from llamaindex_ctxassembly import ContextAssemblyPostprocessor

TEXT = "The valley is wide. The market closes at noon. Wool was carded in winter. The lake is deep in the middle."
NODES = [NodeWithScore(node=TextNode(id_="valley", text=TEXT, metadata={"source": "A.pdf"}))]
COMPRESS = AssemblyConfig(window=0, max_tokens=25, compress="llm")
QUESTION, SAID = "market hours", "The market closes at noon."


class SyncOnly(CustomLLM):
    """One with `complete` alone; the rest comes from CustomLLM. It may wait for something before it answers."""

    wait_for: Any = None

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        assert self.wait_for is None or self.wait_for.wait(60), "the loop stood still"
        return CompletionResponse(text=SAID)

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError


class Awaited(SyncOnly):
    """One that has an `acomplete` of its own."""

    @llm_completion_callback()
    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        await asyncio.sleep(0)
        return CompletionResponse(text=SAID)


def extract(prompt: str) -> str:
    return SAID


def check(found: list[NodeWithScore]) -> None:
    (labeled,) = found
    assert labeled.node.get_content() == f"[1] Source: A.pdf\n{SAID}"
    (shortened,) = labeled.node.metadata["citation"]["shortened"]
    assert shortened == {"chunk_id": "valley", "by": "llm", "tokens_before": 26, "tokens_after": 6}


@pytest.mark.parametrize("llm", [SyncOnly(), Awaited(), extract], ids=["custom", "awaited", "function"])
async def test_what_the_model_extracts_is_read_sync_and_async(llm: Any) -> None:
    postprocessor = ContextAssemblyPostprocessor(config=COMPRESS, llm=llm)
    check(postprocessor.postprocess_nodes(NODES, query_str=QUESTION))
    check(await postprocessor.apostprocess_nodes(NODES, query_str=QUESTION))


async def test_a_model_without_an_acomplete_of_its_own_does_not_stall_the_loop() -> None:
    """CustomLLM's calls `complete` on the loop. This one waits for what only the running loop can do."""
    turned = threading.Event()
    postprocessor = ContextAssemblyPostprocessor(config=COMPRESS, llm=SyncOnly(wait_for=turned))
    asyncio.get_running_loop().call_later(0.01, turned.set)
    check(await postprocessor.apostprocess_nodes(NODES, query_str=QUESTION))


async def test_the_models_spans_stand_below_the_postprocessors(instruments: Any) -> None:
    events, spans = instruments
    postprocessor = ContextAssemblyPostprocessor(config=COMPRESS, llm=Awaited())
    postprocessor.postprocess_nodes(NODES, query_str=QUESTION)
    await postprocessor.apostprocess_nodes(NODES, query_str=QUESTION)
    asked = [span for span in spans.completed_spans if "complete" in span.id_]
    assert {span.id_.split("-")[0] for span in asked} == {"Awaited.complete", "Awaited.acomplete"}
    assert {str(span.parent_id).split("-")[0] for span in asked} == {"ctxassembly.budget"}
    assert any(isinstance(event, LLMCompletionStartEvent) for event in events)


def test_a_model_is_needed_to_compress_and_left_out_of_json() -> None:
    for make, words in (
        (lambda: ContextAssemblyPostprocessor(config=COMPRESS), "compress='llm' needs a language model: pass llm="),
        (lambda: ContextAssemblyPostprocessor(config=COMPRESS, llm="gpt-4o"), "llm must be a LlamaIndex LLM or a f"),
    ):
        with pytest.raises(ConfigError, match=words):
            make()
    written = ContextAssemblyPostprocessor(config=COMPRESS, llm=extract).to_dict()
    assert "llm" not in written
    assert ContextAssemblyPostprocessor.from_dict(written, llm=extract).config == COMPRESS
    with pytest.raises(ConfigError, match="compress='llm' needs a language model: pass llm="):
        ContextAssemblyPostprocessor.from_dict(written)


class Small(MockLLM):
    """Takes 4,096 tokens, as many that are run locally do."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=4_096, num_output=512, model_name="small")


class Nameless(MockLLM):
    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=4_096)


def warned(recwarn: pytest.WarningsRecorder) -> list[str]:
    return [str(one.message) for one in recwarn if "doesn't fit into" in str(one.message)]


@pytest.mark.parametrize(("make", "name"), [(Small, "small"), (Nameless, "Nameless"), (MockLLM, None)])
def test_a_context_without_room_in_the_window_of_the_llm_is_warned_of_once(
    make: Callable[[], MockLLM], name: str | None, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    """Also of one that a notebook sets in a later cell. A MockLLM's window is only supposed."""
    monkeypatch.setattr(Settings, "_llm", None)
    index = VectorStoreIndex([each.node for each in NODES], embed_model=MockEmbedding(embed_dim=8))
    ours = ContextAssemblyPostprocessor()
    monkeypatch.setattr(Settings, "_llm", make())
    engine = index.as_query_engine(node_postprocessors=[ours])
    engine.query(QUESTION)
    engine.query(QUESTION)
    said = warned(recwarn)
    assert len(said) == (0 if name is None else 1)
    words = rf"A context of up to 8,000 tokens doesn't fit into the 4,096 tokens of {name}.*TokenBudget.for_model"
    assert all(re.match(words, one) for one in said)
