"""The mark at the end of the stable prefix, in each framework's own form."""

from __future__ import annotations

from typing import Any

from langchain_anthropic import ChatAnthropic
from llama_index.core.base.llms.types import CachePoint

from ctxassembly import Chunk, Hit, assemble
from langchain_ctxassembly import to_messages as to_langchain
from llamaindex_ctxassembly import to_messages as to_llamaindex

CONTEXT = assemble([Hit(Chunk("a", "a", "Drink water."))])


def test_the_mark_stands_after_the_rules_and_before_the_context() -> None:
    system, user = to_langchain(CONTEXT, "May I drink?", cache_prefix=True)
    plain, same = to_langchain(CONTEXT, "May I drink?")
    assert system.content == [{"type": "text", "text": plain.content, "cache_control": {"type": "ephemeral"}}]
    assert (system.text, user) == (plain.text, same)
    rules, question = to_llamaindex(CONTEXT, "May I drink?", cache_prefix=True)
    assert isinstance(rules.blocks[-1], CachePoint)
    assert rules.blocks[-1].cache_control.type == "ephemeral"
    assert [rules.content, question.content] == [one.content for one in to_llamaindex(CONTEXT, "May I drink?")]


def test_a_chat_model_of_anthropic_sends_the_mark() -> None:
    settings: Any = {"model": "claude-sonnet-4-5", "api_key": "none"}
    model: Any = ChatAnthropic(**settings)
    payload = model._get_request_payload(to_langchain(CONTEXT, "May I drink?", cache_prefix=True))
    assert payload["system"][-1]["cache_control"] == {"type": "ephemeral"}
