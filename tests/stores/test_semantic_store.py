from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
from ctxassembly.errors import ConfigError
from ctxassembly.stores.sentence_transformers import SentenceTransformerEmbeddings


class Model:
    """What of a SentenceTransformer is used."""

    def __init__(self, name: str = "given") -> None:
        self.name = name
        self.options: dict[str, Any] = {}

    def encode(self, texts: list[str], **options: Any) -> np.ndarray:
        self.options = options
        return np.array([[1.0, 0.0] if "rink" in text else [0.0, 1.0] for text in texts], dtype="float32")


def test_a_model_embeds_in_one_call() -> None:
    model = Model()
    embeddings = SentenceTransformerEmbeddings(model, batch_size=8)
    chunks = [Chunk("a", "A", "You may drink."), Chunk("b", "B", "Drinking is allowed."), Chunk("c", "C", "Parking.")]
    context = assemble([Hit(chunk) for chunk in chunks], AssemblyConfig(dedup="semantic"), embeddings=embeddings)
    assert [citation.best_chunk_id for citation in context.citations] == ["a", "c"]
    assert model.options == {"batch_size": 8, "show_progress_bar": False}


def test_a_name_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Model))
    assert SentenceTransformerEmbeddings("some/model")._model.name == "some/model"


def test_a_missing_extra_names_the_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ImportError, match=r"pip install 'ctxassembly\[semantic\]'"):
        SentenceTransformerEmbeddings()


@pytest.mark.parametrize("model", ["", None, 7])
def test_what_is_no_model_is_an_error(model: Any) -> None:
    with pytest.raises(ConfigError, match="model must be a model's name or an object with encode"):
        SentenceTransformerEmbeddings(model)
