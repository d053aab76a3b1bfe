"""What LlamaIndex's own tests ask of the parts that we stand in for, asked of ours.

Restated from llama-index-core's tests of PrevNextNodePostprocessor and LongContextReorder. Where ours answers
otherwise, the row says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from llama_index.core.postprocessor import LongContextReorder
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore

from ctxassembly import AssemblyConfig
from ctxassembly.errors import ConfigError
from llamaindex_ctxassembly import ContextAssemblyPostprocessor

# They are about other things: nobody here has a filter.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning")


def chain(ids: Sequence[str]) -> list[TextNode]:
    """Nodes that are linked to each other, and to no document."""
    nodes = [TextNode(id_=each, text=f"This is section {at} of {len(ids)}.") for at, each in enumerate(ids)]
    for before, after in pairwise(nodes):
        before.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=after.node_id)
        after.relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=before.node_id)
    return nodes


def over(nodes: Sequence[TextNode], window: int) -> ContextAssemblyPostprocessor:
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    return ContextAssemblyPostprocessor(docstore=docstore, config=AssemblyConfig(window=window))


def ids(labeled: Sequence[NodeWithScore]) -> list[str]:
    return [each for label in labeled for each in label.metadata["chunk_ids"]]


BOTH_SIDES = "a window has two sides: what comes before a hit says what it is about"
WIDEST = "a window is 3 at most: what is farther away is somewhere else"


@pytest.mark.parametrize(
    ("mode", "steps", "hits", "theirs", "ours", "difference"),
    [
        ("next", 2, [0], [0, 1, 2], [0, 1, 2], None),
        ("next", 1, [1, 2], [1, 2, 3], [0, 1, 2, 3], BOTH_SIDES),
        ("next", 1, [2, 0], [0, 1, 2, 3], [0, 1, 2, 3], None),
        ("previous", 1, [1, 2], [0, 1, 2], [0, 1, 2, 3], BOTH_SIDES),
        ("previous", 1, [3, 0, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4], BOTH_SIDES),
        ("both", 1, [2], [1, 2, 3], [1, 2, 3], None),
        ("both", 4, [2], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4], WIDEST),
        ("both", 1, [0, 4], [0, 1, 3, 4], [0, 1, 3, 4], None),
        ("both", 0, [0, 4], [0, 4], [0, 4], None),
        ("both", 1, [3, 0], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4], None),
        ("both", 1, [0, 3], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4], None),
        ("both", 1, [3, 1, 3], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4], None),
        ("both", 1, [], [], [], None),
    ],
)
def test_prev_next_around_hits(
    mode: str, steps: int, hits: list[int], theirs: list[int], ours: list[int], difference: str | None
) -> None:
    nodes = chain(["z", "a", "x", "b", "y"])
    found = over(nodes, min(steps, 3)).postprocess_nodes([NodeWithScore(node=nodes[at], score=1.0) for at in hits])
    assert ids(found) == [nodes[at].node_id for at in ours]
    assert set(theirs) <= set(ours)
    assert (theirs == ours and steps <= 3) == (difference is None)


@pytest.mark.parametrize("window", [-1, 4, "both"])
def test_prev_next_refuses_what_is_no_window(window: Any) -> None:
    with pytest.raises(ConfigError, match="window must be"):
        AssemblyConfig(window=window)


@pytest.mark.parametrize("side", [NodeRelationship.PREVIOUS, NodeRelationship.NEXT])
def test_prev_next_links_of_one_side_order_the_nodes(side: NodeRelationship) -> None:
    nodes = chain(["z", "a", "x", "b"])
    for node in nodes:
        node.relationships = {kind: related for kind, related in node.relationships.items() if kind == side}
    hits = [NodeWithScore(node=nodes[at]) for at in (3, 0, 1, 2)]
    assert ids(over([], 0).postprocess_nodes(hits)) == ["z", "a", "x", "b"]


@pytest.mark.parametrize(("first", "second"), [(0.9, 0.8), (0.0, 0.8), (None, 0.8)])
def test_prev_next_hits_keep_their_scores(first: float | None, second: float) -> None:
    """Theirs leaves neighbors without a score; ours gives them half of their best hit's a step, in the trace."""
    nodes = chain("012")
    hits = [NodeWithScore(node=nodes[1], score=first), NodeWithScore(node=nodes[0], score=second)]
    (found,) = over(nodes, 1).postprocess_nodes(hits)
    assert ids([found]) == ["0", "1", "2"]
    assert found.metadata["scores"] == {"0": second} | ({} if first is None else {"1": first})
    assert found.score == max(first or 0.0, second)
    told = {each["chunk_id"]: each["score"] for each in found.metadata["trace"]["decisions"]}
    assert told == {"0": second, "1": first, "2": None if first is None else first / 2}


def test_prev_next_chains_that_are_apart_stay_apart_in_the_order_of_their_best() -> None:
    nodes, others = chain("ABCDEF"), chain(["other-2", "other-1"])
    hits = [nodes[4], others[1], nodes[0], nodes[5], others[0], nodes[1]]
    found = over([], 0).postprocess_nodes([NodeWithScore(node=node) for node in hits])
    assert [each.metadata["chunk_ids"] for each in found] == [["E", "F"], ["other-2", "other-1"], ["A", "B"]]


@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")  # a node that is linked to itself is alone
@pytest.mark.parametrize("names", ["S", "ABC"])
@pytest.mark.parametrize("window", [0, 3])
def test_prev_next_a_ring_of_links_gives_each_node_once(names: str, window: int) -> None:
    nodes = chain(names)
    nodes[0].relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=nodes[-1].node_id)
    nodes[-1].relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=nodes[0].node_id)
    assert sorted(ids(over(nodes, window).postprocess_nodes([NodeWithScore(node=node) for node in nodes]))) == [*names]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 0, 1, 2)])
def test_prev_next_links_that_contradict_each_other_lose_no_node(order: tuple[int, ...]) -> None:
    other = TextNode(id_="D", text="This one says that it follows, too.")
    other.relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id="B")
    nodes = [*chain("ABC"), other]
    found = over([], 0).postprocess_nodes([NodeWithScore(node=nodes[at]) for at in order])
    assert sorted(ids(found)) == [*"ABCD"]


SCORES = (0.7, 0.8, 1.0, 0.2, 0.9, 1.5, 0.1, 1.6, 3.0, 0.4)


@pytest.mark.parametrize(
    ("order", "by", "difference"),
    [
        ("interleaved", "score", None),
        ("edges", "score", "only the best two stand at the ends, the rest in their order: published so"),
        ("interleaved", "rank", "the order handed in is a retriever's or a reranker's: scores don't change it"),
    ],
)
def test_long_context_reorder_has_the_best_at_the_ends(order: Any, by: str, difference: str | None) -> None:
    nodes = [
        NodeWithScore(node=TextNode(id_=f"{at}", text=f"Fact {at}."), score=score) for at, score in enumerate(SCORES)
    ]
    given = sorted(nodes, key=lambda each: -(each.score or 0)) if by == "score" else nodes
    found = ContextAssemblyPostprocessor(config=AssemblyConfig(order=order)).postprocess_nodes(given)

    ends = {each.node_id for each in (*found[:2], *found[-2:])}
    best = {node.node_id for node in sorted(nodes, key=lambda each: -(each.score or 0))[:4]}
    assert (ends == best) == (difference is None)
    assert len(found) == len(nodes)
    theirs = LongContextReorder().postprocess_nodes(nodes)
    assert {each.node_id for each in (*theirs[:2], *theirs[-2:])} == best
