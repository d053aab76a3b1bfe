"""Semantic duplicates: chunks that mean nearly the same, by the cosine of their embeddings and the facts they state.

Vectors are compared by products of a numpy matrix and a vector, in double precision.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Collection, Generator, Sequence
from typing import Any

from ctxassembly.assembly.dedup.facts import Match, compare_facts
from ctxassembly.assembly.dedup.similar import FindMatches
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.requests import EmbedTexts
from ctxassembly.errors import InputError, StoreError
from ctxassembly.safe_repr import describe_error, safe_repr

Vector = Sequence[float]


def unit_vector(value: Any) -> Vector | None:
    """Return `value` scaled to length 1; None if it is no sequence of finite numbers, or has no direction."""
    if isinstance(value, (str, bytes)):
        return None
    try:
        vector = tuple(map(float, value)) if len(value) else ()
    except Exception:  # noqa: BLE001 - a class of somebody's own may raise anything
        return None
    length = math.hypot(*vector)
    if not 0 < length < math.inf:
        return None
    return array("d", [number / length for number in vector])  # a quarter of the memory of a tuple


def request_vectors(
    candidates: Sequence[Candidate], notes: list[str], *, can_embed: bool, raises: bool = False
) -> Generator[EmbedTexts, Sequence[Sequence[float]], dict[int, Vector]]:
    """Return the vectors of `candidates`, of length 1, by key: their own, or those that `embeddings` gives.

    All that lack one are asked for in one call. One without a vector isn't in the result, and a note counts these.

    Raises:
        StoreError: the embeddings failed, and `raises` is true.
    """
    own = {one.key: unit_vector(one.chunk.vector) for one in candidates if one.chunk.vector is not None}
    missing = [one for one in candidates if own.get(one.key) is None]
    if missing and can_embed:
        try:
            answer = yield EmbedTexts(tuple([one.chunk.text for one in missing]))
            _check_count(answer, len(missing))
            own |= {one.key: unit_vector(vector) for one, vector in zip(missing, answer, strict=True)}
        except Exception as error:
            if raises:
                raise StoreError(f"texts could not be embedded: {describe_error(error)}") from error
            notes.append(f"embeddings: no vectors ({describe_error(error)})")
    vectors = {key: vector for key, vector in own.items() if vector is not None}
    if lacking := len(candidates) - len(vectors):
        many = f"{lacking:,} of {len(candidates):,} chunks"
        notes.append(f"embeddings: {many} without a vector aren't compared by meaning")
    if len(dimensions := sorted({len(vector) for vector in vectors.values()})) > 1:
        notes.append(f"embeddings: vectors of {' and '.join(map(str, dimensions))} dimensions aren't compared")
    return vectors


def _check_count(answer: Any, texts: int) -> None:
    if isinstance(answer, (str, bytes)) or not hasattr(answer, "__len__") or len(answer) != texts:
        raise InputError(f"the embeddings must return one vector for each of {texts} texts, got {safe_repr(answer)}")


def find_close(texts: Sequence[str], vectors: Sequence[Vector | None], threshold: float) -> FindMatches:
    """Return the function that finds the texts with the facts of one and a cosine at the `threshold` with its vector.

    Vectors are of length 1. A text without a vector is close to nothing, and so are vectors of different dimensions.

    >>> texts = ["Wait 2 hours.", "The wait is 2 hours.", "Wait 3 hours.", "Eat nothing."]
    >>> vectors = [unit_vector(vector) for vector in ([1, 0], [1, 0.1], [1, 0], [0, 1])]
    >>> close = find_close(texts, vectors, 0.9)
    >>> [close(at, {0}) for at in (1, 2, 3)]
    [[Match(text_index=0, is_part=False)], [], []]
    """
    import numpy as np  # here, since the import takes 100 ms and few assemblies compare vectors

    differs = compare_facts(texts)
    places: dict[int, list[int]] = defaultdict(list)
    """The places of all vectors, by their number of dimensions."""
    for place, vector in enumerate(vectors):
        if vector is not None:
            places[len(vector)].append(place)
    matrices = {dimensions: np.array([vectors[place] for place in some]) for dimensions, some in places.items()}

    def find(position: int, kept: Collection[int]) -> list[Match]:
        mine = vectors[position]
        if mine is None:
            return []
        # Rounded, since the cosine of a vector with itself may come out as 0.9999999999999998.
        is_close = (matrices[len(mine)] @ np.array(mine)).round(12) >= threshold
        among = np.array(places[len(mine)])[is_close].tolist()
        matches = [Match(other) for other in among if other in kept]
        return [match for match in matches if not differs(position, match)]

    return find
