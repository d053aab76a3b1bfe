"""Documents with a text in common, and the question that names one of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ctxassembly.data.candidates import Candidate
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.text.titles import MAX_CHARS, name_words
from ctxassembly.text.words import words
from ctxassembly.wording.languages import stop_words


class Fit(NamedTuple):
    """How well a document fits a question: a word counts by how few of the documents have it."""

    whole: float
    """By all that is known of it; a word of its name counts twice."""
    name: float
    """By its id, source, title and first line, unless that is what the documents have in common."""


def document_fits(
    candidates: Iterable[Candidate], groups: Sequence[Sequence[Candidate]], query: str, keys: MetadataKeys
) -> dict[str, Fit]:
    """Return by id how well each document with a text of `groups`, which are copies, fits `query`."""
    shared = {one.chunk.document_id for group in groups for one in group}
    copies = {id(one.chunk) for group in groups for one in group}
    asked = name_words(query) | {*words(query)}
    asked -= stop_words(asked)
    said, named = {name: set[str]() for name in shared}, {name: set[str]() for name in shared}
    for chunk in (one.chunk for one in candidates if len(shared) > 1 and one.chunk.document_id in shared):
        names = [chunk.document_id, *(str(keys.read(chunk.metadata, key) or "") for key in ("source", "title"))]
        names += [chunk.text[:MAX_CHARS].partition("\n")[0]] if chunk.index == 0 and id(chunk) not in copies else []
        said[chunk.document_id] |= asked.intersection(words(chunk.text))
        named[chunk.document_id] |= asked & name_words(" ".join(names))

    def values(found: dict[str, set[str]]) -> dict[str, float]:
        having = Counter(word for some in found.values() for word in some)
        rarity = {word: math.log((len(shared) + 0.5) / (times + 0.5)) for word, times in having.items()}
        return {name: sum(rarity[word] for word in sorted(some)) for name, some in found.items()}

    by_name, by_text = values(named), values(said)
    return {name: Fit(by_text[name] + by_name[name], by_name[name]) for name in shared}
