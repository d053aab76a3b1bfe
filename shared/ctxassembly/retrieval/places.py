"""Places for chunks that no channel scored: entities, lists, rescued ones.

Their published scores (.85 to .95) lie on another scale than a fused one, so no score is made up for them. They get the
first places or the last ones, and the score of the chunk beside them there: scores never rise down the list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from ctxassembly.data.retrieval import Found


def placed(
    found: Sequence[Found], brought: Sequence[Found], *, at: Literal["first", "last"], limit: int
) -> list[Found]:
    """`found` with `brought`, in its order, in the first or the last of at most `limit` places.

    Chunks in both stand once, in the better place. The least of `found` make room.
    """
    if at == "last":
        there = {one.chunk.identity for one in found}
        brought = [one for one in brought if one.chunk.identity not in there]
    brought = brought[:limit]
    moved = {one.chunk.identity for one in brought}
    stay = [one for one in found if one.chunk.identity not in moved][: limit - len(brought)]
    if at == "first":
        score = stay[0].score if stay else 1.0
        return [*(replace(one, score=score) for one in brought), *stay]
    score = stay[-1].score if stay else 1.0
    return [*stay, *(replace(one, score=score) for one in brought)]
