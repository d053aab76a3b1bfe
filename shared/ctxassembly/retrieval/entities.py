"""Entities: what a taxonomy itself answers, as chunks and as sentences.

"Which doctors work in Cardiology?" asks for nodes of a type that are related to an entity. "All cardiologists", asked
for with the intent to have a list, wants every one of them: then one chunk has the whole list, which no search over
texts can promise. It stands whole and needs no neighbours. If any of intent, phrase and entity is missing, there is no
list, and nothing was looked up for it.

A list is a document of its own, and so are the nodes that belong to one entity, in their order: each has a label, as a
reader expects of an answer, and none has the gaps that the excerpts of a text have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.filters import is_filter
from ctxassembly.data.retrieval import Channel, Found
from ctxassembly.retrieval.taxonomy import Node, Resolution, Taxonomy, node_test
from ctxassembly.text.words import unaccented, words

PUBLISHED_TYPED, PUBLISHED_LED, PUBLISHED_LIST = 0.95, 0.90, 0.90
"""The published scores: of an entity, of one by way of another (the doctors of a condition's department), of a list."""
MOST_WORDS = 4
"""Words of the longest expression that asks for a type."""


class Entities(NamedTuple):
    """The answers of a taxonomy."""

    found: tuple[Found, ...] = ()
    """Chunks made of it: a list, or an entity each."""
    facts: tuple[str, ...] = ()
    """Sentences on the entities that the question names or finds."""
    notes: tuple[str, ...] = ()


def entities(
    taxonomy: Taxonomy, query: str, resolution: Resolution, intent: str | None = None, filter: Any = None
) -> Entities:
    """The answers of `taxonomy` to `query`, which was resolved to `resolution`; nothing where that has no node.

    Under a filter only nodes whose own metadata pass it are named.
    """
    if not resolution.nodes:
        return Entities()
    wants_list = intent in taxonomy.lists.intents and _has_phrase(query, taxonomy.lists.phrases)
    types = _types(taxonomy, query)
    if not (wants_list or types or taxonomy.facts):
        return Entities()
    passes = node_test(filter)
    if passes is None:
        return Entities(notes=("taxonomy: the filter can't be tested on its nodes, so nothing of it is given",))
    wanted = types or (frozenset(taxonomy.lists.types) if wants_list else frozenset())
    asked = [
        (anchor, _members(taxonomy, anchor, wanted))
        for anchor in resolution.nodes
        if wants_list or (types and anchor.type not in types)
    ]
    groups = [(anchor, [member for member in members if passes(member[0])]) for anchor, members in asked]
    if wants_list:
        found = [_list(taxonomy, anchor, members, passes) for anchor, members in groups if members]
    else:
        first = {node.id: anchor for anchor, members in reversed(groups) for node, _ in members}
        own = [(anchor, [each for each in members if first[each[0].id] is anchor]) for anchor, members in groups]
        found = [one for anchor, members in own for one in _listed(taxonomy, anchor, members, passes)]
    named = [*resolution.nodes, *(node for _, members in groups for node, _ in members)]
    facts = [fact for node in named if passes(node) and (fact := _fact(taxonomy, node, passes))]
    bare = {node.id for _, members in asked if is_filter(filter) for node, _ in members if not node.metadata}
    notes = (f"taxonomy: {len(bare)} of its nodes have no metadata to test the filter on, and are left out",)
    return Entities(tuple(found), tuple(dict.fromkeys(facts)), notes if bare else ())


def _has_phrase(query: str, phrases: Iterable[str]) -> bool:
    asked = unaccented(query)
    return any(re.search(phrase, asked) for phrase in phrases)


def _types(taxonomy: Taxonomy, query: str) -> frozenset[str]:
    """The types that `query` asks for."""
    if not taxonomy.type_words:
        return frozenset()
    asked = words(unaccented(query))
    said = {tuple(asked[at : at + length]) for at in range(len(asked)) for length in range(1, MOST_WORDS + 1)}
    return frozenset(kind for kind, wanted in taxonomy.type_words.items() if wanted & said)


def _members(taxonomy: Taxonomy, anchor: Node, types: frozenset[str]) -> list[tuple[Node, int]]:
    """The nodes of `types` (any, if empty) that belong to `anchor`, or else to what it leads to; by name.

    With each the number of steps to it, 1 or 2.
    """
    for steps, anchors in ((1, [anchor]), (2, taxonomy.led_to(anchor))):
        found = {
            other.id: other
            for own in anchors
            for _, other in taxonomy.related(own)
            if other.id != anchor.id and (other.type in types if types else steps == 1)
        }
        if found:
            return [(node, steps) for node in sorted(found.values(), key=lambda node: (node.name, node.id))]
    return []


def _listed(
    taxonomy: Taxonomy, anchor: Node, members: list[tuple[Node, int]], passes: Callable[[Node], bool]
) -> list[Found]:
    """A chunk for each of the members, which follow each other in one document."""
    found = []
    for place, (node, steps) in enumerate(members):
        text = _fact(taxonomy, node, passes) or f"{node.name} ({node.type}): {anchor.name}"
        chunk = _chunk(taxonomy, node.id, text, (anchor.id, place))
        score = PUBLISHED_TYPED if steps == 1 else PUBLISHED_LED
        found.append(replace(_found("entities", chunk, (anchor, node)), published_score=score))
    return found


def _list(taxonomy: Taxonomy, anchor: Node, members: list[tuple[Node, int]], passes: Callable[[Node], bool]) -> Found:
    lines = [_fact(taxonomy, node, passes) or node.name for node, _ in members]
    text = "\n".join((f"{anchor.name} ({len(members)}):", *(f"- {line}" for line in lines)))
    name = f"list:{anchor.id}"
    found = _found("list", _chunk(taxonomy, name, text, (name, 0), keep_whole=True), (anchor,))
    return replace(found, published_score=PUBLISHED_LIST)


def _chunk(taxonomy: Taxonomy, name: str, text: str, place: tuple[str, int], **metadata: Any) -> Chunk:
    """A chunk made of the taxonomy, and cited as it; `place` is its document's name and its index there."""
    marks = {"source": taxonomy.name, "no_neighbours": True, **metadata}
    document, index = place
    return Chunk(f"{taxonomy.name}:{name}", f"{taxonomy.name}:{document}", text, index, metadata=marks)


def _found(channel: Channel, chunk: Chunk, because_of: Iterable[Node]) -> Found:
    return Found(chunk, 1.0, (channel,), because_of=tuple(node.name for node in because_of))


def _fact(taxonomy: Taxonomy, node: Node, passes: Callable[[Node], bool]) -> str | None:
    """The sentence on `node` by the template of its type; None without one, or where it lacks what that names."""
    template = taxonomy.facts.get(node.type)
    if template is None:
        return None
    known: dict[str, str] = {key: str(value) for key, value in node.metadata.items() if value is not None}
    for _, other in taxonomy.related(node):
        if passes(other):
            known[other.type] = f"{known[other.type]}, {other.name}" if other.type in known else other.name
    try:
        return template.format_map({**known, "name": node.name})
    except KeyError:
        return None
