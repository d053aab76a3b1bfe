"""The systems to compare (functions, retrievers, chains, engines), and results read from whatever they return."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import Any

from ctxassembly.assembly.call import System as AssemblySystem
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.data.blocks import AssembledBlock, block_in
from ctxassembly.data.chunks import Chunk, Hit
from ctxassembly.data.citations import Citation
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import InputError
from ctxassembly.evaluate.questions import LabeledQuestion
from ctxassembly.retrieved import Retrieved
from ctxassembly.runtime.assemble import assemble
from ctxassembly.runtime.driver import Port
from ctxassembly.safe_repr import safe_repr, to_id

SEPARATOR = "\n\n"
"""Between the texts of a list: what LangChain and LlamaIndex write."""
CONTEXT_FIELDS = ("context", "contexts", "documents", "source_documents", "retrieved_contexts", "source_nodes", "nodes")
ANSWER_FIELDS = ("answer", "result", "output", "response")
"""The fields of a dict or a response, the first that is there counts."""
TEXT_FIELDS = ("page_content", "text")
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
    seconds: float = 0.0

    @property
    def cited_labels(self) -> tuple[str, ...]:
        """The labels in the answer, each once, with the unknown ones."""
        if self.answer is None:
            return ()
        if self.context is not None:
            resolved = self.context.resolve(self.answer)
            return (*(citation.label for citation in resolved.citations), *resolved.unknown)
        return tuple(dict.fromkeys(_MARKER.findall(self.answer)))


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
    """Return the result in an `Answer` of ours, a response of LlamaIndex, or a message of LangChain."""
    if hasattr(value, "abstention_reason"):
        result = SystemResult("") if value.context is None else read_result(value.context)
        return replace(result, answer=str(value.text), abstained=True if value.abstention_reason else None)
    if hasattr(value, "source_nodes"):
        return _read_fields({"source_nodes": value.source_nodes, "response": str(value)}, safe_repr(value))
    if hasattr(value, "content") and hasattr(value, "response_metadata"):
        return SystemResult("", answer=reply_text(value))
    raise InputError(
        "a system must return a text, a Context, a list of documents, nodes, hits or texts, or a dict with context and "
        f"answer, got {safe_repr(value)}"
    )


def _read_fields(fields: Mapping[str, Any], shown: str) -> SystemResult:
    """Return the result in the fields of a dict: its context, its answer, or both."""
    if hasattr(fields.get("result"), "abstention_reason"):  # an `answer_chain` of ours
        return read_result(fields["result"])
    found = next((fields[name] for name in CONTEXT_FIELDS if fields.get(name) is not None), None)
    answer = next((fields[name] for name in ANSWER_FIELDS if fields.get(name) is not None), None)
    if found is None and answer is None:
        names = ", ".join((*CONTEXT_FIELDS, *ANSWER_FIELDS))
        raise InputError(f"a dict must have one of {names}, got {shown}")
    result = SystemResult("") if found is None else read_result(found)
    if answer is None:
        return result
    return replace(result, answer=answer if isinstance(answer, str) else read_result(answer).answer or str(answer))


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
    fields = item if isinstance(item, Mapping) else {name: getattr(item, name, None) for name in TEXT_FIELDS}
    for text in (*map(fields.get, TEXT_FIELDS), item):
        if isinstance(text, str):
            return text
    raise InputError(f"a list must have documents, nodes, hits, chunks or texts, got {safe_repr(item)}")


def _bare(item: Any) -> Any:
    """Return the node of a node with its score, and the chunk of a hit."""
    item = getattr(item, "node", item)
    return item.chunk if isinstance(item, Hit) else item


def _metadata(item: Any) -> Mapping[str, Any]:
    found = item.get("metadata", item) if isinstance(item, Mapping) else getattr(item, "metadata", None)
    return found if isinstance(found, Mapping) else {}


def read_chunk(item: Any) -> Chunk:
    """Return a document of LangChain, a node of LlamaIndex, a hit, a dict or a text as a chunk; unknown ids are empty.

    >>> read_chunk({"page_content": "Drink water.", "metadata": {"source": "gastro.pdf"}}).document_id
    'gastro.pdf'

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


def reply_text(reply: Any) -> str:
    """Return the text of a message or a completion, which may be a property, a method or a string itself."""
    text = getattr(reply, "text", None) if not isinstance(reply, str) else reply
    text = text if isinstance(text, str) or not callable(text) else text()
    if not isinstance(text, str):
        text = getattr(reply, "content", None)
    if not isinstance(text, str):
        raise InputError(f"the model must reply with a text, got {safe_repr(reply)}")
    return str(text)


METHODS = ("answer", "context", "invoke", "query", "retrieve")
"""The methods by which a system is asked, the first that it has: an `AnswerChain` answers, our retrievers give their
contexts, LangChain's runnables are invoked, LlamaIndex's query engines and retrievers are queried."""
QUESTION_KEYS = ("question", "query", "input", "user_input", "user_question")
"""The keys of a chain's input that take the question, if it takes a dict."""
FILTER_KEYS = ("filter", "filters")


@dataclass(frozen=True)
class System:
    """A system with its name."""

    name: str
    port: Port
    input_keys: frozenset[str] = frozenset()
    """The keys of the dict that a chain takes; empty for a system that takes the question alone."""

    def ask(self, question: LabeledQuestion) -> SystemResult:
        """Return the result for `question`, with the seconds that it took."""
        began = time.perf_counter()
        value = self.call(question)
        return replace(read_result(value), seconds=time.perf_counter() - began)

    def call(self, question: LabeledQuestion) -> Any:
        """Return whatever the system returns for `question`."""
        return self._port_for(question).call(self._input(question))

    async def aask(self, question: LabeledQuestion) -> SystemResult:
        """Async version of `ask`. A sync system is called in a thread."""
        began = time.perf_counter()
        value = await self._port_for(question).acall(self._input(question))
        return replace(read_result(value), seconds=time.perf_counter() - began)

    def _input(self, question: LabeledQuestion) -> Any:
        """Return what the system is given: the question, or a dict with it and its filter."""
        key = next((key for key in QUESTION_KEYS if key in self.input_keys), None)
        if key is None:
            return question.text
        filter_key = next((key for key in FILTER_KEYS if key in self.input_keys), None)
        has_filter = filter_key is not None and question.filter is not None
        return {key: question.text, **({filter_key: question.filter} if has_filter else {})}

    def _port_for(self, question: LabeledQuestion) -> Port:
        """Return the port, bound to the filter of `question` if it has one that the input doesn't carry."""
        if question.filter is None or not self.input_keys.isdisjoint(FILTER_KEYS):
            return self.port
        functions = (self.port.sync, self.port.async_)
        return Port(*(function and self._filtered(function, question.filter) for function in functions))

    def _filtered(self, function: Callable[..., Any], filter: Any) -> Callable[..., Any]:
        names = signature(function).parameters
        key = next((key for key in FILTER_KEYS if key in names), None)
        if key is None:
            raise InputError(f"{self.name} takes no filter: pass a function (question, filter) -> context")
        return partial(function, **{key: filter})


def as_system(name: str, system: Any, *, needs_sync: bool = True) -> System:
    """Return `system`, a function or an object with one of `METHODS`, as a `System`.

    >>> as_system("echo", lambda question: question.upper()).ask(LabeledQuestion("Why?")).text
    'WHY?'

    Raises:
        InputError: it is neither, or it can only be awaited although `needs_sync`.
    """
    if isinstance(system, System):
        return replace(system, name=name)
    method = next((one for one in METHODS if callable(getattr(system, one, None))), None)
    port = Port.of(system, method, accepts_function=False) if method else Port.of(system)
    if isinstance(system, type) or not port:
        allowed = f"be a function or have one of {', '.join(METHODS)}"
        raise InputError(f"system {name!r} must {allowed}, got {safe_repr(system)}")
    if needs_sync:
        port.require_sync(f"system {name!r} can only be awaited: it needs aevaluate()")
    return System(name, port, _input_keys(system) if method == "invoke" else frozenset())


def _input_keys(chain: Any) -> frozenset[str]:
    """Return the keys of the dict that a chain takes, by its schema; empty if it takes a text."""
    try:
        schema = chain.get_input_jsonschema()
    except Exception:  # noqa: BLE001 - a schema can't be made of every chain; then it is given the text
        return frozenset()
    definition = schema.get("$defs", {}).get(str(schema.get("$ref", "")).rpartition("/")[2], schema)
    return frozenset(definition.get("properties", ()))


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
        found = system.port.call(question)
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
