"""Endings of the errors that beginners meet: the line to write instead.

A beginner hands in the object at hand: LangChain's documents for hits, a vector store for a store, a dict for a config.
The error recognises it and gives the line that works. Objects are told by their attributes, so no framework is imported
for an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from ctxassembly.config.assembly import USES, AssemblyConfig
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import shown


def not_a_hit(given: object, place: int | None = None) -> InputError:
    """The error for `given`, handed in as the hit at `place`, or as all hits if that is None."""
    where = "" if place is None else f" at place {place}"
    found = type(given).__name__ if place is None else shown(given)
    return InputError(f"hits must be a sequence of Hit, got {found}{where}{_instead_of_hits(given)}")


def not_a_document(given: Any) -> str:
    """The end of an error for `given`, handed in as LangChain's documents or as one of them."""
    if isinstance(given, (list, tuple)):
        # A document with its score, as `similarity_search_with_score` returns it; else the first odd one tells.
        pair = len(given) == 2 and _is_document(given[0]) and not _is_document(given[1])
        return _instead_of_hits(given) if pair else next(filter(None, map(not_a_document, given)), "")
    return _instead_of_hits(given) if hasattr(given, "get_content") else ""


def not_a_node(given: Any) -> str:
    """The end of an error for `given`, handed in as one of LlamaIndex's nodes with scores."""
    if _is_document(given):
        return _instead_of_hits(given)
    return ": write NodeWithScore(node=node)" if hasattr(given, "get_content") else ""


def _instead_of_hits(given: Any) -> str:
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
        return f": {_instead_of_a_chunk(given.chunk)}"
    return ": write Hit(Chunk(id, document_id, text), score)"


def _instead_of_a_chunk(given: Any) -> str:
    if _is_document(given) or hasattr(given, "get_content"):
        return "the adapters take documents and nodes as they are" + _instead_of_hits(given)
    return "write Hit(Chunk(id, document_id, text), score)"


def _is_document(given: Any) -> bool:
    return hasattr(given, "page_content") and hasattr(given, "metadata")


def wrong_config(given: Any, takes_query: bool = True) -> str:
    """The end of an error for `config=given`; empty if nothing better is known.

    `takes_query` is False of what is made before there is a query.
    """
    if isinstance(given, str):
        text = str.__str__(given)  # a subclass may raise when it is compared
        if text in USES:
            return f": write config=AssemblyConfig.for_use({text!r})"
        return f": write query={shown(given, 40)}" if takes_query else ""
    if isinstance(given, int):
        return f": write config=AssemblyConfig(max_tokens={shown(given, 40)})"
    # A dict alone: another mapping may raise, or never end.
    if type(given) is dict and all(type(name) is str for name in [*given][:3]):
        settings = ", ".join(f"{name}={shown(value, 40)}" for name, value in [*given.items()][:3])
        return f": write config=AssemblyConfig({settings}{', ...' if len(given) > 3 else ''})"
    return ""


def wrong_store(given: Any) -> str:
    """The end of an error for `store=given`; empty if nothing better is known."""
    if hasattr(given, "similarity_search") or hasattr(given, "get_by_ids"):
        return (
            ": write store=VectorStoreNeighbours(vectorstore), or store=PGVectorNeighbours(vectorstore) for Postgres, "
            "both of langchain_ctxassembly"
        )
    if hasattr(given, "as_query_engine") or hasattr(given, "docstore"):
        return ": write docstore=index.docstore, or vector_store=index.vector_store if that one stores the texts"
    if hasattr(given, "get_ref_doc_info"):
        return ": write docstore=docstore in a ContextAssemblyPostprocessor, or store=DocstoreNeighbours(docstore)"
    if hasattr(given, "stores_text"):
        return (
            ": write vector_store=vector_store in a ContextAssemblyPostprocessor, or store=VectorStoreNeighbours(...)"
        )
    if isinstance(given, (list, tuple)):
        return ": write store=MemoryStore(chunks)"
    if hasattr(given, "invoke") or hasattr(given, "retrieve"):
        return ": neighbours come from a store and not from a retriever: give its vector store or docstore"
    return ""


def check_store(given: Any) -> None:
    """Check that `given` has `fetch` or `afetch`, or is None.

    Raises:
        ConfigError: it has neither.
    """
    if not (given is None or hasattr(given, "fetch") or hasattr(given, "afetch")):
        raise ConfigError("store", "an object with fetch(refs) or afetch(refs)", given, wrong_store(given))


def check_parameters(owner: str, given: Mapping[str, Any], known: Iterable[str], config: str) -> None:
    """Check that `owner` knows all parameters that it was `given`.

    `config` is the line to write for a setting of `AssemblyConfig`, with {} in the place of the config.

    Raises:
        ConfigError: a parameter is not among the `known`. The error guesses the one that was meant.
    """
    known = set(known)
    settings = {setting.name for setting in fields(AssemblyConfig)}
    for name, value in given.items():
        if name in known:
            continue
        if name in settings:
            instead = "write " + config.format(f"AssemblyConfig({name}={shown(value, 40)})")
        elif found := wrong_store(value):
            instead = found.removeprefix(": ")
        elif near := get_close_matches(name, sorted(known | settings), 1):
            setting = config.format(f"AssemblyConfig({near[0]}={shown(value, 40)})")
            instead = "write " + (f"{near[0]}={shown(value, 40)}" if near[0] in known else setting)
        else:
            instead = f"it takes {', '.join(sorted(known))}"
        raise ConfigError(name, f"left out of {owner}()", value, f": {instead}")
