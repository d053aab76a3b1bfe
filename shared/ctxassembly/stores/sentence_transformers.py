"""Embeddings by sentence-transformers: for semantic deduplication of chunks without vectors, and as a scorer."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ctxassembly.errors import ConfigError, missing_extra


class SentenceTransformerEmbeddings:
    """Embeddings for `assemble`, computed on this machine.

    `model` is a name or a folder that sentence-transformers can load, or a loaded model (anything with `encode`).
    Loading takes seconds: make one object and keep it.

    How to choose `semantic_threshold`. With the default model, on single sentences, different facts about one subject
    have a similarity of up to 0.83, and paraphrases of 0.88 (which a threshold of 0.85 collapses) to 0.96 (which 0.92
    collapses). But "do not eat" and "you may eat" have 0.90, "six hours" and "eight hours" 0.97: no threshold
    separates these from paraphrases. So numbers, dates, names and negations are compared, too.

    Raises:
        ImportError: sentence-transformers is not installed.
        ConfigError: `model` is neither a name nor a model. What sentence-transformers can't load raises its own error.
    """

    def __init__(self, model: Any = "sentence-transformers/all-MiniLM-L6-v2", *, batch_size: int = 32) -> None:
        if model == "" or not hasattr(model, "encode"):  # a name has an encode() as well
            raise ConfigError("model", "a model's name or an object with encode(texts)", model)
        self._model = _load_model(model) if isinstance(model, str) else model
        self._batch_size = batch_size

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each of `texts`, in order."""
        vectors: list[list[float]] = self._model.encode(
            list(texts), batch_size=self._batch_size, show_progress_bar=False
        ).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query, which this kind of model embeds like any other text."""
        return self.embed_documents([text])[0]


def _load_model(name: str) -> Any:
    try:
        sentence_transformers = import_module("sentence_transformers")
    except ImportError as error:
        raise missing_extra("embedding with sentence-transformers", "semantic") from error
    return sentence_transformers.SentenceTransformer(name)
