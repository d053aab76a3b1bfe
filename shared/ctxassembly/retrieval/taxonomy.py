"""A taxonomy: the names of a field, their synonyms, and how they are related.

A patient asks for the "huidarts", the documents say "Dermatologie". The names that the words of a question refer to are
appended to it, so that vector and keyword search find both; the user's own words stay.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from string import Formatter
from types import MappingProxyType
from typing import Any, NamedTuple

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.filters import as_predicate, is_filter
from ctxassembly.errors import ConfigError
from ctxassembly.retrieval.word_forms import LIST_PHRASES, compound_ends, singular_forms
from ctxassembly.text.words import strip_accents, words

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A thing with a name: a department, a condition, a doctor.

    >>> skin = Node("derm", "department", "Dermatologie", ("huidarts",))
    >>> Taxonomy([skin]).resolve("Is de huidarts er?").names
    ('Dermatologie',)
    """

    id: str
    type: str
    name: str
    aliases: tuple[str, ...] = ()
    """Other words for it: synonyms, abbreviations, irregular plurals. Case and accents don't count; regular Dutch,
    German and English plurals, and compounds that end in it, are found by themselves."""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Values for filters and for templates of facts. Under a filter a node without any is in no list."""

    def __post_init__(self) -> None:
        for name in ("id", "type", "name"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise ConfigError(f"node.{name}", "a non-empty string", getattr(self, name))
        if isinstance(self.aliases, str) or not all(isinstance(alias, str) for alias in self.aliases):
            raise ConfigError("node.aliases", "a sequence of strings", self.aliases)
        object.__setattr__(self, "aliases", tuple(self.aliases))


@dataclass(frozen=True, slots=True)
class Relation:
    """A typed relation: a department HANDLES a condition, a doctor WORKS_IN a department.

    >>> nodes = [Node("card", "department", "Cardiologie"), Node("hf", "condition", "Hartfalen")]
    >>> taxonomy = Taxonomy(nodes, [Relation("card", "HANDLES", "hf")])
    >>> [(relation.type, other.name) for relation, other in taxonomy.related(nodes[0])]
    [('HANDLES', 'Hartfalen')]
    """

    source_id: str
    type: str
    target_id: str


class Resolution(NamedTuple):
    """The meaning of a query by a taxonomy."""

    nodes: tuple[Node, ...]
    """Those that the query names, in its order, each once."""
    names: tuple[str, ...]
    """To be appended to the query: of the nodes and of what they lead to, without those that it has already."""
    implied: tuple[Node, ...] = ()
    """Those that they lead to and that the query doesn't name."""


UNRESOLVED = Resolution((), ())


@dataclass(frozen=True, slots=True)
class ListRule:
    """When the full list of what belongs to an entity is injected: intent, phrase and entity have to come together.

    >>> from ctxassembly import RetrievalConfig, retrieve
    >>> from ctxassembly.retrieval import Question
    >>> doctors = [Node("a", "doctor", "Dr. Abel"), Node("b", "doctor", "Dr. Bo")]
    >>> nodes = [Node("card", "department", "Cardiology"), *doctors]
    >>> work_there = [Relation(doctor.id, "WORKS_IN", "card") for doctor in doctors]
    >>> taxonomy = Taxonomy(nodes, work_there, lists=ListRule(intents=("doctors",), types=("doctor",)))
    >>> question = Question("All doctors of cardiology?", intent="doctors")
    >>> for hit in retrieve(question, RetrievalConfig(strategy="graph"), taxonomy=taxonomy).hits:
    ...     print(hit.chunk.text)
    Cardiology (2):
    - Dr. Abel
    - Dr. Bo
    """

    intents: tuple[str, ...] = ("list",)
    """The labels of your own classifier that mean a list."""
    phrases: tuple[str, ...] = LIST_PHRASES
    """Regular expressions, of which one has to be found in the question. Both are compared in small letters without
    accents. The default has English, Dutch, German, French and Spanish ones: "all", "every", "list", and "which" before
    a plural ("welke artsen", not "welke arts")."""
    types: tuple[str, ...] = ()
    """The types of nodes in a list where the question names no type; empty means all that is related."""

    def __post_init__(self) -> None:
        for name in ("intents", "phrases", "types"):
            value = getattr(self, name)
            if not isinstance(value, tuple) or not all(isinstance(alias, str) for alias in value):
                raise ConfigError(f"lists.{name}", "a tuple of strings", value)
        for phrase in self.phrases:
            try:
                re.compile(phrase)
            except re.error as error:
                raise ConfigError("lists.phrases", f"made of regular expressions ({error})", phrase) from error


class Taxonomy:
    """Nodes and relations, ready for looking up the words of a query.

    Experimental, like `strategy="graph"`, which searches a taxonomy alone.

    >>> skin = Node("derm", "department", "Dermatologie", ("huidarts", "dermatoloog"))
    >>> heart = Node("card", "department", "Cardiologie", ("hartspecialist",))
    >>> failure = Node("hf", "condition", "Hartfalen")
    >>> taxonomy = Taxonomy([skin, heart, failure], [Relation("card", "HANDLES", "hf")])
    >>> taxonomy.resolve("Heeft de Huidarts spreekuur?").names, taxonomy.resolve("hartfalen").names
    (('Dermatologie',), ('Cardiologie',))

    It may come out of plain data (`from_dict`), such as a file of JSON, or two tables of PostgreSQL
    (`ctxassembly.stores.postgres.read_taxonomy`).
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        relations: Iterable[Relation] = (),
        *,
        name: str = "taxonomy",
        triggered_by: Sequence[str] = ("HANDLES",),
        type_words: Mapping[str, Sequence[str]] = MappingProxyType({}),
        lists: ListRule = ListRule(),
        statements: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Build a taxonomy from `nodes` and `relations`.

        Args:
            nodes: with an id each of its own.
            relations: between nodes.
            name: what lists and entities are cited as.
            triggered_by: types of relations whose target also implies their source: a question about a condition also
                finds the department that handles it.
            type_words: for each type of node the words that ask for it, `{"doctor": ("doctors", "who")}`. With an
                entity in the same question its related nodes of that type are found.
            lists: when a full list is injected.
            statements: for each type of node a template, `"Dr. {name} works in {department}."`. It names `name`, types
                of related nodes, and keys of the node's metadata; where one is missing, there is no fact.

        Raises:
            ConfigError: an id comes twice, or a relation has an id that no node has.
        """
        self.nodes: dict[str, Node] = {}
        for node in nodes:
            if node.id in self.nodes:
                raise ConfigError("nodes", "nodes with an id each of its own", node.id)
            self.nodes[node.id] = node
        self.name, self.triggered_by = name, frozenset(triggered_by)
        self.lists, self.statements = lists, dict(statements)
        for template in self.statements.values():
            _check_template(template)
        self.type_words = {kind: frozenset(map(normalized_words, said)) for kind, said in type_words.items()}
        self._relations_by_node = _group_relations(self.nodes, relations)
        self._nodes_by_phrase = _group_phrases(self.nodes.values())
        self._nodes_by_value = _group_values(self.nodes.values())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], **settings: Any) -> Taxonomy:
        """Build a taxonomy from dicts: nodes of id, type, name, aliases, metadata; relations of source, type, target.

        >>> node = {"id": "ecg", "type": "test", "name": "ECG", "aliases": ["hartfilmpje"]}
        >>> Taxonomy.from_dict({"nodes": [node]}).resolve("Doet een hartfilmpje pijn?").names
        ('ECG',)

        Raises:
            ConfigError: something is missing or of another kind.
        """
        try:
            nodes = [Node(**entry) for entry in data["nodes"]]
            relations = [
                Relation(relation["source"], relation["type"], relation["target"])
                for relation in data.get("relations", ())
            ]
        except (AttributeError, KeyError, TypeError) as error:
            form = "a mapping with nodes of id, type, name (aliases, metadata) and relations of source, type, target"
            raise ConfigError("taxonomy", f"{form} ({type(error).__name__}: {error})", data) from error
        return cls(nodes, relations, **settings)

    def related(self, node: Node) -> list[tuple[Relation, Node]]:
        """Return the relations of a node, and the nodes at their other ends."""
        return self._relations_by_node.get(node.id, [])

    def having_value(self, phrase: Words) -> list[tuple[str, Node]]:
        """Return the nodes with a metadata value of these words, each with the key."""
        return self._nodes_by_value.get(phrase, [])

    def members(self, node: Node) -> list[Node]:
        """Return the nodes that belong to a node: by a relation, or by its name, alias or id in their metadata."""
        phrases = dict.fromkeys(map(normalized_words, (node.name, *node.aliases, node.id)))
        named_in = (other for phrase in phrases for _, other in self.having_value(phrase) if other.type != node.type)
        return [*(other for _, other in self.related(node)), *named_in]

    def triggered_nodes(self, node: Node) -> list[Node]:
        """Return the nodes that a node also implies."""
        return [
            other
            for relation, other in self.related(node)
            if relation.type in self.triggered_by and relation.target_id == node.id
        ]

    def resolve(self, query: str, filter: Any = None) -> Resolution:
        """Resolve the words of `query`: whole words, longest phrases first, ignoring case and accents.

        A plural is resolved by its singular ("huidartsen" by the alias "huidarts"), and a compound by the alias that it
        ends in ("kinderhuidarts"), unless it is a name itself.

        Nodes whose metadata don't pass `filter` aren't there. Those without metadata are: their names are no secret.
        """
        query_words = normalized_words(query)
        is_allowed = node_predicate(filter) or (lambda _: False)

        def is_visible(node: Node) -> bool:
            return not node.metadata or is_allowed(node)

        found: dict[str, Node] = {}
        at = 0
        while at < len(query_words):
            nodes, length = self._match_phrase(query_words, at)
            for node in nodes:
                if is_visible(node):
                    found.setdefault(node.id, node)
            at += length
        led_to = (node for own in found.values() for node in (own, *self.triggered_nodes(own)))
        meant = {node.id: node for node in led_to if is_visible(node)}
        names = dict.fromkeys(node.name for node in meant.values())
        text = f" {' '.join(query_words)} "
        absent = (name for name in names if f" {' '.join(normalized_words(name))} " not in text)
        implied = (node for id_, node in meant.items() if id_ not in found)
        return Resolution(tuple(found.values()), tuple(absent), tuple(implied))

    def _match_phrase(self, query_words: Words, at: int) -> tuple[list[Node], int]:
        """Return the nodes that the words from `at` on name, and the number of words, 1 if they name none.

        The last word of a phrase may be a plural, and one that is the whole phrase the end of a compound.
        """
        for phrase, nodes in self._nodes_by_phrase.get(query_words[at], {}).items():
            if query_words[at : at + len(phrase)] == phrase:
                return nodes, len(phrase)
        for phrase, nodes in self._nodes_by_phrase.get(query_words[at], {}).items():
            *first, last = query_words[at : at + len(phrase)]
            if (*first, phrase[-1]) == phrase and phrase[-1] in singular_forms(last):
                return nodes, len(phrase)
        forms = (query_words[at], *singular_forms(query_words[at]))
        for form in chain(forms, *map(compound_ends, forms)):
            if named := self._nodes_by_phrase.get(form, {}).get((form,)):
                return named, 1
        return [], 1


def _check_template(template: Any) -> None:
    try:
        names = [name for _, name, _, _ in Formatter().parse(template) if name is not None]
    except (TypeError, ValueError):
        names = [""]
    if not all(name.isidentifier() for name in names):
        raise ConfigError("statements", "templates with names in braces", template)


def node_predicate(condition: Any) -> Callable[[Node], bool] | None:
    """Return the filter's test for nodes, which nodes without metadata never pass; None if unsupported here."""
    if not is_filter(condition):
        return lambda _: True
    try:
        is_allowed: Callable[[Chunk], bool] = as_predicate(condition)
    except ConfigError:  # of a database's own dialect
        return None
    return lambda node: bool(node.metadata) and is_allowed(Chunk(node.id, node.id, node.name, metadata=node.metadata))


def _group_relations(
    nodes: Mapping[str, Node], relations: Iterable[Relation]
) -> dict[str, list[tuple[Relation, Node]]]:
    """Group relations by node id, each with the node at its other end."""
    related: dict[str, list[tuple[Relation, Node]]] = defaultdict(list)
    for relation in relations:
        for own, other in ((relation.source_id, relation.target_id), (relation.target_id, relation.source_id)):
            if other not in nodes:
                raise ConfigError("relations", "relations between the ids of nodes", other)
            related[own].append((relation, nodes[other]))
    return related


def _group_phrases(nodes: Iterable[Node]) -> dict[str, dict[Words, list[Node]]]:
    """Group names and aliases of nodes by their first word; the longest first."""
    by_first_word: dict[str, dict[Words, list[Node]]] = defaultdict(dict)
    for node in nodes:
        for phrase in dict.fromkeys(map(normalized_words, (node.name, *node.aliases))):
            if phrase:
                by_first_word[phrase[0]].setdefault(phrase, []).append(node)
    return {
        first: dict(sorted(some.items(), key=lambda entry: -len(entry[0]))) for first, some in by_first_word.items()
    }


def _group_values(nodes: Iterable[Node]) -> dict[Words, list[tuple[str, Node]]]:
    """Group nodes by the words of their metadata values, texts or lists of texts, each with the key of the value."""
    by_value: dict[Words, list[tuple[str, Node]]] = defaultdict(list)
    for node in nodes:
        for key, value in node.metadata.items():
            for text in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(text, str):
                    by_value[normalized_words(text)].append((key, node))
    return dict(by_value)


def normalized_words(text: str) -> Words:
    """Return the words of `text` without case and accents."""
    return tuple(words(strip_accents(text)))
