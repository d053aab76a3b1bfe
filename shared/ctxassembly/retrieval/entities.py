"""The answers of a taxonomy itself: the nodes of a type that belong to what a question names, and lists of them.

"Which doctors work in Cardiology?" asks for nodes of a type that are related to an entity. "All cardiologists", asked
for with the intent to have a list, wants every one of them: then one chunk has the whole list, which no search over
texts can guarantee. This chunk is kept whole and needs no neighbors. If the intent, the phrase or the entity is
missing, there is no list, and nothing is looked up for it.

A list is a document of its own, and so are the nodes that belong to one entity, in their order: each has a label, as a
reader expects of an answer, and none has the gaps that the excerpts of a text have.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.filters import is_filter
from ctxassembly.data.retrieval import RetrievedChunk
from ctxassembly.retrieval.taxonomy import Node, Resolution, Taxonomy, Words, node_predicate, normalized_words
from ctxassembly.text.words import strip_accents

PUBLISHED_ENTITY_SCORE, PUBLISHED_INDIRECT_SCORE, PUBLISHED_LIST_SCORE = 0.95, 0.90, 0.90
"""The published scores: of an entity, of one by way of another (the doctors of a condition's department), of a list."""
MAX_TYPE_WORDS = 4
"""Words of the longest expression that asks for a type, and of the longest metadata value that is a constraint."""
MIN_VALUE_LETTERS = 4
"""Letters of the shortest metadata value that is a constraint: "dr" and "m" are in questions without meaning one."""


Member = tuple[Node, int]
"""A node and the number of steps to the node that it belongs to, 1 or 2."""
Group = tuple[tuple[Node, ...], list[Member]]
"""Members, and the nodes that they all belong to; to one of each type."""


class EntityAnswers(NamedTuple):
    """The answers of a taxonomy."""

    found: tuple[RetrievedChunk, ...] = ()
    """Chunks made of it: a list, or an entity each."""
    statements: tuple[str, ...] = ()
    """Sentences on the entities that the question names or finds."""
    notes: tuple[str, ...] = ()


def find_entities(
    taxonomy: Taxonomy, query: str, resolution: Resolution, intent: str | None = None, filter: Any = None
) -> EntityAnswers:
    """Return the answers of `taxonomy` to `query`, given its `resolution`; nothing if it resolves to no node.

    Under a filter only nodes whose own metadata pass it are named.
    """
    if not resolution.nodes:
        return EntityAnswers()
    normalized = strip_accents(query)
    has_phrase = any(re.search(phrase, normalized) for phrase in taxonomy.lists.phrases)
    wants_list = has_phrase and intent in taxonomy.lists.intents
    types = _requested_types(taxonomy, query)
    if not (wants_list or types or taxonomy.statements):
        return EntityAnswers()
    is_allowed = node_predicate(filter)
    if is_allowed is None:
        return EntityAnswers(notes=("taxonomy: the filter can't be tested on its nodes, so nothing of it is given",))
    wanted_types = types or (frozenset(taxonomy.lists.types) if wants_list else frozenset())
    named = [node for node in resolution.nodes if wants_list or (types and node.type not in types)]
    groups = _meet_constraints(taxonomy, named, wanted_types)
    untestable = {node.id for _, members in groups for node, _ in members if is_filter(filter) and not node.metadata}
    groups = [(anchors, [member for member in members if is_allowed(member[0])]) for anchors, members in groups]
    values = _named_values(taxonomy, query, is_allowed) if groups else {}
    groups = [(anchors, _meet_values(members, values)) for anchors, members in groups]
    if wants_list:
        found = [_list_chunk(taxonomy, anchors, members, is_allowed) for anchors, members in groups if members]
    else:
        # Each entity once, with the first node that it belongs to.
        first_anchors = {node.id: anchors for anchors, members in reversed(groups) for node, _ in members}
        found = []
        for anchors, members in groups:
            own = [member for member in members if first_anchors[member[0].id] is anchors]
            found += _entity_chunks(taxonomy, anchors, own, is_allowed)
    mentioned = [*resolution.nodes, *(node for _, members in groups for node, _ in members)]
    statements = [fact for node in mentioned if is_allowed(node) and (fact := _statement(taxonomy, node, is_allowed))]
    untested = f"taxonomy: {len(untestable)} of its nodes have no metadata to test the filter on, and are left out"
    return EntityAnswers(tuple(found), tuple(dict.fromkeys(statements)), (untested,) if untestable else ())


def _requested_types(taxonomy: Taxonomy, query: str) -> frozenset[str]:
    """Return the types that `query` asks for."""
    if not taxonomy.type_words:
        return frozenset()
    phrases = _phrases(query)
    return frozenset(kind for kind, wanted in taxonomy.type_words.items() if wanted & phrases)


def _phrases(query: str) -> frozenset[Words]:
    """Return all sequences of up to `MAX_TYPE_WORDS` words of `query`."""
    query_words = normalized_words(query)
    places = range(len(query_words))
    return frozenset(query_words[at : at + length] for at in places for length in range(1, MAX_TYPE_WORDS + 1))


def _meet_constraints(taxonomy: Taxonomy, named: Sequence[Node], types: frozenset[str]) -> list[Group]:
    """Return what belongs to the nodes that the question names.

    "Cardiology in Sint-Barbara" names a department and a place: nodes of two types are constraints, and what is found
    meets both. Of several nodes of one type either is enough. There is a group for each node of the first type that
    anything wanted belongs to.
    """
    by_type: dict[str, list[Node]] = defaultdict(list)
    for node in named:
        by_type[node.type].append(node)
    first = next((kind for kind in by_type if _is_related(taxonomy, kind, types)), None)
    if first is None:
        return []
    constraints = [nodes for kind, nodes in by_type.items() if kind != first and kind not in types]
    groups: list[Group] = []
    for anchor in by_type[first]:
        anchors: tuple[Node, ...] = (anchor,)
        members = _members(taxonomy, anchor, types)
        for nodes in constraints:
            met = _meeting(taxonomy, anchor, members, nodes, types)
            if met is not None:
                anchors, members = (*anchors, *nodes), met
        groups.append((anchors, members))
    return groups


def _meeting(
    taxonomy: Taxonomy, anchor: Node, members: list[Member], nodes: Sequence[Node], types: frozenset[str]
) -> list[Member] | None:
    """Return the members of `anchor` that belong to one of `nodes`, too; None if the taxonomy can't say.

    If it relates `nodes` to the type of `anchor` alone, as places to departments, the anchor has to belong to them.
    """
    found = {other.id for node in nodes for other, _ in _members(taxonomy, node, types)}
    met = [member for member in members if member[0].id in found]
    kind = nodes[0].type
    if met or (types and _is_related(taxonomy, kind, types)):
        return met
    if any(other.id == anchor.id for node in nodes for other, _ in _members(taxonomy, node, frozenset({anchor.type}))):
        return members
    return [] if _is_related(taxonomy, kind, frozenset({anchor.type}) if types else types) else None


def _named_values(taxonomy: Taxonomy, query: str, is_allowed: Callable[[Node], bool]) -> dict[str, set[str]]:
    """Return the ids of nodes with a metadata value that `query` has, by the key of the value.

    Names of nodes are constraints already, by `Taxonomy.members`.
    """
    holders: dict[str, set[str]] = defaultdict(set)
    for phrase in _phrases(query):
        if sum(map(len, phrase)) >= MIN_VALUE_LETTERS and not taxonomy.resolve(" ".join(phrase)).nodes:
            for key, node in taxonomy.having_value(phrase):
                if is_allowed(node):
                    holders[key].add(node.id)
    return holders


def _meet_values(members: list[Member], values: Mapping[str, Container[str]]) -> list[Member]:
    """Return the members with the metadata values that the question names, for each key that any member has."""
    for key, ids in values.items():
        if any(key in node.metadata for node, _ in members):
            members = [member for member in members if member[0].id in ids]
    return members


def _is_related(taxonomy: Taxonomy, kind: str, types: frozenset[str]) -> bool:
    """Return True if any node of type `kind` has members of `types` (any, if empty)."""
    return any(_members(taxonomy, node, types) for node in taxonomy.nodes.values() if node.type == kind)


def _members(taxonomy: Taxonomy, anchor: Node, types: frozenset[str]) -> list[Member]:
    """Return the nodes of `types` (any, if empty) that belong to `anchor`, or else to its targets; by name.

    With each the number of steps to it, 1 or 2.
    """
    for steps, anchors in ((1, [anchor]), (2, taxonomy.triggered_nodes(anchor))):
        found = {
            other.id: other
            for own in anchors
            for other in taxonomy.members(own)
            if other.id != anchor.id and (other.type in types if types else steps == 1)
        }
        if found:
            return [(node, steps) for node in sorted(found.values(), key=lambda node: (node.name, node.id))]
    return []


def _entity_chunks(
    taxonomy: Taxonomy, anchors: tuple[Node, ...], members: list[Member], is_allowed: Callable[[Node], bool]
) -> list[RetrievedChunk]:
    """Return a chunk for each member, in sequence in one document."""
    found = []
    ids, names = _ids_and_names(anchors)
    for place, (node, steps) in enumerate(members):
        text = _statement(taxonomy, node, is_allowed) or f"{node.name} ({node.type}): {', '.join(names)}"
        chunk = _taxonomy_chunk(taxonomy, node.id, text, (ids, place))
        score = PUBLISHED_ENTITY_SCORE if steps == 1 else PUBLISHED_INDIRECT_SCORE
        because_of = (*names, node.name)
        found.append(RetrievedChunk(chunk, 1.0, ("entities",), because_of=because_of, published_score=score))
    return found


def _list_chunk(
    taxonomy: Taxonomy, anchors: tuple[Node, ...], members: list[Member], is_allowed: Callable[[Node], bool]
) -> RetrievedChunk:
    lines = [_statement(taxonomy, node, is_allowed) or node.name for node, _ in members]
    ids, names = _ids_and_names(anchors)
    text = "\n".join((f"{', '.join(names)} ({len(members)}):", *(f"- {line}" for line in lines)))
    chunk = _taxonomy_chunk(taxonomy, f"list:{ids}", text, (f"list:{ids}", 0), keep_whole=True)
    return RetrievedChunk(chunk, 1.0, ("list",), because_of=names, published_score=PUBLISHED_LIST_SCORE)


def _ids_and_names(anchors: Iterable[Node]) -> tuple[str, tuple[str, ...]]:
    return "+".join(node.id for node in anchors), tuple(node.name for node in anchors)


def _taxonomy_chunk(taxonomy: Taxonomy, name: str, text: str, position: tuple[str, int], **metadata: Any) -> Chunk:
    """Return a chunk made from the taxonomy; `position` is its document's name and its index there."""
    flags = {"source": taxonomy.name, "no_neighbors": True, **metadata}
    document, index = position
    return Chunk(f"{taxonomy.name}:{name}", f"{taxonomy.name}:{document}", text, index, metadata=flags)


def _statement(taxonomy: Taxonomy, node: Node, is_allowed: Callable[[Node], bool]) -> str | None:
    """Return the sentence on `node` by the template of its type; None without a template or a value for it."""
    template = taxonomy.statements.get(node.type)
    if template is None:
        return None
    known: dict[str, str] = {key: str(value) for key, value in node.metadata.items() if value is not None}
    for _, other in taxonomy.related(node):
        if is_allowed(other):
            known[other.type] = f"{known[other.type]}, {other.name}" if other.type in known else other.name
    try:
        return template.format_map({**known, "name": node.name})
    except KeyError:
        return None
