"""Near misses: what callers pass most often in place of the right object, and the line to write instead.

Objects are recognized by an attribute, so that no framework is imported for an error. The names that published systems
give to settings are in `PUBLISHED_NAMES`, beside the settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import wraps
from typing import Any, TypeVar

from ctxassembly.config.assembly import USES, AssemblyConfig
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr

T = TypeVar("T")
_NEAR_MISSES: Mapping[str, Mapping[str, str]] = {
    "hits": {
        "page_content": "ContextAssembler().as_context().invoke(documents), of langchain_ctxassembly",
        "get_content": "ContextAssemblyPostprocessor().context(nodes), of llamaindex_ctxassembly",
        "hits": "assemble(retrieved.hits, query=query)",
    },
    "nodes": {"source_nodes": "response.source_nodes", "get_content": "NodeWithScore(node=node)"},
    "store": {
        "similarity_search": "store=VectorStoreNeighbors(vectorstore), of langchain_ctxassembly",
        "docstore": "ContextAssemblyPostprocessor.from_index(index)",
        "get_ref_doc_info": "docstore=docstore in a ContextAssemblyPostprocessor",
        "stores_text": "vector_store=vector_store in a ContextAssemblyPostprocessor",
        "append": "store=MemoryStore(chunks)",
    },
    "retriever": {"similarity_search": "ContextAssemblyRetriever.from_vectorstore(vectorstore)"},
    "index": {
        "similarity_search": "index=PostgresIndex.attach(vectorstore)",
        "as_query_engine": "AnswerQueryEngine.from_args(index)",
        "fetch": "index=MemoryIndex(chunks)",
        "append": "index=MemoryIndex(chunks)",
    },
    "config": {"keys": "config=AssemblyConfig(**settings)"},
}
"""By parameter, the line for an object with an attribute; the first attribute that it has counts."""


def hint_for(parameter: str, given: Any) -> str:
    """Return the hint for `given` as `parameter`; empty if there is none."""
    if parameter == "config" and type(given) is str and given in USES:
        return f": write config=AssemblyConfig.for_use({given!r})"
    lines = _NEAR_MISSES.get(parameter, {})
    line = next((line for attribute, line in lines.items() if hasattr(given, attribute)), None)
    return f": write {line}" if line else ""


def not_a_hit_error(given: object, position: int | None = None) -> InputError:
    """Return the error for `given`, passed as the hit at `position`, or as all hits if `position` is None."""
    where = "" if position is None else f" at place {position}"
    hint = hint_for("hits", given) or ": write [Hit(Chunk(id, document_id, text), score), ...]"
    return InputError(f"hits must be a sequence of Hit, got {safe_repr(given)}{where}{hint}")


def check_store(given: Any) -> None:
    """Check that `given` has `fetch` or `afetch`, or is None.

    Raises:
        ConfigError: it has neither.
    """
    if isinstance(given, type) or not (given is None or hasattr(given, "fetch") or hasattr(given, "afetch")):
        raise ConfigError("store", "an object with fetch(refs) or afetch(refs)", given, hint_for("store", given))


def unknown_parameter(owner: str, name: str) -> ConfigError:
    """Return the error for a parameter that `owner` doesn't have."""
    hint = ": write config=AssemblyConfig(...)" if name in AssemblyConfig.__dataclass_fields__ else ""
    return ConfigError.worded(name, f"{owner}() has no parameter {name!r}{hint}")


def raises_config_errors(cls: type[T]) -> type[T]:
    """Return the pydantic class `cls`, whose constructor raises ConfigError for what pydantic refuses."""
    init: Any = cls.__init__

    @wraps(init)
    def construct(self: Any, *args: Any, **settings: Any) -> None:
        try:
            init(self, *args, **settings)
        except ValueError as error:
            if not hasattr(error, "errors"):
                raise
            raise _from_validation(cls.__name__, error.errors()[0]) from None

    cls.__init__ = construct  # type: ignore[method-assign]
    return cls


def _from_validation(owner: str, refused: Mapping[str, Any]) -> Exception:
    """Return pydantic's first error as one of ours."""
    if isinstance(own := refused.get("ctx", {}).get("error"), Exception):
        return own
    name = str(refused["loc"][0])
    if refused["type"] == "extra_forbidden":
        return unknown_parameter(owner, name)
    if refused["type"] == "missing":
        return ConfigError.worded(name, f"{owner}() needs {name}=")
    allowed, given = refused["msg"].removeprefix("Input should be "), refused["input"]
    return ConfigError(name, allowed, given, hint_for(name, given))
