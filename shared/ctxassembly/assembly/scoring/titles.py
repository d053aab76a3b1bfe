"""Links between documents: one that the question or the best sentences mention by its title may have an answer, too.

Many questions are answered by two documents, and the second is named in the first: its own text may have no word of the
question. The best sentences are those by all other signals, and none of them links its own document. On three sets of
two-hop questions the context has .098 more of the evidence at 500 tokens, .069 at 1,000 and .040 at 2,000
(`tests/bench/README.md`, "Titles").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ctxassembly.assembly.scoring.sentences import ScoredSentences
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.text.titles import Title, comparable, find_titles, read_title

MAX_SENTENCES = 8
"""The best sentences, whose mentions count: with 4 or 16 the context has as much of the evidence."""
BONUS, REST_BONUS = 3.0, 1.5
"""Added to the sentences of a linked document, on the scale of `Weights`. A sentence that names a document is about
what begins it, so its other chunks get the second bonus; a question may be about any part of it."""


def raise_linked(sentences: ScoredSentences, query: str, keys: MetadataKeys) -> ScoredSentences:
    """Return `sentences` with higher scores for the documents whose titles `query` or the best sentences mention."""
    firsts: dict[str, Candidate] = {}
    for candidate, _, _, _ in sentences.candidate_spans:  # in the order of the text
        firsts.setdefault(candidate.chunk.document_id, candidate)
    titles = {name: title for name, first in firsts.items() if (title := read_title(first.chunk, keys)).words}
    if len(firsts) < 2 or not titles:
        return sentences
    asked = comparable(query)
    in_query = {name for name, title in titles.items() if title.words in asked}
    linked = in_query | _mentioned_in_best(sentences, titles)
    if not linked:
        return sentences
    bonuses = sentences.scores * 0.0
    for span in sentences.candidate_spans:
        document_id = span.candidate.chunk.document_id
        if document_id in linked:
            is_first = span.candidate.key == firsts[document_id].key
            own = slice(span.sentence_range.start, span.sentence_range.stop)
            bonuses[own] = bonuses[own].clip(min=BONUS if is_first or document_id in in_query else REST_BONUS)
    return replace(sentences.raised(bonuses), linked_documents=linked)


def _mentioned_in_best(sentences: ScoredSentences, titles: Mapping[str, Title]) -> set[str]:
    """Return the documents whose title one of the best sentences of another document has."""
    best = sentences.best(MAX_SENTENCES)
    texts = [sentences.sentence_text(index) for index in best]
    mentioned = find_titles("\n".join(texts), titles.values())  # mostly none
    linked: set[str] = set()
    for index, text in zip(best, texts, strict=True) if mentioned else ():
        own, found = sentences.document_ids[index], find_titles(text, mentioned)
        linked |= {name for name, title in titles.items() if title in found and name != own}
    return linked
