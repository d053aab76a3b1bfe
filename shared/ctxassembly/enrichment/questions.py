"""Questions as vectors of their own: a channel of retrieval in addition to texts and words.

A question is nearer to a question than to the text that answers it (hypothetical prompt embeddings, HyPE: Vake and
others, 2025). So the questions that chunks answer, by their author or by `enrich`, are embedded one by one and kept in
an index of their own. The query's vector finds questions there, and a chunk counts by its nearest one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ctxassembly.data.chunks import Chunk, ChunkRef, Hit
from ctxassembly.data.metadata_keys import get_path
from ctxassembly.data.requests import SearchChunks
from ctxassembly.protocols import EnrichmentTable
from ctxassembly.runtime.driver import Port

QUESTION_OF = "question_of"
"""The metadata key of a question for the id of the chunk that answers it."""
QUESTIONS_PER_CHUNK = 3
"""Questions searched for each chunk that is wanted, since several may belong to one chunk."""


def question_chunks(source: Any, questions: str = "questions") -> Iterator[Chunk]:
    """Return a chunk for each question that is known of the chunks of `source`, for an index of questions.

    Each has the document and the metadata of the chunk that answers it, so that filters hold for it, too.

    >>> from ctxassembly import Chunk
    >>> lab = Chunk("lab#0", "lab", "Measured in the morning.", metadata={"questions": ["When do you test my iron?"]})
    >>> [(question.id, question.text) for question in question_chunks([lab])]
    [('lab#0?0', 'When do you test my iron?')]

    Args:
        source: chunks, or an index whose chunks `enrich` has noted questions for.
        questions: the metadata key of a chunk's questions, or a dotted path. An index is asked for its notes instead.
    """
    table: EnrichmentTable | None = getattr(source, "enrichment", None)
    for chunk, texts in _noted_questions(table) if table is not None else _own_questions(source, questions):
        metadata = {**chunk.metadata, QUESTION_OF: chunk.id}
        for number, text in enumerate(dict.fromkeys(text for text in texts if isinstance(text, str) and text.strip())):
            yield Chunk(f"{chunk.id}?{number}", chunk.document_id, text, metadata=metadata)


def _own_questions(chunks: Iterable[Chunk], key: str) -> Iterator[tuple[Chunk, Sequence[Any]]]:
    for chunk in chunks:
        value = get_path(chunk.metadata, key)
        yield chunk, value.splitlines() if isinstance(value, str) else value if isinstance(value, (list, tuple)) else ()


def _noted_questions(table: EnrichmentTable) -> Iterator[tuple[Chunk, Sequence[Any]]]:
    for outline in table.outlines():
        document = table.read(outline)
        yield from zip(document.chunks, document.questions, strict=True)


def question_channel(questions: Any, index: Any, embed: Any) -> Callable[[str, int, Any], list[Hit]]:
    """Return a search for `channels={"questions": ...}`: the chunks of `index` whose questions are nearest to a query.

    >>> from ctxassembly import Chunk, MemoryIndex, retrieve
    >>> def embed(text):
    ...     return [1.0, 0.0] if "iron" in text else [0.0, 1.0]
    >>> lab = Chunk("lab#0", "lab", "Ferritin: mornings.", metadata={"questions": ["When do you test my iron?"]})
    >>> chunks = [lab, Chunk("park#0", "park", "The garage is open.")]
    >>> index = MemoryIndex(chunks, [[0.5, 0.5], [0.6, 0.4]])
    >>> asked = list(question_chunks(chunks))
    >>> channel = question_channel(MemoryIndex(asked, [embed(one.text) for one in asked]), index, embed)
    >>> retrieve("Is iron measured?", index=index, embed=embed, channels={"questions": channel}).chunks[0].channels
    ('vector', 'keyword', 'questions')

    Args:
        questions: an index of `question_chunks`, a MemoryIndex or a PostgresIndex.
        index: the index of the chunks, under the same `with_filter` as the one that is searched, if that has one: what
            it excludes isn't found by its questions. Both have to read the filters of calls.
        embed: a function from a text to its vector, or an object with `embed_query`, of the model of `questions`.
    """
    port = Port.of_embedder(embed, "embed_query")

    def search(query: str, limit: int, filter: Any) -> list[Hit]:
        request = SearchChunks(limit * QUESTIONS_PER_CHUNK, port.call(query), None, filter)
        found = sorted(questions.search(request), key=lambda one: (-(one.similarity or 0.0), one.chunk.id))
        similarities: dict[tuple[str, str], float] = {}
        for one in found:
            chunk_id = one.chunk.metadata.get(QUESTION_OF)
            similarities.setdefault((one.chunk.document_id, chunk_id), one.similarity or 0.0)
        best = dict(list(similarities.items())[:limit])
        allowed = index if filter is None else index.with_filter(filter)
        chunks = {
            (chunk.document_id, chunk.id): chunk
            for chunk in allowed.fetch([ChunkRef(document_id, chunk_id=id_) for document_id, id_ in best])
        }
        return [Hit(chunks[key], similarity) for key, similarity in best.items() if key in chunks]

    return search
