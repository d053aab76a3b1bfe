"""The errors and warnings of ctxassembly.

CtxAssemblyError
├── ConfigError (ValueError)       a parameter is out of range; raised at construction
├── InputError (TypeError)         hits, a store, embeddings, a scorer or an llm have the wrong type
├── StoreError                     a store, embeddings or a scorer failed, and on_store_error="raise"
├── SearchError                    no channel of a retrieval answered, or one failed and on_search_error="raise"
├── AnswerError                    the model of an answer chain failed, or said nothing
├── VocabularyError                the tokenizer's vocabulary is neither here nor can it be downloaded
├── EmbeddedServerError            the embedded PostgreSQL can't be created, started or stopped
└── MissingExtraError (ImportError)   an optional dependency is not installed

FilterNotSeenWarning (UserWarning)    an adapter can't see the filter of the search; see AssemblyConfig.neighbors
NothingToJoinWarning (UserWarning)    hits, or the store, lack what neighbors and joining need; see Trace.missing

A SearchError or an AnswerError that another library's error caused is of the class of that error, too.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from ctxassembly.safe_repr import safe_repr

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "AnswerError",
    "ConfigError",
    "CtxAssemblyError",
    "EmbeddedServerError",
    "FilterNotSeenWarning",
    "InputError",
    "MissingExtraError",
    "NothingToJoinWarning",
    "SearchError",
    "StoreError",
    "VocabularyError",
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

    @classmethod
    def from_error(cls, error: Exception, *args: Any) -> Self:
        """Return the error that `args` makes, with `error` as its cause and of the class of `error`, too.

        So `except` clauses, retries and fallbacks that name a provider's error still catch it. It has the attributes of
        `error`. A class that can't be inherited from is left out.
        """
        classes: tuple[Any, Any] = (cls, type(error))
        kind, wrapped = _combined_class(*classes), cast(Any, None)
        try:
            wrapped = kind.__new__(kind)
            wrapped.__dict__.update({**error.__dict__, "given": args})
            if isinstance(wrapped, OSError) and isinstance(error, OSError):  # these have no entry there
                wrapped.errno, wrapped.strerror, wrapped.filename = error.errno, error.strerror, error.filename
        except Exception:  # noqa: BLE001 - the class of a provider may raise anything
            wrapped = cls.__new__(cls)
        cls.__init__(wrapped, *args)
        wrapped.__cause__ = error
        return cast("Self", wrapped)


@lru_cache(maxsize=256)
def _combined_class(ours: Any, theirs: Any) -> Any:
    """Return a class that inherits from both; `ours` if there can't be one."""

    def first_argument(self: Any) -> str:
        return str(self.args[0])

    def reduce_error(self: Any) -> tuple[Any, ...]:
        return ours.from_error, (self.__cause__, *self.given)

    if issubclass(theirs, ours):
        return theirs
    if issubclass(theirs, (StopIteration, StopAsyncIteration)):  # generators turn these into a RuntimeError
        return ours
    namespace = {
        "__module__": ours.__module__,
        "__doc__": ours.__doc__,
        "__str__": first_argument,
        "__reduce__": reduce_error,
    }
    try:
        return type(ours.__name__, (ours, theirs), namespace)
    except TypeError:  # it is final, or written in C with a layout of its own
        return ours


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
    """The store failed to fetch neighbors, or the embeddings or the scorer failed; `__cause__` is their own error.

    Raised only with `on_store_error="raise"`; by default the assembly continues, and `Trace.notes` has the message.
    `PostgresIndex.add` raises it if two runs write different chunks of a document at the same time.

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


class SearchError(CtxAssemblyError):
    """No channel of a retrieval answered; `__cause__` is the first one's own error, and this one is of its class, too.

    >>> from ctxassembly import RetrievalConfig, retrieve
    >>> def unreachable(query, limit, filter):
    ...     raise ConnectionError("no route to host")
    >>> try:
    ...     retrieve("ferritin", RetrievalConfig(strategy="keyword"), channels={"keyword": unreachable})
    ... except SearchError as error:
    ...     print(error)
    no channel answered: ConnectionError: no route to host
    """


class AnswerError(CtxAssemblyError):
    """The model of an answer chain failed, or returned nothing; `__cause__` is its own error.

    An error that a model raised is an instance of the model's own class, too: `except openai.RateLimitError` catches
    it, and so do `with_retry(retry_if_exception_type=...)` and `with_fallbacks(exceptions_to_handle=...)`. It has the
    attributes of the model's own error, such as `status_code`. Only a class that can't be inherited from is left out.

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
        Exception.__init__(self, message)  # the next class in line may be a provider's, which takes other arguments
        self.partial = partial

    def __reduce__(self) -> tuple[Any, ...]:
        return AnswerError, (*self.args, self.partial)


class VocabularyError(CtxAssemblyError):
    """A tokenizer's vocabulary is not on this machine and could not be downloaded in time.

    A name that no encoding has is one, too; for the name of a model the message ends with what to write instead.

    >>> from ctxassembly import AssemblyConfig, assemble
    >>> try:
    ...     assemble([], AssemblyConfig(encoding="gpt-4o"))
    ... except VocabularyError as error:
    ...     print(str(error).partition(": ")[2])
    for that model write encoding='o200k_base', or max_tokens=TokenBudget.for_model('gpt-4o')
    """


class EmbeddedServerError(CtxAssemblyError):
    r"""The embedded server could not be created, started or stopped; the message quotes its own.

    >>> from ctxassembly.stores.embedded_server import embedded_postgres
    >>> try:
    ...     with embedded_postgres("/data,new"):
    ...         pass
    ... except EmbeddedServerError as error:
    ...     print(error)
    folder must be a path without , " $ ` \ or line breaks, got '/data,new'
    """


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


def missing_extra(error: ModuleNotFoundError, feature: str, extra: str, modules: Collection[str]) -> ImportError:
    """Return the error to raise for `error`: MissingExtraError if one of `modules`, of `extra`, is missing."""
    missing = (error.name or "").partition(".")[0]
    return MissingExtraError(feature, extra) if missing in modules else error


def is_installed(*modules: str) -> bool:
    """Return True if all of `modules` can be imported. None is imported."""
    from importlib.util import find_spec

    try:
        return all(find_spec(module) for module in modules)
    except ModuleNotFoundError:  # the package around one
        return False


class MissingExtraError(CtxAssemblyError, ImportError):
    """A feature needs an optional dependency; the message has the line that installs it.

    >>> print(MissingExtraError("plot()", "inspect"))
    plot() needs an optional dependency: pip install 'ctxassembly[inspect]'
    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional dependency: pip install 'ctxassembly[{extra}]'")
