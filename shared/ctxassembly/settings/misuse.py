"""What to write instead of what was written: the second half of the errors that meet who begins.

What was handed in is told by what it can do: no framework is imported for an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from ctxassembly.errors import ConfigError, InputError
from ctxassembly.settings.config import AssemblyConfig
from ctxassembly.shown import shown


def not_a_hit(given: object, place: int | None = None) -> InputError:
    """The error where `given` stands in the place of a hit, or of all hits if that is None."""
    where = "" if place is None else f" at place {place}"
    what = type(given).__name__ if place is None else shown(given)
    return InputError(f"hits must be a sequence of Hit, got {what}{where}{_instead_of_hits(given)}")


def not_a_document(given: Any) -> str:
    """What to write in place of `given`, handed in as LangChain's documents or one of them, as the end of an error."""
    if isinstance(given, (list, tuple)):
        pair = len(given) == 2 and _is_document(given[0]) and not _is_document(given[1])
        return _instead_of_hits(given) if pair else next(filter(None, map(not_a_document, given)), "")
    return _instead_of_hits(given) if hasattr(given, "get_content") else ""


def not_a_node(given: Any) -> str:
    """The same for LlamaIndex's nodes."""
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


def wrong_config(given: Any) -> str:
    """What to write in place of `config=given`, as the end of an error; nothing if that isn't known."""
    if isinstance(given, str):
        return f": write query={shown(given, 40)}"
    if isinstance(given, int):
        return f": write config=AssemblyConfig(max_tokens={shown(given, 40)})"
    if type(given) is dict and all(type(name) is str for name in [*given][:3]):  # any other may raise, or not end
        settings = ", ".join(f"{name}={shown(value, 40)}" for name, value in [*given.items()][:3])
        return f": write config=AssemblyConfig({settings}{', ...' if len(given) > 3 else ''})"
    return ""


def wrong_store(given: Any) -> str:
    """What to write in place of `store=given`, as the end of an error; nothing if that isn't known."""
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
    """Nothing, if `given` can be asked for neighbours, or is None.

    Raises:
        ConfigError: it can't.
    """
    if not (given is None or hasattr(given, "fetch") or hasattr(given, "afetch")):
        raise ConfigError("store", "an object with fetch(refs) or afetch(refs)", given, wrong_store(given))


def check_parameters(owner: str, given: Mapping[str, Any], known: Iterable[str], config: str) -> None:
    """Nothing, if all that is `given` to `owner` are parameters of it, which are `known`.

    `config` is what to write where a setting was given, with {} for the config.

    Raises:
        ConfigError: something else is given.
    """
    known = set(known)
    settings = {each.name for each in fields(AssemblyConfig)}
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
