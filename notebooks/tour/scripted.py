"""A stand-in for a chat model in a conversation: it answers from a script, and cites what it was given to read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import BaseMessage

NOTHING: dict[str, Any] = {"confidence": 0.9, "question": None, "sub_questions": []}
_SOURCE = re.compile(r"\{([\w-]+)\}")
_LABEL = re.compile(r"^\[(\d+)\] Uit ([\w-]+)", re.MULTILINE)


class ScriptedChatModel(SimpleChatModel):
    """It prepares questions, and answers them, as the script says.

    A source in the script, such as {eeg}, becomes the label that it has in the prompt. One that isn't there can't be
    cited: the sentence says so.
    """

    understood: Mapping[str, Mapping[str, Any]]
    """For each question what the step before retrieval gives: intent, the question in other words, its parts."""
    answers: Mapping[str, str]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _call(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **_: Any,
    ) -> str:
        last = messages[-1].text
        if last.startswith("{"):  # a question to prepare comes as JSON
            return json.dumps(NOTHING | dict(self.understood[json.loads(last)["question"]]))
        labels = {source: label for label, source in _LABEL.findall(last)}
        question = last.rpartition("Vraag: ")[2].strip()
        return _SOURCE.sub(lambda found: f"[{labels.get(found[1], 'niet gelezen')}]", self.answers[question])
