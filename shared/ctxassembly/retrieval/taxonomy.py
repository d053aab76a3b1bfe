"""A taxonomy: the names of a field, what people say for them, and how they are related."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from ctxassembly.data.retrieved import Found
from ctxassembly.retrieval.question import Question


@dataclass(frozen=True, slots=True)
class Node:
    """A thing with a name: a department, a condition, a doctor."""

    id: str
    type: str
    name: str
    aliases: tuple[str, ...] = ()
    """What people say for it: synonyms, abbreviations. Case and accents don't count."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A typed relation: a department HANDLES a condition, a doctor WORKS_IN a department."""

    source_id: str
    type: str
    target_id: str


class Resolution(NamedTuple):
    """What a query means by a taxonomy."""

    nodes: tuple[Node, ...]
    """Those that the query names, in its order, each once."""
    names: tuple[str, ...]
    """To be appended to the query: of the nodes and of what they lead to, without those that it has already."""
    words: Mapping[str, str]
    """For each node's id the words of the query that stand for it."""


UNRESOLVED = Resolution((), (), MappingProxyType({}))


class Taxonomy:
    """Nodes and relations, ready for looking up the words of a query."""

    def resolve(self, query: str) -> Resolution:
        """What the words of `query` mean."""
        raise NotImplementedError

    def entities(self, question: Question, resolution: Resolution) -> Sequence[Found]:
        """Chunks made of the taxonomy: facts of entities that the question asks for by type, and a full list."""
        raise NotImplementedError
