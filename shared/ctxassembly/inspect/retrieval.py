"""The part of a page on how the hits were found: ranks in the channels, factors on scores, and the chunks lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.citations import Assembled
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.retrieval import RetrievalTrace, Retrieved
from ctxassembly.inspect.documents import Named, Names, named
from ctxassembly.inspect.limits import ID_CHARS, NOTE_CHARS, VALUE_CHARS
from ctxassembly.inspect.markup import Html, joined, more, shortened, tag, within
from ctxassembly.inspect.tables import fold, meter, number, row, score, table
from ctxassembly.inspect.ways import Way, lost, searched, ways
from ctxassembly.wording.metadata_labels import Particulars

WAYS_BYTES = 120_000
"""Bytes of the rows of the hits."""
LOST = 20
"""Most chunks that are listed as lost."""
_COLUMNS = ("hit", "found by", "vector", "keyword", "fused", "score", "why it is here")
_NUMBERS = (2, 3, 4, 5)


def found_how(retrieved: Retrieved) -> Html:
    """The view of a retrieval alone, without the style sheet."""
    found = ways(None, retrieved)
    documents = _documents(found)
    asked = tag("p", "Query: ", tag("q", shortened(retrieved.query, NOTE_CHARS), lang="")) if retrieved.query else ""
    inside = _hits(found, lambda chunk: documents[chunk.document_id], None), _around(retrieved)
    title = tag("h2", "How it was found")
    said = tag("p", tag("b", f"{len(retrieved.hits):,} hits. "), searched(found), class_="cxa-lede")
    return tag("section", title, asked, said, *inside, class_="cxa", lang="en", aria_label="How it was found")


def retrieval(context: Assembled, names: Names) -> Html:
    """The part of a context's page: from its retrieval, else as far as its hits' metadata tell; empty if they don't."""
    retrieved = context.retrieved
    found = ways(context, retrieved)
    if not found and retrieved is None:
        return Html()
    known = set(names.ids)
    strange = _documents([way for way in found if way.chunk.document_id not in known])

    def document_of(chunk: Chunk) -> Named:
        if chunk.document_id in known:
            return names.document(chunk.document_id)
        return strange[chunk.document_id]._replace(letter="–", look="")

    title, said = tag("h3", "How it was found"), tag("p", searched(found), class_="cxa-soft")
    hits = _hits(found, document_of, context)
    return joined(title, said, hits, _around(retrieved) if retrieved is not None else "")


def _hits(found: Sequence[Way], document_of: Callable[[Chunk], Named], context: Assembled | None) -> Html:
    if not found:
        return tag("p", "No hit says how it was found.", class_="cxa-soft")
    made = {} if context is None else {one.chunk_id: one for one in context.trace.decisions if not one.distance}
    rows = []
    for way in found:
        chunk, document = way.chunk, document_of(way.chunk)
        decision = made.get(chunk.id)
        cells = (
            joined(
                f"{way.place + 1}. ", tag("b", shortened(chunk.id, ID_CHARS)), " ", document.key, f" {document.name}"
            ),
            tag("span", shortened(way.by, ID_CHARS) or "–", class_="cxa-whole"),
            _channel(way.vector_rank, way.similarity),
            _channel(way.keyword_rank, way.keyword_score),
            score(way.fused_score),
            score(way.score),
            tag("div", shortened("; ".join(way.why) or "as fusion has it", 2 * VALUE_CHARS), class_="cxa-why"),
            *(() if context is None else (f"{decision.outcome}: {decision.reason}" if decision else "–",)),
        )
        rows.append(row(*cells, numbers=_NUMBERS))
    fitting = within(rows, WAYS_BYTES)
    said = "Vector and keyword: the rank in that channel, and the similarity or score there"
    columns = _COLUMNS if context is None else (*_COLUMNS, "in the context")
    return joined(table(said, columns, fitting, _NUMBERS), more(len(rows) - len(fitting), "hits"))


def _channel(rank: int | None, value: float | None) -> Html:
    """The rank in a channel with the score below it; the score alone, if the channel scored it without finding it."""
    if rank is None and value is None:
        return joined("–")
    return joined("–" if rank is None else f"{rank + 1}.", " ", tag("span", score(value), class_="cxa-does"))


def _around(retrieved: Retrieved) -> Html:
    """The steps, the chunks that they lost, and the notes."""
    trace = retrieved.trace
    parts = [tag("p", trace.summary, class_="cxa-soft")]
    if trace.steps:
        parts.append(_steps(trace))
    missed, rest = lost(retrieved, LOST)
    if missed:
        rows = [row(shortened(one.chunk_id, ID_CHARS), one.step, shortened(one.reason, VALUE_CHARS)) for one in missed]
        listed = table("Those that came the farthest first", ("chunk", "lost at", "reason"), rows)
        parts.append(fold(f"Found and lost: {len(missed) + rest:,} chunks", listed, more(rest, "chunks")))
    if trace.notes:
        notes = (tag("li", shortened(note, NOTE_CHARS)) for note in trace.notes)
        parts.append(tag("ul", *notes, class_="cxa-notes"))
    return joined(*parts)


def _steps(trace: RetrievalTrace) -> Html:
    most = max(max(step.chunks_in, step.chunks_out) for step in trace.steps) or 1
    rows = [
        row(
            step.name,
            f"{step.chunks_in:,} → {step.chunks_out:,}",
            meter(step.chunks_out / most),
            number(step.elapsed_ms, 2),
            numbers=(1, 3),
        )
        for step in trace.steps
    ]
    columns = ("step", "chunks", "what is left", "ms")
    return fold("The steps of retrieval", table("From the query to the hits", columns, rows, (1, 3)))


def _documents(found: Sequence[Way]) -> dict[str, Named]:
    """A name, a letter and a look for each document, in the order of the hits."""
    read = Particulars(MetadataKeys())
    sources: dict[str, str] = {}
    for way in found:
        sources.setdefault(way.chunk.document_id, read.source(way.chunk) or way.chunk.document_id)
    return named(sources)
