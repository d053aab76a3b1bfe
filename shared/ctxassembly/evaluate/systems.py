"""The systems to compare (functions, retrievers, chains, engines), and results read from whatever they return."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

from ctxassembly.assembly.call import System as AssemblySystem
from ctxassembly.citations.reader import answer_begin
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.data.chunks import Chunk, Hit
from ctxassembly.data.citations import AssembledBlock, Citation, block_in
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.retrieval import Retrieved
from ctxassembly.errors import InputError
from ctxassembly.evaluate.questions import LabeledQuestion
from ctxassembly.runtime.assemble import assemble
from ctxassembly.safe_repr import safe_repr, to_id

SEPARATOR = "\n\n"
"""Between the texts of a list: what LangChain and LlamaIndex write."""
_MARKER = re.compile(r"\[(\d{1,4})\]")
_KEYS = MetadataKeys()


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of source text in a context.

    >>> Piece("Drink water.", document_id="gastro", start=120).label is None
    True
    """

    text: str
    document_id: str | None = None
    start: int | None = None
    """Offset in the document, if known."""
    chunk_id: str | None = None
    chunk_start: int | None = None
    """Offset in the chunk; None if the piece isn't a slice of one."""
    label: str | None = None
    """The number by which an answer cites it."""


@dataclass(frozen=True, slots=True)
class SystemResult:
    """What a system gave for one question. A function may return one, if it knows where its text comes from.

    >>> SystemResult("Drink water.", (Piece("Drink water.", "gastro", 0),)).answer is None
    True
    """

    text: str
    """The context, as the model reads it."""
    pieces: tuple[Piece, ...] = ()
    """The source text in the context, in reading order."""
    answer: str | None = None
    context: Context | None = None
    abstained: bool | None = None
    """True if the system says that it has no answer; None if only the answer's words tell."""

    @property
    def cited_labels(self) -> tuple[str, ...]:
        """The labels in the answer, each once, with the unknown ones."""
        if self.answer is None:
            return ()
        if self.context is not None:
            resolved = self.context.resolve(self.answer)
            return (*(citation.label for citation in resolved.citations), *resolved.unknown)
        return tuple(dict.fromkeys(_MARKER.findall(self.answer[answer_begin(self.answer) :])))


def read_result(value: Any) -> SystemResult:
    r"""Return what a system returned, in any of the common forms, as a result.

    >>> read_result({"context": ["Drink water.", "Then rest."], "answer": "Yes [1]."}).text
    'Drink water.\n\nThen rest.'

    Raises:
        InputError: it has another form.
    """
    if isinstance(value, SystemResult):
        if missing := [piece for piece in value.pieces if piece.text.strip() not in value.text]:
            raise InputError(f"a piece of a result isn't in its text: {safe_repr(missing[0])}")
        return value
    if isinstance(value, str):
        return SystemResult(value, (Piece(value),) if value.strip() else ())
    if isinstance(value, Context):
        return SystemResult(value.text, tuple(_context_pieces(value)), context=value)
    if isinstance(value, Retrieved):
        return read_result(value.hits)
    if isinstance(value, Mapping):
        return _read_fields(value, safe_repr(value))
    if isinstance(value, Sequence):
        pieces = [piece for number, item in enumerate(value, 1) for piece in _item_pieces(item, str(number))]
        return SystemResult(SEPARATOR.join(map(_item_text, value)), tuple(pieces))
    return _read_answer(value)


def _read_answer(value: Any) -> SystemResult:
    """Return the result in an `Answer` of ours, or a response of LlamaIndex."""
    if hasattr(value, "abstention_reason"):
        result = SystemResult("") if value.context is None else read_result(value.context)
        return replace(result, answer=str(value.text), abstained=True if value.abstention_reason else None)
    if hasattr(value, "source_nodes"):
        return replace(read_result(value.source_nodes), answer=str(value))
    raise InputError(
        "a system must return a text, a Context, a list of documents, nodes, hits or texts, or a dict with context and "
        f"answer, got {safe_repr(value)}"
    )


def _read_fields(fields: Mapping[str, Any], shown: str) -> SystemResult:
    """Return the result in the fields of a dict: its context, its answer, or both."""
    if hasattr(fields.get("result"), "abstention_reason"):  # an `answer_chain` of ours
        return read_result(fields["result"])
    if fields.keys().isdisjoint(("context", "answer")):
        raise InputError(f"a dict must have context or answer, got {shown}")
    context, answer = fields.get("context"), fields.get("answer")
    result = SystemResult("") if context is None else read_result(context)
    return replace(result, answer=None if answer is None else str(answer))


def _context_pieces(context: Context) -> Iterator[Piece]:
    labels = iter([(block.span, block.citation.label) for block in context.blocks if block.citation])
    span, label = next(labels, ((0, 0), ""))
    for source in context.provenance:
        while source.span[0] >= span[1] and (following := next(labels, None)):
            span, label = following
        text = context.text[slice(*source.span)]
        yield Piece(text, source.document_id, source.start, source.chunk_id, source.chunk_span[0], label)


def _item_text(item: Any) -> str:
    """Return the text of a document, a node, a hit or a chunk."""
    item = _bare(item)
    for text in (getattr(item, "page_content", None), getattr(item, "text", None), item):
        if isinstance(text, str):
            return text
    raise InputError(f"a list must have documents, nodes, hits, chunks or texts, got {safe_repr(item)}")


def _bare(item: Any) -> Any:
    """Return the node of a node with its score, and the chunk of a hit."""
    item = getattr(item, "node", item)
    return item.chunk if isinstance(item, Hit) else item


def _metadata(item: Any) -> Mapping[str, Any]:
    found = getattr(item, "metadata", None)
    return found if isinstance(found, Mapping) else {}


def read_chunk(item: Any) -> Chunk:
    """Return a document of LangChain, a node of LlamaIndex, a hit, a chunk or a text as a chunk; unknown ids are empty.

    >>> read_chunk("Drink water.").text
    'Drink water.'

    Raises:
        InputError: it is none of these.
    """
    text, item = _item_text(item), _bare(item)
    if isinstance(item, Chunk):
        return item
    metadata = _metadata(item)
    start, index = getattr(item, "start_char_idx", None), _KEYS.read(metadata, "index")
    start = _KEYS.read(metadata, "start") if start is None else start
    return Chunk(
        to_id(getattr(item, "node_id", None) or getattr(item, "id", None) or metadata.get("id")) or "",
        to_id(getattr(item, "ref_doc_id", None) or _KEYS.read_document_id(metadata)) or "",
        text,
        index if type(index) is int else None,
        start if type(start) is int else None,
        prev_id=getattr(getattr(item, "prev_node", None), "node_id", None),
        next_id=getattr(getattr(item, "next_node", None), "node_id", None),
        metadata=metadata,
    )


def _item_pieces(item: Any, label: str) -> Iterator[Piece]:
    """Yield the source text of one item of a list. A block of an assembly is taken apart into its chunks."""
    ours = block_in(_metadata(_bare(item)))
    if ours is not None and ours.block.citation is not None and ours.block.text == _item_text(item):
        yield from _block_pieces(ours, ours.block.citation)
        return
    chunk = read_chunk(item)
    if chunk.text.strip():
        yield Piece(chunk.text, chunk.document_id or None, chunk.start, chunk.id or None, 0, label)


def _block_pieces(ours: AssembledBlock, citation: Citation) -> Iterator[Piece]:
    for piece in (piece for passage in ours.passages for piece in passage.pieces):
        chunk = piece.candidate.chunk
        start = None if chunk.start is None else chunk.start + piece.start
        yield Piece(piece.text, citation.document_id, start, chunk.id, piece.start, citation.label)


METHODS = ("answer", "context", "invoke", "query", "retrieve")
"""The methods by which a system is asked, the first that it has: an `AnswerChain` answers, our retrievers give their
contexts, LangChain's runnables are invoked, LlamaIndex's query engines and retrievers are queried."""
FILTER_KEYS = ("filter", "filters")
System = Callable[[LabeledQuestion], Any]
"""A function from a question, with its filter, to whatever the system returns."""


def as_system(name: str, system: Any) -> System:
    """Return `system`, a function or an object with one of `METHODS`, as a function of a `LabeledQuestion`.

    >>> as_system("echo", lambda question: question.upper())(LabeledQuestion("Why?"))
    'WHY?'

    Raises:
        InputError: it is neither. Or, when it is called: a question has a filter, and the system takes none.
    """
    method = next((one for one in METHODS if callable(getattr(system, one, None))), None)
    ask = getattr(system, method) if method else system
    if isinstance(system, type) or not callable(ask):
        allowed = f"be a function or have one of {', '.join(METHODS)}"
        raise InputError(f"system {name!r} must {allowed}, got {safe_repr(system)}")

    def asked(question: LabeledQuestion) -> Any:
        if question.filter is None:
            return ask(question.text)
        key = next((key for key in FILTER_KEYS if key in signature(ask).parameters), None)
        if key is None:
            raise InputError(f"{name} takes no filter: pass a function (question, filter) -> context")
        return ask(question.text, **{key: question.filter})

    return asked


def assembled(
    retriever: Any, config: AssemblyConfig | AssemblySystem | None = None, **options: Any
) -> Callable[[str], Context]:
    """Return a system that assembles what `retriever` finds: to compare configurations over the same retrieval.

    >>> from ctxassembly import Chunk
    >>> chunk = Chunk("gastro#0", "gastro", "Drink water until two hours before.")
    >>> system = assembled(lambda question: [chunk], AssemblyConfig(format="minimal"))
    >>> print(system("Until when may I drink?"))
    Drink water until two hours before.

    Args:
        retriever: any system whose result has pieces of documents: a function from a question to hits or chunks, or a
            retriever of LangChain or LlamaIndex. The assemblers of the adapters read more of their metadata.
        config: the configuration; None means the defaults.
        options: further arguments of `assemble`, such as `store` and `scorer`.
    """
    system = as_system("retriever", retriever)

    def assemble_found(question: str) -> Context:
        found = system(LabeledQuestion(question))
        hits = found.hits if isinstance(found, Retrieved) else hits_of(found)
        return assemble(hits, config, query=question, **options)

    return assemble_found


def hits_of(found: Any) -> list[Hit]:
    """Return a list of hits, chunks, documents or nodes as hits, and the pieces of other results."""
    if not isinstance(found, (list, tuple)):
        pieces = read_result(found).pieces
        found = [Chunk(one.chunk_id or "", one.document_id or "", one.text, start=one.start) for one in pieces]
    hits = []
    for number, one in enumerate(found):
        chunk = read_chunk(one)
        named = replace(chunk, id=chunk.id or f"{number}", document_id=chunk.document_id or "unknown")
        hits.append(Hit(named, getattr(one, "score", None)))
    return hits
