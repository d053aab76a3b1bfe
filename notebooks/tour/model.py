"""Stand-ins for models: a chat model that quotes what it was given to read, for LangChain and for LlamaIndex.

It gets the prompt that a real model would get, and nothing else. What it can't do is write; what it shows is which
labels an answer can cite, and that the way back from a label to its source is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import BaseMessage
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from pydantic import PrivateAttr

from demo.embedding import MODEL, SentenceEncoder

MOST_QUOTES = 3
SENTENCE_CHARS = range(40, 300)
"""Of what is quoted: what is shorter is a heading or a bullet, what is longer mostly code."""
_LABEL = re.compile(r"^\[(\d+)\] [^\n]*\n", re.MULTILINE)
_QUESTION = re.compile(r"^(?:Question|Query|Vraag): ", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n\n+|\s*\[\.\.\.\]\s*")


def quoted(prompt: str) -> str:
    """The sentences of the prompt's sources that share most words with its question, each with its source's label."""
    *before, question = _QUESTION.split(prompt)
    _, *sources = _LABEL.split("".join(before))
    asked = _words(question)
    best = []
    for label, text in zip(sources[::2], sources[1::2], strict=True):
        sentences = [" ".join(each.split()) for each in _SENTENCE_END.split(text)]
        best += sorted((-len(asked & _words(each)), int(label), each) for each in sentences if _is_prose(each))[:1]
    said = [f"“{sentence.translate(_INNER)}” [{label}]" for _, label, sentence in sorted(best)[:MOST_QUOTES]]
    return "\n".join(said) or "The context has no sources."


_INNER = str.maketrans("“”", '""')


def _is_prose(sentence: str) -> bool:
    whole = sentence.endswith((".", "?", "!")) and not sentence[0].islower()
    return whole and len(sentence) in SENTENCE_CHARS and ">>>" not in sentence


def _words(text: str) -> set[str]:
    """Long words by their first six letters, so that a plural is its singular."""
    return {word[:6] for word in re.findall(r"\w{4,}", text.lower())}


class QuotingChatModel(SimpleChatModel):
    """`quoted` as a LangChain chat model."""

    @property
    def _llm_type(self) -> str:
        return "quoting"

    def _call(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **_: Any,
    ) -> str:
        return quoted("\n\n".join(message.text for message in messages))


class QuotingLLM(CustomLLM):
    """`quoted` as a LlamaIndex LLM."""

    @property
    def metadata(self) -> LLMMetadata:
        """A window in which every context of the notebooks has room."""
        return LLMMetadata(context_window=32_000, model_name="quoting")

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:  # noqa: ARG002
        """The whole answer."""
        return CompletionResponse(text=quoted(prompt))

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponseGen:  # noqa: ARG002
        """The answer word by word."""
        return self._streamed(quoted(prompt).split(" "))

    @staticmethod
    def _streamed(words: Iterable[str]) -> CompletionResponseGen:
        text = ""
        for word in words:
            text = f"{text} {word}" if text else word
            yield CompletionResponse(text=text, delta=word)


class LlamaSentenceEncoder(BaseEmbedding):
    """The demo's sentence encoder as a LlamaIndex embedding model."""

    model_name: str = MODEL
    _encoder: SentenceEncoder = PrivateAttr(default_factory=SentenceEncoder)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._encoder.embed_query(text)

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._encoder.embed_documents(texts)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._encoder.embed_query(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._encoder.embed_query(query)
