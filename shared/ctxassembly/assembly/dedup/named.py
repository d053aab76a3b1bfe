"""Documents with a text in common, and the question that names one of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from ctxassembly.data.candidates import Candidate
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.text.titles import name_words
from ctxassembly.text.words import words
from ctxassembly.wording.languages import stop_words


def document_fits(
    candidates: Iterable[Candidate], groups: Iterable[Sequence[Candidate]], query: str, keys: MetadataKeys
) -> dict[str, float]:
    """Return by id how well each document with a text of `groups`, which are copies, fits `query`.

    A word counts by how few of these documents have it in what is known of them, and twice in a name or title.
    """
    shared = {one.chunk.document_id for group in groups for one in group}
    asked = name_words(query) | {*words(query)}
    asked -= stop_words(asked)
    found: dict[str, Counter[str]] = {name: Counter() for name in shared}
    for chunk in (one.chunk for one in candidates if len(shared) > 1 and one.chunk.document_id in shared):
        names = chunk.document_id, *(str(keys.read(chunk.metadata, key) or "") for key in ("source", "title"))
        said = dict.fromkeys(asked.intersection(words(chunk.text)), 1)
        found[chunk.document_id] |= Counter(said | dict.fromkeys(asked & name_words(" ".join(names)), 2))
    having = Counter(word for some in found.values() for word in some)
    size = len(shared) + 0.5
    return {
        name: sum(times * math.log(size / (having[word] + 0.5)) for word, times in sorted(some.items()))
        for name, some in found.items()
    }
