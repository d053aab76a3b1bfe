"""Hints at the end of common error messages: the line to write instead.

Beginners often pass the wrong kind of object: LangChain's documents as hits, a vector store as a store, a dict as a
config. The error recognizes the object and gives the line that works. Objects are recognized by their attributes, so no
framework is imported for an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, ValuesView
from dataclasses import fields
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar

from ctxassembly.config.assembly import USES, AssemblyConfig
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr

T = TypeVar("T")
_MAX_VALUE_CHARS = 40
"""Most characters of a value in a suggestion."""


def not_a_hit_error(given: object, position: int | None = None) -> InputError:
    """Return the error for `given`, passed as the hit at `position`, or as all hits if `position` is None."""
    where = "" if position is None else f" at place {position}"
    got = type(given).__name__ if position is None else safe_repr(given)
    is_query = position is None and isinstance(given, str)
    hint = f": write assemble(hits, query={safe_repr(given, 40)})" if is_query else _hint_for_hits(given)
    return InputError(f"hits must be a sequence of Hit, got {got}{where}{hint}")


def hint_for_documents(given: Any) -> str:
    """Return the hint for `given`, passed as LangChain's documents or as one of them."""
    if _is_document(given):
        return ": write [document]"
    if isinstance(given, str):
        return f": write (retriever | assembler).invoke({safe_repr(given, 40)})"
    if isinstance(given, (list, tuple)):
        # A document with its score, as `similarity_search_with_score` returns it; else the first item with a hint.
        pair = len(given) == 2 and _is_document(given[0]) and not _is_document(given[1])
        if not pair and given and isinstance(given[0], list):
            return ": write [document for found in documents for document in found]"
        items = (one for one in given if not _is_document(one) and not isinstance(one, str))
        return _hint_for_hits(given) if pair else next(filter(None, map(hint_for_documents, items)), "")
    return _hint_for_hits(given) if hasattr(given, "get_content") else _hint_for_await(given)


def hint_for_node(given: Any) -> str:
    """Return the hint for `given`, passed as one of LlamaIndex's nodes with scores."""
    if _is_document(given):
        return _hint_for_hits(given)
    if hasattr(given, "source_nodes"):
        return ": write response.source_nodes"
    return ": write NodeWithScore(node=node)" if hasattr(given, "get_content") else _hint_for_await(given)


def _hint_for_await(given: Any) -> str:
    return ": write await before it" if hasattr(given, "__await__") else ""


def _hint_for_hits(given: Any) -> str:
    if hint := _hint_for_await(given):
        return hint
    if isinstance(given, list):
        return ": write [hit for found in hits for hit in found]"
    if isinstance(given, tuple) and len(given) == 2:
        if _is_document(given[0]):
            return (
                ": for LangChain's write ContextAssemblyRetriever.from_vectorstore(vectorstore), of "
                "langchain_ctxassembly, which keeps the scores, or put them into document.metadata['score']"
            )
        return ": write Hit(chunk, score) for each pair"
    if _is_document(given):
        return (
            ": for LangChain's documents write ContextAssembler().as_context().invoke(documents), of "
            "langchain_ctxassembly"
        )
    if hasattr(given, "get_content"):  # a node, or one with its score
        return ": for LlamaIndex's nodes write ContextAssemblyPostprocessor().context(nodes), of llamaindex_ctxassembly"
    if hasattr(given, "document_id") and hasattr(given, "text"):
        return ": write Hit(chunk)"
    return f": {_hint_for_own_kinds(given)}"


def _hint_for_own_kinds(given: Any) -> str:
    if hasattr(given, "hits") or hasattr(given, "channels"):  # what `retrieve` returns, or a chunk of it
        return "write assemble(retrieved.hits, query=query)"
    if hasattr(given, "__next__") or isinstance(given, ValuesView):
        return "write list(hits)"
    return _hint_for_chunk(getattr(given, "chunk", None))


def _hint_for_chunk(given: Any) -> str:
    if _is_document(given) or hasattr(given, "get_content"):
        return "the adapters take documents and nodes as they are" + _hint_for_hits(given)
    if hasattr(given, "document_id"):  # of one hit without a list
        return "write [hit]"
    return "write Hit(Chunk(id, document_id, text), score)"


def _is_document(given: Any) -> bool:
    return hasattr(given, "page_content") and hasattr(given, "metadata")


def hint_for_config(given: Any, accepts_query: bool = True) -> str:
    """Return the hint for `config=given`; empty if there is none.

    `accepts_query` is False for objects that are created before a query is known.
    """
    if isinstance(given, str):
        text = str.__str__(given)  # a subclass may raise when it is compared
        if text in USES:
            return f": write config=AssemblyConfig.for_use({text!r})"
        return f": write query={safe_repr(given, 40)}" if accepts_query else ""
    if given is AssemblyConfig:
        return ": write config=AssemblyConfig()"
    if isinstance(given, (list, tuple)):
        return ": hits come first: write assemble(hits, query=query)" if accepts_query else ""
    if isinstance(given, int):
        return f": write config=AssemblyConfig(max_tokens={safe_repr(given, 40)})"
    # Only a plain dict: another mapping may raise, or never end.
    if type(given) is dict and all(type(name) is str for name in [*given][:3]):
        settings = ", ".join(f"{name}={safe_repr(value, 40)}" for name, value in [*given.items()][:3])
        return f": write config=AssemblyConfig({settings}{', ...' if len(given) > 3 else ''})"
    return ""


def hint_for_store(given: Any) -> str:
    """Return the hint for `store=given`; empty if there is none."""
    if isinstance(given, type):
        return f": write store={given.__name__}(...)"
    if hasattr(given, "similarity_search") or hasattr(given, "get_by_ids"):
        return (
            ": write store=VectorStoreNeighbors(vectorstore), or store=PGVectorNeighbors(vectorstore) for Postgres, "
            "both of langchain_ctxassembly"
        )
    if hasattr(given, "as_query_engine") or hasattr(given, "docstore"):
        return ": write ContextAssemblyPostprocessor.from_index(index), or docstore=index.docstore"
    if hasattr(given, "get_ref_doc_info"):
        return ": write docstore=docstore in a ContextAssemblyPostprocessor, or store=DocstoreNeighbors(docstore)"
    if hasattr(given, "stores_text"):
        return ": write vector_store=vector_store in a ContextAssemblyPostprocessor, or store=VectorStoreNeighbors(...)"
    if isinstance(given, (list, tuple)):
        return ": write store=MemoryStore(chunks)"
    if hasattr(given, "invoke") or hasattr(given, "retrieve"):
        return ": neighbors come from a store and not from a retriever: give its vector store or docstore"
    return ""


def hint_for_index(given: Any) -> str:
    """Return the hint for `index=given`; empty if there is none."""
    if hasattr(given, "similarity_search"):
        return (
            ": write ContextAssemblyRetriever.from_vectorstore(vectorstore), or index=PostgresIndex.attach(vectorstore)"
        )
    if hasattr(given, "as_query_engine"):
        return ": write AnswerQueryEngine.from_args(index), or index=PostgresIndex.attach(index.vector_store)"
    return ": write index=MemoryIndex(chunks)" if hasattr(given, "fetch") or isinstance(given, (list, tuple)) else ""


def check_query(given: Any) -> None:
    """Check that the query of a retriever is a string.

    Raises:
        InputError: it is something else.
    """
    if not isinstance(given, str):
        texts = [key for key, value in given.items() if isinstance(value, str)] if type(given) is dict else []
        hint = f": write itemgetter({texts[0]!r}) | retriever" if texts else _hint_for_await(given)
        raise InputError(f"query must be a string, got {safe_repr(given)}{hint}")


def check_store(given: Any) -> None:
    """Check that `given` has `fetch` or `afetch`, or is None.

    Raises:
        ConfigError: it has neither.
    """
    if not (given is None or hasattr(given, "fetch") or hasattr(given, "afetch")) or isinstance(given, type):
        raise ConfigError("store", "an object with fetch(refs) or afetch(refs)", given, hint_for_store(given))


def setting_lines(config: str, kind: Any = AssemblyConfig) -> dict[str, str]:
    """Return the line for each setting of `kind`; `config` is the line for a config, with {} in its place."""
    return {setting.name: config.format(f"{kind.__name__}({setting.name}={{}})") for setting in fields(kind)}


def check_parameters(
    owner: str, given: Mapping[str, Any], known: Collection[str], elsewhere: Mapping[str, str]
) -> None:
    """Check that `owner` accepts all parameters in `given`.

    `elsewhere` has the lines for parameters of other classes, by name, with {} in place of the value.

    Raises:
        ConfigError: a parameter is not in `known`. The error suggests a similar one.
    """
    for name, value in given.items():
        if name not in known:
            if name not in elsewhere and (hint := _hint_for_object(owner, known, value)):
                raise ConfigError.worded(name, f"{owner}() has no parameter {name!r}{hint}")
            raise _unknown_parameter(owner, name, value, known, elsewhere)


def _unknown_parameter(
    owner: str, name: str, value: Any, known: Collection[str], elsewhere: Mapping[str, str]
) -> ConfigError:
    """Return the error for a parameter that `owner` doesn't have, with the line to write."""
    near = [name] if name in elsewhere else get_close_matches(name, sorted(known), 1)
    if near:
        given = safe_repr(value, _MAX_VALUE_CHARS + 1)
        is_literal = len(given) <= _MAX_VALUE_CHARS and not given.startswith("<")
        line = elsewhere.get(near[0], f"{near[0]}={{}}")
        hint = f"Did you mean {line.format(given if is_literal else '...')}?"
    else:
        hint = f"It takes {', '.join(sorted(known))}"
    return ConfigError.worded(name, f"{owner}() has no parameter {name!r}. {hint}")


def checked_model(elsewhere: Mapping[str, str]) -> Callable[[type[T]], type[T]]:
    """Return a decorator for a pydantic class, whose constructor then raises ConfigError for all that it refuses.

    `elsewhere` is as for `check_parameters`.
    """

    def decorate(cls: Any) -> Any:
        init = cls.__init__
        own_names = {*cls.model_fields, *(init.__kwdefaults__ or ())}
        most_unnamed = init.__code__.co_argcount - 1

        @wraps(init)
        def construct(self: Any, *args: Any, **settings: Any) -> None:
            owner = type(self).__name__
            if len(args) > most_unnamed:
                given = args[most_unnamed]
                hint = _hint_for_object(owner, own_names, given)
                message = f"{owner}() takes its parameters by name, got {safe_repr(given)}{hint}"
                raise ConfigError.worded("args", message)
            check_parameters(owner, settings, own_names | type(self).model_fields.keys(), elsewhere)
            try:
                init(self, *args, **settings)
            except ValueError as error:
                if hasattr(error, "errors"):
                    raise _from_validation(owner, error.errors()).with_traceback(None) from None
                raise

        cls.__init__ = construct
        return cls

    return decorate


def _from_validation(owner: str, found: Sequence[Mapping[str, Any]]) -> Exception:
    """Return pydantic's errors about the first parameter it refused, as one of ours."""
    first = found[0]
    if isinstance(error := first.get("ctx", {}).get("error"), Exception):
        return error
    name, given = str(first["loc"][0]), first["input"]
    if first["type"] == "missing":
        return ConfigError.worded(name, f"{owner}() needs {name}=")
    kinds = (one["msg"].removeprefix("Input should be ") for one in found if one["loc"][:1] == first["loc"][:1])
    hint = hint_for_config(given, accepts_query=False) if name == "config" else _hint_for_object(owner, {name}, given)
    return ConfigError(name, " or ".join(kinds), given, hint)


def _hint_for_object(owner: str, known: Collection[str], given: Any) -> str:
    """Return the hint for an object under another name than its own; empty if there is none."""
    if hasattr(given, "similarity_search") and "retriever" in known:
        return f": write {owner}.from_vectorstore(vectorstore)"
    kinds = {
        "config": isinstance(given, AssemblyConfig),
        "store": hasattr(given, "fetch") or hasattr(given, "afetch"),
        "assembler": hasattr(given, "as_context"),
        "retriever": hasattr(given, "invoke"),
    }
    for name, is_one in kinds.items():
        if is_one and name in known:
            return f": write {name}=..."
    return hint_for_store(given) if "store" in known and not hasattr(given, "invoke") else ""
