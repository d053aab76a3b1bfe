"""Hints at the end of common error messages: the line to write instead.

Beginners often pass the wrong kind of object: LangChain's documents as hits, a vector store as a store, a dict as a
config. The error recognizes the object and gives the line that works. Objects are recognized by their attributes, so no
framework is imported for an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
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


_AWAIT = ": write await before it"
_DOCUMENTS = (
    ": for LangChain's documents write ContextAssembler().as_context().invoke(documents), of langchain_ctxassembly"
)
_NODES = ": for LlamaIndex's nodes write ContextAssemblyPostprocessor().context(nodes), of llamaindex_ctxassembly"
_SCORED_DOCUMENT = (
    ": for LangChain's write ContextAssemblyRetriever.from_vectorstore(vectorstore), of langchain_ctxassembly, which "
    "keeps the scores, or put them into document.metadata['score']"
)
_NEAR_MISSES: Mapping[str, Mapping[str, str]] = {
    "hits": {
        "__await__": _AWAIT,
        "page_content": _DOCUMENTS,
        "get_content": _NODES,
        "hits": ": write assemble(retrieved.hits, query=query)",
        "__next__": ": write list(hits)",
    },
    "documents": {"page_content": ": write [document]", "get_content": _NODES, "__await__": _AWAIT},
    "nodes": {
        "page_content": _DOCUMENTS,
        "source_nodes": ": write response.source_nodes",
        "get_content": ": write NodeWithScore(node=node)",
        "__await__": _AWAIT,
    },
    "query": {"__await__": _AWAIT},
    "store": {
        "similarity_search": ": write store=VectorStoreNeighbors(vectorstore), or store=PGVectorNeighbors(vectorstore) "
        "for Postgres, both of langchain_ctxassembly",
        "docstore": ": write ContextAssemblyPostprocessor.from_index(index), or docstore=index.docstore",
        "get_ref_doc_info": ": write docstore=docstore in a ContextAssemblyPostprocessor, or "
        "store=DocstoreNeighbors(docstore)",
        "stores_text": ": write vector_store=vector_store in a ContextAssemblyPostprocessor, or "
        "store=VectorStoreNeighbors(...)",
        "append": ": write store=MemoryStore(chunks)",
        "invoke": ": neighbors come from a store and not from a retriever: give its vector store or docstore",
    },
    "index": {
        "similarity_search": ": write ContextAssemblyRetriever.from_vectorstore(vectorstore), or "
        "index=PostgresIndex.attach(vectorstore)",
        "as_query_engine": ": write AnswerQueryEngine.from_args(index), or "
        "index=PostgresIndex.attach(index.vector_store)",
        "fetch": ": write index=MemoryIndex(chunks)",
        "append": ": write index=MemoryIndex(chunks)",
    },
}
"""By parameter, the line for an object with an attribute; the first attribute that it has counts."""


def hint_for(parameter: str, given: Any) -> str:
    """Return the hint for `given` as `parameter`; empty if there is none."""
    return next((line for attribute, line in _NEAR_MISSES[parameter].items() if hasattr(given, attribute)), "")


def not_a_hit_error(given: object, position: int | None = None) -> InputError:
    """Return the error for `given`, passed as the hit at `position`, or as all hits if `position` is None."""
    where = "" if position is None else f" at place {position}"
    got = type(given).__name__ if position is None else safe_repr(given)
    if position is None and isinstance(given, str):
        hint = f": write assemble(hits, query={safe_repr(given, 40)})"
    elif _is_scored_document(given):
        hint = _SCORED_DOCUMENT
    else:
        hint = hint_for("hits", given) or ": write [Hit(Chunk(id, document_id, text), score), ...]"
    return InputError(f"hits must be a sequence of Hit, got {got}{where}{hint}")


def hint_for_documents(given: Any) -> str:
    """Return the hint for `given`, passed as LangChain's documents or as one of them."""
    if isinstance(given, str):
        return f": write (retriever | assembler).invoke({safe_repr(given, 40)})"
    wrong = (one for one in given if not hasattr(one, "page_content")) if isinstance(given, list) else [given]
    hints = (_SCORED_DOCUMENT if _is_scored_document(one) else hint_for("documents", one) for one in wrong)
    return next(filter(None, hints), "")


def _is_scored_document(given: object) -> bool:
    return isinstance(given, tuple) and len(given) == 2 and hasattr(given[0], "page_content")


def hint_for_config(given: Any, accepts_query: bool = True) -> str:
    """Return the hint for `config=given`; empty if there is none.

    `accepts_query` is False for objects that are created before a query is known.
    """
    if isinstance(given, str):
        text = str.__str__(given)  # a subclass may raise when it is compared
        if text in USES:
            return f": write config=AssemblyConfig.for_use({text!r})"
        return f": write query={safe_repr(given, 40)}" if accepts_query else ""
    if isinstance(given, int):
        return f": write config=AssemblyConfig(max_tokens={safe_repr(given, 40)})"
    # Only a plain dict: another mapping may raise, or never end.
    if type(given) is dict and all(type(name) is str for name in [*given][:3]):
        settings = ", ".join(f"{name}={safe_repr(value, 40)}" for name, value in [*given.items()][:3])
        return f": write config=AssemblyConfig({settings}{', ...' if len(given) > 3 else ''})"
    return ""


def hint_for_store(given: Any) -> str:
    """Return the hint for `store=given`; empty if there is none."""
    return f": write store={given.__name__}(...)" if isinstance(given, type) else hint_for("store", given)


def check_query(given: Any) -> None:
    """Check that the query of a retriever is a string.

    Raises:
        InputError: it is something else.
    """
    if not isinstance(given, str):
        texts = [key for key, value in given.items() if isinstance(value, str)] if type(given) is dict else []
        hint = f": write itemgetter({texts[0]!r}) | retriever" if texts else hint_for("query", given)
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
                hint = _hint_for_object(owner, own_names, given) or f". It takes {', '.join(sorted(own_names))}"
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
    is_ours = hasattr(given, "fetch") or hasattr(given, "afetch") or hasattr(given, "as_context")
    return hint_for_store(given) if "store" in known and not is_ours else ""
