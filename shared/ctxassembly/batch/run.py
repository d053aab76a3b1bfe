"""`assemble_many` and `retrieve_many`: questions in, rows out in their order, as they are read."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sized
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from inspect import signature
from pathlib import Path
from typing import Any, cast

from ctxassembly.assembly.arguments import check_config
from ctxassembly.assembly.call import System
from ctxassembly.assembly.selection.supplement import supplement_from_retrieval
from ctxassembly.batch.processes import Workers
from ctxassembly.batch.rows import BatchFile, BatchRow, BatchSummary, lines_path
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.hints import check_parameters, setting_lines
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.data.validation import check_int
from ctxassembly.errors import CtxAssemblyError, InputError
from ctxassembly.evaluate.questions import ID_DIGITS, LabeledQuestion
from ctxassembly.runtime.assemble import AssemblyServices, assemble, restricted_store
from ctxassembly.runtime.progress import progress_bar
from ctxassembly.runtime.retrieve import prepare_search, retrieve
from ctxassembly.safe_repr import describe_error, safe_repr
from ctxassembly.serialization import to_plain
from ctxassembly.wording.unicode import make_encodable

_STARTED_PER_WORKER = 4
"""Questions that are with a worker or wait for one: enough that none is idle while a slow one delays the order."""
_KEYS = {"id", "question", "filter"}
"""The keys of a question given as a dict."""
_OURS = {"hits", "query", "config", "supplement", "labels", "filter", "on_stage"}
"""Arguments of `retrieve` and `assemble` that differ by question, or that a batch sets."""


@dataclass(frozen=True, slots=True)
class _Question:
    id: str
    text: str
    filter: Any = None


@dataclass(frozen=True)
class _Pipeline:
    """The function from a question to its row, which the workers get."""

    retrieval: RetrievalConfig
    search: Mapping[str, Any]
    """Arguments of `retrieve`."""
    assembly: AssemblyConfig | System | None
    """None: retrieval only."""
    services: Mapping[str, Any]
    """Arguments of `assemble`."""

    def __call__(self, question: _Question) -> BatchRow:
        """Return the row of `question`, with whatever error it raised."""
        row = BatchRow(question.id, question.text)
        if not question.text.strip():
            return replace(row, error="InputError: the question is empty")
        try:
            found = retrieve(question.text, self.retrieval, filter=question.filter, **self.search)
            if self.assembly is None:
                return replace(row, retrieved=found)
            services = {**self.services, "store": restricted_store(self.services["store"], question.filter)}
            supplement = supplement_from_retrieval(found)
            context = assemble(found.hits, self.assembly, query=found.query, supplement=supplement, **services)
            return replace(row, context=context)
        except Exception as error:  # noqa: BLE001 - in the row, and the other questions go on
            return replace(row, error=describe_error(error))

    def digest(self) -> str:
        """Return the digest of the settings, and of the filters that the index and the store have for all questions.

        Raises:
            InputError: one of these filters is no plain data.
        """
        limited = (self.search["index"], self.services.get("store"))
        filters = (_filter_text(getattr(one, "filters", None), "all questions") for one in limited)
        parts = [to_plain(self.retrieval), to_plain(self.assembly), *filters]
        return sha256(json.dumps(parts).encode()).hexdigest()


def assemble_many(
    questions: Iterable[Any],
    config: AssemblyConfig | System | None = None,
    *,
    index: Any,
    retrieval: RetrievalConfig | None = None,
    workers: int = 1,
    out: str | Path | None = None,
    progress: bool = True,
    **options: Any,
) -> Batch:
    """Retrieve and assemble the context of each of `questions`.

    Experimental.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
    >>> texts = ("Drink water until two hours before.", "Ferritin is measured in the morning.")
    >>> index = MemoryIndex([Chunk(f"lab#{at}", "lab", text, at) for at, text in enumerate(texts)])
    >>> questions = [("q1", "When is ferritin measured?"), ("q2", " ")]
    >>> batch = assemble_many(questions, index=index, retrieval=RetrievalConfig(strategy="keyword"), progress=False)
    >>> for row in batch:
    ...     print(row.id, row.context.token_count if row.context else row.error)
    q1 23
    q2 InputError: the question is empty
    >>> print(batch.summary)
    made 1, resumed 0, failed 1 (q2: InputError: the question is empty)

    The rows come in the order of the questions, each made when it is read, or shortly before where there are workers.
    An error of one question is in its row. A context is the one that `retrieve` and `assemble` make of the same
    arguments. A question's filter restricts its hits, and their neighbors too.

    Args:
        questions: texts, pairs of id and text, dicts with "question" and perhaps "id" and "filter", or
            `LabeledQuestion`. Any iterable will do: it is read as the rows are. Without an id, one is made from the
            text and the filter.
        config: the settings of the assembly; None means the defaults.
        index: what is searched. It is the store of neighbors, too, unless `store` is given.
        retrieval: the settings of the retrieval; None means the defaults.
        workers: the number of processes. Each gets the arguments once, by pickle. 1 works in this process.
        out: a path that ends in .jsonl, or in .parquet if pyarrow is installed. Each row is written as soon as
            it is made. A second run with the same path reads what is there, makes what is missing or failed, and yields
            all. Only one run at a time may write to a path. Filters must be plain data.
        progress: show a progress bar of tqdm, if that is installed.
        options: further arguments of `retrieve` (`embed`, `taxonomy`, `channels`, `rerankers`, `category_of`) and of
            `assemble` (`store`, `embeddings`, `llm`, `scorer`, `transform_fetched`).

    Raises:
        InputError: an argument has the wrong type, or can't be pickled for the workers. Or, while the rows are read: a
            question has another form, or `out` has a row of another question, filter or configuration with its id.
        ConfigError: `workers` or `out` is out of range, or the index refuses to be pickled.
    """
    check_config(config)
    of_retrieval = signature(retrieve).parameters.keys() - _OURS
    search = {name: value for name, value in options.items() if name in of_retrieval}
    services = {name: value for name, value in options.items() if name not in search}
    known = (signature(assemble).parameters.keys() - _OURS) | signature(assemble_many).parameters.keys()
    check_parameters("assemble_many", services, known, setting_lines("config={}"))
    if services.get("store") is None:
        services["store"] = index if hasattr(index, "fetch") else None
    AssemblyServices(**services)
    retrieval = prepare_search(retrieval, index=index, **search)[0]
    pipeline = _Pipeline(retrieval, {"index": index, **search}, config or AssemblyConfig(), services)
    return _batch(questions, pipeline, workers, out, progress=progress)


def retrieve_many(
    questions: Iterable[Any],
    config: RetrievalConfig | None = None,
    *,
    index: Any,
    workers: int = 1,
    out: str | Path | None = None,
    progress: bool = True,
    **options: Any,
) -> Batch:
    """Retrieve the hits of each of `questions`. The rows have `retrieved` instead of `context`.

    Experimental.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> rows = retrieve_many(["ferritin"], RetrievalConfig(strategy="keyword"), index=index, progress=False)
    >>> [[hit.chunk.id for hit in row.retrieved.hits] for row in rows]
    [['lab#0']]

    Everything else is as for `assemble_many`; `options` are arguments of `retrieve`.
    """
    known = (signature(retrieve).parameters.keys() - _OURS) | signature(retrieve_many).parameters.keys()
    check_parameters("retrieve_many", options, known, setting_lines("config={}", RetrievalConfig))
    pipeline = _Pipeline(prepare_search(config, index=index, **options)[0], {"index": index, **options}, None, {})
    return _batch(questions, pipeline, workers, out, progress=progress)


def _batch(questions: Any, pipeline: _Pipeline, workers: int, out: Any, *, progress: bool) -> Batch:
    """Return the batch of the arguments, checked."""
    if isinstance(questions, (str, Mapping)) or hasattr(questions, "columns") or not isinstance(questions, Iterable):
        hint = "; df.to_dict('records') gives the rows of a DataFrame" if hasattr(questions, "columns") else ""
        raise InputError(f"questions must be an iterable of questions, got {safe_repr(questions)}{hint}")
    check_int("workers", workers, 1)
    if out is not None:
        lines_path(out)
    pool = Workers(pipeline, workers) if workers > 1 else None
    return Batch(_rows(questions, pipeline, pool, workers * _STARTED_PER_WORKER, out, progress=progress))


class Batch:
    """The rows of a run, an iterator.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> print(retrieve_many(["iron"], RetrievalConfig(strategy="keyword"), index=index, progress=False).run())
    made 1, resumed 0, failed 0
    """

    def __init__(self, rows: Generator[tuple[BatchRow, bool], None, None]) -> None:
        """Count `rows`, each with whether it was read from the file."""
        self._rows = rows
        self.summary = BatchSummary()
        """What has been done so far."""

    def __iter__(self) -> Iterator[BatchRow]:
        return self

    def __next__(self) -> BatchRow:
        row, is_resumed = next(self._rows)
        self.summary = self.summary.with_row(row, is_resumed=is_resumed)
        return row

    def run(self) -> BatchSummary:
        """Make all rows, where only the file is needed, and return the summary."""
        for _ in self:
            pass
        return self.summary

    def close(self) -> None:
        """End the run: no further question begins. What is in the file stays."""
        self._rows.close()


def _rows(
    questions: Iterable[Any],
    pipeline: _Pipeline,
    pool: Workers | None,
    most_started: int,
    out: str | Path | None,
    *,
    progress: bool,
) -> Generator[tuple[BatchRow, bool], None, None]:
    """Yield the rows in order, and whether each was read from the file. At most `most_started` are with a pool."""
    started: deque[tuple[_Question, Callable[[], BatchRow] | None]] = deque()
    settings = "" if out is None else pipeline.digest()
    total = len(questions) if isinstance(questions, Sized) else None
    with ExitStack() as stack:
        file = None if out is None else stack.enter_context(BatchFile.opened(out))
        advance = stack.enter_context(progress_bar(total, "question", "batch", is_shown=progress))
        if pool:
            stack.callback(pool.close)

        def finished() -> tuple[BatchRow, bool]:
            question, make = started.popleft()
            if make is None:
                row = cast(BatchFile, file).read(question.id)
            else:
                row = _made(question, make)
                if file:
                    file.add(row)
            advance(1)
            return row, make is None

        for number, given in enumerate(questions, 1):
            question = _read(given, number)
            if file and not file.claim(question.id, _digest(settings, question)):
                started.append((question, None))
            else:
                started.append((question, pool.submit(question) if pool else partial(pipeline, question)))
            if not pool or len(started) >= most_started:
                yield finished()
        while started:
            yield finished()


def _made(question: _Question, make: Callable[[], BatchRow]) -> BatchRow:
    """Return the row that `make` returns, or one with an error if the question can't be sent to a worker."""
    try:
        return make()
    except CtxAssemblyError:  # of all questions: no worker can be used
        raise
    except Exception as error:  # noqa: BLE001 - in the row
        return BatchRow(question.id, question.text, error=describe_error(error))


def _read(given: Any, number: int) -> _Question:
    """Return a question, given in any of the forms.

    Raises:
        InputError: it has none of them. An unknown key of a dict may be the filter under another name.
    """
    if isinstance(given, LabeledQuestion):
        given = {"id": given.id, "question": given.text, "filter": given.filter}
    elif isinstance(given, str):
        given = {"question": given}
    elif isinstance(given, tuple) and len(given) == 2:
        given = {"id": given[0], "question": given[1]}
    if not isinstance(given, Mapping) or not {"question"} <= given.keys() <= _KEYS:
        forms = "a text, a pair of id and text, a LabeledQuestion, or a dict with question and perhaps id and filter"
        raise InputError(f"question {number} must be {forms}, got {safe_repr(given)}")
    text, only, name = given["question"], given.get("filter"), given.get("id")
    if not isinstance(text, str):
        raise InputError(f"question {number}: the question must be a string, got {safe_repr(text)}")
    if name is None:
        parts = text if only is None else f"{text}\0{_filter_text(only, f'question {number}')}"
        return _Question(sha256(parts.encode("utf-8", "replace")).hexdigest()[:ID_DIGITS], text, only)
    if not isinstance(name, (str, int)) or name == "":
        raise InputError(f"question {number}: the id must be a string or an integer, got {safe_repr(name)}")
    return _Question(make_encodable(str(name)), text, only)


def _digest(settings: str, question: _Question) -> str:
    """Return the digest of all that a row depends on but the index."""
    parts = f"{settings}{question.text}\0{_filter_text(question.filter, f'question {question.id}')}"
    return sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _filter_text(filter: Any, place: str) -> str:
    """Return the text of a filter, which differs where the filter does.

    Raises:
        InputError: it is no plain data, and there is no such text: a function has none.
    """

    def to_data(value: Any) -> Any:
        if hasattr(value, "model_dump"):  # MetadataFilters of LlamaIndex
            return value.model_dump(mode="json")
        if hasattr(value, "isoformat"):  # dates
            return value.isoformat()
        raise TypeError(value)

    try:
        return json.dumps(filter, sort_keys=True, default=to_data)
    except (TypeError, ValueError) as error:
        allowed = "plain data where rows are kept by id"
        raise InputError(f"{place}: a filter must be {allowed}, got {safe_repr(filter)}") from error
