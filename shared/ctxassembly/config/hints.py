"""Hints at the end of common error messages: the line to write instead.

Beginners often pass the wrong kind of object: LangChain's documents as hits, a vector store as a store, a dict as a
config. The error recognizes the object and gives the line that works. Objects are recognized by their attributes, so no
framework is imported for an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from ctxassembly.config.assembly import USES, AssemblyConfig
from ctxassembly.data.validation import unknown_parameter
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr


def not_a_hit_error(given: object, position: int | None = None) -> InputError:
    """Return the error for `given`, passed as the hit at `position`, or as all hits if `position` is None."""
    where = "" if position is None else f" at place {position}"
    got = type(given).__name__ if position is None else safe_repr(given)
    return InputError(f"hits must be a sequence of Hit, got {got}{where}{_hint_for_hits(given)}")


def hint_for_documents(given: Any) -> str:
    """Return the hint for `given`, passed as LangChain's documents or as one of them."""
    if isinstance(given, (list, tuple)):
        # A document with its score, as `similarity_search_with_score` returns it; else the first item with a hint.
        pair = len(given) == 2 and _is_document(given[0]) and not _is_document(given[1])
        return _hint_for_hits(given) if pair else next(filter(None, map(hint_for_documents, given)), "")
    return _hint_for_hits(given) if hasattr(given, "get_content") else ""


def hint_for_node(given: Any) -> str:
    """Return the hint for `given`, passed as one of LlamaIndex's nodes with scores."""
    if _is_document(given):
        return _hint_for_hits(given)
    return ": write NodeWithScore(node=node)" if hasattr(given, "get_content") else ""


def _hint_for_hits(given: Any) -> str:
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
    if hasattr(given, "chunk"):
        return f": {_hint_for_chunk(given.chunk)}"
    return ": write Hit(Chunk(id, document_id, text), score)"


def _hint_for_chunk(given: Any) -> str:
    if _is_document(given) or hasattr(given, "get_content"):
        return "the adapters take documents and nodes as they are" + _hint_for_hits(given)
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
    if isinstance(given, int):
        return f": write config=AssemblyConfig(max_tokens={safe_repr(given, 40)})"
    # Only a plain dict: another mapping may raise, or never end.
    if type(given) is dict and all(type(name) is str for name in [*given][:3]):
        settings = ", ".join(f"{name}={safe_repr(value, 40)}" for name, value in [*given.items()][:3])
        return f": write config=AssemblyConfig({settings}{', ...' if len(given) > 3 else ''})"
    return ""


def hint_for_store(given: Any) -> str:
    """Return the hint for `store=given`; empty if there is none."""
    if hasattr(given, "similarity_search") or hasattr(given, "get_by_ids"):
        return (
            ": write store=VectorStoreNeighbors(vectorstore), or store=PGVectorNeighbors(vectorstore) for Postgres, "
            "both of langchain_ctxassembly"
        )
    if hasattr(given, "as_query_engine") or hasattr(given, "docstore"):
        return ": write docstore=index.docstore, or vector_store=index.vector_store if that one stores the texts"
    if hasattr(given, "get_ref_doc_info"):
        return ": write docstore=docstore in a ContextAssemblyPostprocessor, or store=DocstoreNeighbors(docstore)"
    if hasattr(given, "stores_text"):
        return ": write vector_store=vector_store in a ContextAssemblyPostprocessor, or store=VectorStoreNeighbors(...)"
    if isinstance(given, (list, tuple)):
        return ": write store=MemoryStore(chunks)"
    if hasattr(given, "invoke") or hasattr(given, "retrieve"):
        return ": neighbors come from a store and not from a retriever: give its vector store or docstore"
    return ""


def check_store(given: Any) -> None:
    """Check that `given` has `fetch` or `afetch`, or is None.

    Raises:
        ConfigError: it has neither.
    """
    if not (given is None or hasattr(given, "fetch") or hasattr(given, "afetch")):
        raise ConfigError("store", "an object with fetch(refs) or afetch(refs)", given, hint_for_store(given))


def check_parameters(owner: str, given: Mapping[str, Any], known: Iterable[str], config: str) -> None:
    """Check that `owner` accepts all parameters in `given`.

    `config` is the line to write for a setting of `AssemblyConfig`, with {} in place of the config.

    Raises:
        ConfigError: a parameter is not in `known`. The error suggests a similar one.
    """
    known = set(known)
    elsewhere = {
        setting.name: config.format(f"AssemblyConfig({setting.name}={{}})") for setting in fields(AssemblyConfig)
    }
    for name, value in given.items():
        if name not in known:
            if name not in elsewhere and (hint := hint_for_store(value)):
                raise ConfigError.unknown(owner, name, hint)
            raise unknown_parameter(owner, name, value, known, elsewhere)
