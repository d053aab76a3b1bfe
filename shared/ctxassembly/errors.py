"""The errors and warnings of ctxassembly.

CtxAssemblyError
├── ConfigError (ValueError)   a parameter is out of range, or what it names isn't here; raised at construction
├── InputError (TypeError)     hits, a store, embeddings, a scorer or an llm have the wrong type
├── StoreError                 a store, an index, embeddings, a scorer or the embedded server failed
└── AnswerError                the model of an answer chain failed, or said nothing

FilterNotSeenWarning (UserWarning)   an adapter can't see the filter of the search; see AssemblyConfig.neighbors
NothingToJoinWarning (UserWarning)   hits, or the store, lack what neighbors and joining need; see Trace.missing

The `__cause__` of a StoreError or an AnswerError is the error of the library that failed. An optional dependency that
isn't installed is an ImportError, with the line that installs it.
"""

from __future__ import annotations

from typing import Any

from ctxassembly.safe_repr import safe_repr

__all__ = [
    "AnswerError",
    "ConfigError",
    "CtxAssemblyError",
    "FilterNotSeenWarning",
    "InputError",
    "NothingToJoinWarning",
    "StoreError",
]


class CtxAssemblyError(Exception):
    """Base of all errors of this package.

    >>> from ctxassembly import assemble
    >>> try:
    ...     assemble("gastro.pdf")
    ... except CtxAssemblyError as error:
    ...     print(type(error).__name__)
    InputError
    """


class ConfigError(CtxAssemblyError, ValueError):
    """A parameter is outside its range.

    `parameter` has its name. The message gives the range and the value received.

    >>> print(ConfigError("window", "an integer from 0", -1))
    window must be an integer from 0, got -1
    """

    def __init__(self, parameter: str, allowed: str, value: object, hint: str = "") -> None:
        """Set the message; `hint` ends it with the line to write instead of `value`."""
        super().__init__(f"{parameter} must be {allowed}, got {safe_repr(value)}{hint}")
        self.parameter = parameter

    @classmethod
    def missing(cls, parameter: str, setting: str, service: str, instead: str) -> ConfigError:
        """Return the error for a `setting` that needs a service, given as `parameter`; `instead` needs none."""
        return cls.worded(parameter, f"{setting} needs {service}: pass {parameter}=, or write {instead}")

    @classmethod
    def worded(cls, parameter: str, message: str) -> ConfigError:
        """Return the error for `parameter` with a `message` of another form."""
        error = cls.__new__(cls, message)
        error.parameter = parameter
        return error

    def __reduce__(self) -> tuple[Any, ...]:
        return self.worded, (self.parameter, str(self))


class InputError(CtxAssemblyError, TypeError):
    """An argument has another type than the signature asks for.

    >>> from ctxassembly import assemble
    >>> try:
    ...     assemble("gastro.pdf")
    ... except InputError as error:
    ...     print(error)
    hits must be a sequence of Hit, got 'gastro.pdf': write [Hit(Chunk(id, document_id, text), score), ...]
    """


class StoreError(CtxAssemblyError):
    """A store, an index, embeddings or a scorer failed; `__cause__` is their own error.

    By default an assembly and a retrieval continue without what failed, and the notes of the trace have the message. An
    assembly raises the error with `on_store_error="raise"`, a retrieval with `on_search_error="raise"` or if no channel
    answered. `PostgresIndex.add` raises it if two runs write different chunks of a document at the same time, and
    `embedded_postgres` if the server could not be created, started or stopped.

    >>> from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
    >>> class Unreachable:
    ...     def fetch(self, refs):
    ...         raise ConnectionError("no route to host")
    >>> hits = [Hit(Chunk("gastro#0", "gastro", "Drink water.", 0))]
    >>> try:
    ...     assemble(hits, AssemblyConfig(on_store_error="raise"), store=Unreachable())
    ... except StoreError as error:
    ...     print(error)
    neighbors could not be fetched: ConnectionError: no route to host
    """


class AnswerError(CtxAssemblyError):
    """The model of an answer chain failed, or returned nothing; `__cause__` is its own error.

    `partial` has the text that a stream had yielded. It is not an answer.

    >>> from ctxassembly import AnswerChain, Chunk, MemoryIndex, RetrievalConfig
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> def overloaded(request):
    ...     raise ConnectionError("429")
    >>> chain = AnswerChain.from_index(index, overloaded, RetrievalConfig(strategy="keyword"))
    >>> try:
    ...     chain.answer("When is ferritin measured?")
    ... except AnswerError as error:
    ...     print(error)
    the model failed: ConnectionError: 429
    """

    def __init__(self, message: str, partial: str) -> None:
        super().__init__(message)
        self.partial = partial

    def __reduce__(self) -> tuple[Any, ...]:
        return AnswerError, (*self.args, self.partial)


class FilterNotSeenWarning(UserWarning):
    """A neighbor was left out: there is no filter, and its metadata differ from its hit's. The message names the keys.

    Given once for each object. In tests, make it an error, so that no chain goes live without its filter. If every
    caller may read everything, set `neighbors="unfiltered"`.

    >>> import warnings
    >>> from langchain_core.documents import Document
    >>> from ctxassembly import Chunk, MemoryStore
    >>> from langchain_ctxassembly import ContextAssembler
    >>> theirs = Chunk("gastro#0", "gastro", "Drink water.", 0, metadata={"tenant": "theirs"})
    >>> store = MemoryStore([theirs, Chunk("gastro#1", "gastro", "Rest.", 1, metadata={"tenant": "ours"})])
    >>> ours = {"document_id": "gastro", "chunk_index": 1, "tenant": "ours"}
    >>> found = Document("Rest.", id="gastro#1", metadata=ours)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", FilterNotSeenWarning)
    ...     try:
    ...         ContextAssembler(store=store).invoke([found])
    ...     except FilterNotSeenWarning as warning:
    ...         print(str(warning).partition(".")[0])
    Adjacent chunks with another 'tenant' than the retrieved chunk are left out
    """


class NothingToJoinWarning(UserWarning):
    """Hits could not be joined with their neighbors, or the store failed; the message says how to fix it.

    If you silence it, the trace still says what is missing, as `Trace.missing`:

    >>> import warnings
    >>> from langchain_core.documents import Document
    >>> from ctxassembly import MemoryStore
    >>> from langchain_ctxassembly import ContextAssembler
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", NothingToJoinWarning)
    ...     documents = ContextAssembler(store=MemoryStore([])).invoke([Document("Drink water.")])
    >>> print(documents[0].metadata["trace"]["missing"].partition(" (")[0])
    1 of 1 retrieved chunk has no chunk_index or prev/next links and neither document_id nor source
    """


def missing_extra(feature: str, extra: str) -> ImportError:
    """Return the error for a `feature` that needs an optional dependency.

    >>> print(missing_extra("plot()", "semantic"))
    plot() needs an optional dependency: pip install 'ctxassembly[semantic]'
    """
    return ImportError(f"{feature} needs an optional dependency: pip install 'ctxassembly[{extra}]'")
