"""The systems to compare, as functions from a question to a result: functions, retrievers, chains, engines."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import Any

from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.data.chunks import Chunk, Hit
from ctxassembly.errors import InputError
from ctxassembly.evaluate.questions import LabeledQuestion
from ctxassembly.evaluate.results import SystemResult, read_chunk, read_result
from ctxassembly.retrieved import Retrieved
from ctxassembly.runtime.assemble import assemble
from ctxassembly.runtime.driver import Port
from ctxassembly.safe_repr import safe_repr

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
        raise InputError(
            f"system {name!r} must be a function or have one of {', '.join(METHODS)}, got {safe_repr(system)}"
        )
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


def assembled(retriever: Any, config: AssemblyConfig | None = None, **options: Any) -> Callable[[str], Context]:
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
