"""The value of each sentence for a query, and how relevant it is; or of each chunk by rank alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.score.chunks import even_out, retrieval_values
from ctxassembly.assembly.score.names import name_values, title_values
from ctxassembly.assembly.score.speakers import speaker_values
from ctxassembly.assembly.score.weights import WEIGHTS
from ctxassembly.assembly.score.words import word_values
from ctxassembly.assembly.tables import rows_with_heads
from ctxassembly.assembly.units import Units, best_of_chunks
from ctxassembly.data.metadata_keys import MetadataKeys

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Floats

FAR = 1e6
"""By rank alone all hits come before all neighbors, and those before the neighbors a step farther away."""


LINKED_RELEVANCE = 0.2
"""The least relevance of the beginning of a document that one of the best sentences names: it may have no word of the
query, and still the answer."""
HEADING_SHARE = 0.5
"""How much nearer to the best sentence a section comes if its heading has the words of the query. Of sections of
documentation in Markdown the context has .03 to .05 more at 1,000 tokens, and as much in large ones."""


def score_by_query(text: Text, pool: Pool, units: Units, query: str, keys: MetadataKeys) -> Units:
    """Return the sentences `units` of `text` with their values for `query`."""
    retrieved = best_of_chunks(units, retrieval_values(pool, WEIGHTS), -np.inf)
    offered = np.isfinite(retrieved)
    if not offered.any():  # signs alone, of which each chunk has a part
        return units
    by_words, headings = word_values(text, units, query, rows_with_heads(text, pool, units), offered, WEIGHTS)
    values = retrieved + by_words + WEIGHTS.name * name_values(pool, query, keys)[units.documents]
    if (turns := speaker_values(text, units, query)) is not None:
        values += WEIGHTS.speaker * turns
    values = even_out(values, text, units)
    best = values.max(initial=-np.inf)
    values += HEADING_SHARE * headings * np.where(offered, best - values, 0.0)
    relevance = 1 - (best - values) / WEIGHTS.lexical
    if (named := title_values(text, pool, units, values, query, keys)) is not None:
        titles, is_linked = named
        values = np.minimum(values + WEIGHTS.title * titles, best)
        values[is_linked] = values[is_linked].clip(min=best - (1 - LINKED_RELEVANCE) * WEIGHTS.lexical)
        relevance = 1 - (best - values) / WEIGHTS.lexical
    return units._replace(values=values, relevance=relevance)


def score_by_rank(pool: Pool, units: Units, window: int) -> Units:
    """Return `units` with values by rank, hits first, then their neighbors by distance.

    What is beyond the `window` is there for the head of its table alone.
    """
    values = best_of_chunks(units, rank_values(pool), -np.inf)
    is_far = np.array([one.distance > window for one in pool.candidates], bool)
    values[best_of_chunks(units, 1.0 - is_far, 0.0) == 0] = -np.inf
    values[units.ends <= units.starts] = -np.inf
    return units._replace(values=values)


def rank_values(pool: Pool) -> Floats:
    """Return the value of each chunk by rank."""
    return np.array([-one.rank - FAR * one.distance for one in pool.candidates], float)
