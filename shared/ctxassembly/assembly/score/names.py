"""Documents that the query, or one of the best sentences, names: by words of the file's name, or by the title.

The name of a file often says which of many like documents is asked for ("3M_2018_10K": company and year). And many
questions are answered by two documents of which the second is named in the first: on two-hop questions the context has
.04 to .10 more of the evidence.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.units import Units
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.text.titles import comparable, find_titles, name_words, read_title
from ctxassembly.wording.languages import stop_words

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Bools, Floats

MAX_BEST = 8
"""The best sentences, whose mentions count: with 4 or 16 the context has as much of the evidence."""
REST_SHARE = 0.5
"""A sentence that names a document is about what begins it: its other chunks get half. A question may be about all."""


def name_values(pool: Pool, query: str, keys: MetadataKeys) -> Floats:
    """Return for each document how well the name of its file fits `query`: 1 for the best, 0 without a common word.

    A word counts by how few of the documents have it.
    """
    chunks = [pool.candidates[first].chunk for first in pool.documents]
    asked = name_words(query)
    asked -= stop_words(asked)
    shared = [name_words(str(keys.read(chunk.metadata, "source") or chunk.document_id)) & asked for chunk in chunks]
    having = Counter(word for words in shared for word in words)
    size = len(chunks) + 0.5
    fits = np.array([sum(math.log(size / (having[word] + 0.5)) for word in sorted(words)) for words in shared])
    return fits / (fits.max() if fits.max() > 0 else 1.0)


def title_values(
    text: Text, pool: Pool, units: Units, values: Floats, query: str, keys: MetadataKeys
) -> tuple[Floats, Bools] | None:
    """Return for each sentence 1 if its document is named, less beyond its first chunk; None if no document is.

    The second is whether it is in the first chunk of a document that another one's sentence names.
    """
    chunks = [pool.candidates[first].chunk for first in pool.documents]
    titles = {number: title for number, chunk in enumerate(chunks) if (title := read_title(chunk, keys)).words}
    if len(chunks) < 2 or not titles:
        return None
    asked = comparable(query)
    named = {number: 1.0 for number, title in titles.items() if title.words in asked}
    best = np.argpartition(-values, min(MAX_BEST, len(values) - 1))[:MAX_BEST]
    said = [
        text.text[start:end] for start, end in zip(units.starts[best].tolist(), units.ends[best].tolist(), strict=True)
    ]
    mentioned = find_titles("\n".join(said), titles.values())  # mostly none
    for own, sentence in zip(units.documents[best].tolist(), said, strict=True) if mentioned else ():
        found = find_titles(sentence, mentioned)
        named |= {
            number: REST_SHARE
            for number, title in titles.items()
            if title in found and number != own and number not in named
        }
    if not named:
        return None
    bonus, is_linked = np.zeros(len(values)), np.zeros(len(values), bool)
    for number, share in named.items():
        bonus[units.documents == number] = share
        first = pool.documents[number]
        own = slice(units.firsts[first], units.lasts[first])
        bonus[own], is_linked[own] = 1.0, share < 1
    return bonus, is_linked
