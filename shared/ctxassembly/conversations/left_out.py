"""What earlier contexts left out, found for a model that asks: by document, label or words.

A context says which chunks there were, and nothing of it is shown as it was kept: the store is asked for their ids with
the filter of the call, since a role may have changed inside a conversation, and a chunk may be gone. What is around a
label are the neighbors of its chunks, which the assembly that follows fetches under the same filter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.conversations.messages import MAX_NAME_CHARS, MAX_NAMED_SOURCES, rehydrate_hits
from ctxassembly.data.chunks import Chunk, ChunkRef, Hit
from ctxassembly.errors import ConfigError
from ctxassembly.safe_repr import describe_error
from ctxassembly.text.words import TermQuery, normalize
from ctxassembly.text.words import words as words_of
from ctxassembly.wording.formats import Heading, reference_text
from ctxassembly.wording.languages import language_of, stop_words
from ctxassembly.wording.metadata_labels import MetadataReader
from ctxassembly.wording.sanitize import sanitize_line
from ctxassembly.wording.unicode import one_line

WIDEST_WINDOW = 3
"""The widest `AssemblyConfig.window`."""
TOOL_NAME = "read_left_out"
TOOL_DESCRIPTION = (
    "Reads what the search found and the context had no room for, or the text around a source: by the words to look "
    "for, by document, or by the label of a source. Without arguments it lists what there is."
)
ARGUMENTS = {
    "words": "Words to look for in the text that was left out.",
    "document": "Name of a document, or a part of it.",
    "label": "Label of a source, such as 3: the text before and after it.",
}
"""What a model reads of each argument."""


class LeftOut(NamedTuple):
    """The hits that answer a request, or the reply if there are none."""

    hits: tuple[Hit, ...] = ()
    query: str | None = None
    reply: str = ""
    """A sentence for the model, for a request that finds nothing new."""
    is_around: bool = False
    """True for the text around a label."""
    note: str = ""
    """A line for the trace if the store has failed."""

    def config(self, config: AssemblyConfig) -> AssemblyConfig:
        """Return the config for the assembly of these hits: text around a label comes from the widest window."""
        return replace(config, repeat="never", window=WIDEST_WINDOW if self.is_around else config.window)

    def is_answered(self, context: Context) -> bool:
        """Return True if `context`, assembled of these hits, answers the request: by new text, or by where it is."""
        return bool(context.citations or (context.text and not self.is_around))


def check_store_of_left_out(store: object, remedy: str) -> None:
    """Check that what was left out can be read again: nothing is shown as a context has kept it.

    Raises:
        ConfigError: there is no store, or none that finds chunks by their ids.
    """
    if store is None or getattr(store, "finds_ids", True) is not True:
        raise ConfigError("store", "a store that finds chunks by their ids", store, f": write {remedy}")


def left_out_refs(contexts: Sequence[Context]) -> tuple[ChunkRef, ...]:
    """Return references to the chunks that `contexts` name, for the store, which has their text."""
    return tuple(dict.fromkeys(ChunkRef(hit.chunk.lookup_id, chunk_id=hit.chunk.id) for hit in _kept_hits(contexts)))


def find_left_out(
    contexts: Sequence[Context],
    stored: Iterable[Chunk],
    *,
    dropped: Sequence[Context] = (),
    words: str | None = None,
    document: str | None = None,
    label: str | None = None,
) -> LeftOut:
    """Return the chunks among `stored` that the model hasn't read whole and that match all that is asked for.

    >>> from ctxassembly import AssemblyConfig, assemble
    >>> said = {"a.pdf": "Eat nothing for six hours.", "b.pdf": "You may not drive that day."}
    >>> stored = [Chunk(name, name, text, metadata={"source": name, "page": 2}) for name, text in said.items()]
    >>> context = assemble([Hit(chunk) for chunk in stored], AssemblyConfig(max_tokens=20))
    >>> [hit.chunk.text for hit in find_left_out([context], stored, words="drive").hits]
    ['You may not drive that day.']
    >>> print(find_left_out([context], stored, document="c.pdf").reply)
    Nothing that was left out matches. Left out and available: b.pdf, page 2

    Args:
        contexts: the contexts that the model has read, in order.
        stored: what the store has under `left_out_refs` of all contexts, and the filter of the call lets pass.
        dropped: contexts whose text the model no longer sees, so that all of them counts as left out.
        words: any of these words, in any form.
        document: a document's id, file, title or URL, or a part of one.
        label: the label of a source: the chunks next to it, or, with words, the rest of its document.
    """
    known = (*contexts, *dropped)
    if not known:
        return LeftOut(reply=language_of("en").nothing_left_out)
    by_place = {_place(chunk): chunk for chunk in stored}
    seen = {_name(chunk) for context in contexts for chunk in _whole_chunks(context)}
    unseen: dict[tuple[str, str], Hit] = {}
    for hit in _kept_hits(known):
        place = _place(hit.chunk)
        if place in by_place and _name(by_place[place]) not in seen:
            unseen.setdefault(place, Hit(by_place[place], hit.score))
    last = known[-1]
    reader = MetadataReader(last.keys, last.language, for_header=True)
    available = _list_sources([hit.chunk for hit in unseen.values()], reader, last)
    nothing = language_of(last.language).nothing_left_out
    if not (words or document or label):
        return LeftOut(reply=available or nothing)
    places = [_place(chunk) for context in known for chunk in _chunks_of_label(context, label or "")]
    labeled = [by_place[place] for place in dict.fromkeys(places) if place in by_place]
    documents = {chunk.document_id for chunk in labeled}
    is_wanted = _word_condition(words) if words else None
    found = [
        hit
        for hit in unseen.values()
        if (not label or hit.chunk.document_id in documents)
        and (not document or _is_document(hit.chunk, document, reader))
        and (is_wanted is None or is_wanted(hit.chunk.text))
    ]
    if labeled:
        near = found if words else [hit for hit in found if _is_near(hit.chunk, labeled)]
        found = [*(Hit(chunk) for chunk in labeled), *near]
    reply = " ".join(filter(None, (nothing, available)))
    return LeftOut(tuple(found), words or None, reply, bool(labeled))


def unreadable(contexts: Sequence[Context], error: Exception) -> LeftOut:
    """Return the reply if the store fails."""
    return LeftOut(
        reply=language_of(contexts[-1].language).left_out_unreadable,
        note=f"store: nothing read of what was left out ({describe_error(error)})",
    )


def _place(chunk: Chunk) -> tuple[str, str]:
    return chunk.lookup_id, chunk.id


def _name(chunk: Chunk) -> tuple[str, str]:
    """Return the identity of `chunk` without its document, which an assembly may have given another name."""
    return chunk.identity[1:]


def _whole_chunks(context: Context) -> Iterator[Chunk]:
    """Yield the hits and neighbors whose whole text is in `context`, and the copies of these among the hits."""
    whole = [decision for decision in context.trace.decisions if decision.outcome in ("kept", "duplicate", "contained")]
    ranks = {decision.rank for decision in whole if not decision.distance}
    ids = {decision.chunk_id for decision in whole}
    yield from (hit.chunk for hit in context.hits if hit.rank in ranks)
    for piece in (piece for passage in context.passages for piece in passage.pieces):
        if piece.candidate.chunk.id in ids and piece.candidate.kept_spans is None:
            yield piece.candidate.chunk


def _kept_hits(contexts: Sequence[Context]) -> Iterator[Hit]:
    """Yield what each of `contexts` has kept, the last context first: its hits, then the neighbors in it."""
    for context in reversed(contexts):
        yield from (Hit(hit.chunk, hit.score) for hit in context.hits)
        yield from rehydrate_hits(context)


def _chunks_of_label(context: Context, label: str) -> Iterator[Chunk]:
    """Yield the first and the last chunk of each passage under `label`."""
    wanted = label.strip(" []")
    for first, end in (citation.span for citation in context.citations if citation.label == wanted):
        for passage in context.passages:
            if first <= passage.span[0] < end:
                yield from (passage.pieces[at].candidate.chunk for at in (0, -1))


def _is_near(chunk: Chunk, labeled: Sequence[Chunk]) -> bool:
    """Return True if `chunk`, of the document of `labeled`, is at most the widest window away from one of these."""
    indexes = [one.index for one in labeled if one.index is not None and one.document_id == chunk.document_id]
    return chunk.index is not None and any(abs(chunk.index - index) <= WIDEST_WINDOW for index in indexes)


def _word_condition(words: str) -> Callable[[str], bool]:
    """Return a function that says whether a text has any of `words`; stop words count only if there are no others."""
    every = frozenset(words_of(words))
    wanted, terms = every - stop_words(every) or every, TermQuery(words)
    return lambda text: not wanted.isdisjoint(terms.find_terms(text))


def _is_document(chunk: Chunk, document: str, reader: MetadataReader) -> bool:
    """Return True if `document` is the id, file, title or URL of the document of `chunk`, or a part of one."""
    names = (chunk.document_id, *(reader.line(chunk, name) for name in ("source", "title", "url")))
    return any(_normalize(document) in _normalize(name) for name in names if name)


def _list_sources(chunks: Sequence[Chunk], reader: MetadataReader, context: Context) -> str:
    """Return a sentence with the sources and pages of `chunks` in the language of `context`; empty without chunks."""
    language, by_source = language_of(context.language), defaultdict[str, list[Chunk]](list)
    for chunk in chunks:
        by_source[reader.source(chunk)].append(chunk)
    names = [
        reference_text(Heading(1, source, reader.pages(some)), language)[:MAX_NAME_CHARS]
        for source, some in by_source.items()
    ]
    shown = "; ".join(names[:MAX_NAMED_SOURCES]) + ("; ..." if len(names) > MAX_NAMED_SOURCES else "")
    return language.left_out_sources.format(sanitize_line(shown) if context.sanitized else shown) if shown else ""


def _normalize(text: str) -> str:
    return normalize(one_line(text))
