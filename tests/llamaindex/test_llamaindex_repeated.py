"""Two files that share a section, split at other places: LlamaIndex's query hands the model the section once."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import Document, NodeWithScore

from ctxassembly import AssemblyConfig
from llamaindex_ctxassembly import ContextAssemblyPostprocessor

# What a caller's filter means for neighbors is tested in test_llamaindex_scope.py.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ctxassembly.errors.FilterNotSeenWarning"),
    pytest.mark.filterwarnings("ignore::ctxassembly.errors.NothingToJoinWarning"),
]
SENTENCES = [
    f"A {thing} that was found on the grounds is kept at the lodge for {weeks} weeks, where its owner may claim it."
    for weeks, thing in enumerate(["coat", "purse", "ring", "hat", "scarf", "glove", "walking stick"], start=2)
]
OWN = {
    "park.txt": "The park is open until dusk. Dogs are kept on a leash.",
    "pool.txt": "The pool is open in summer. Whoever swims alone does so at their own risk. Music is not allowed.",
}


def retrieved(**options: Any) -> list[NodeWithScore]:
    """What the query engine's postprocessor is left with; all nodes of both files were retrieved."""
    nodes = []
    for (name, own), size in zip(OWN.items(), (90, 120), strict=True):
        text = f"{own} {' '.join(SENTENCES)} Of {name} that is all."
        document = Document(text=text, metadata={"file_name": name}, doc_id=name)
        nodes += SentenceSplitter(chunk_size=size, chunk_overlap=0).get_nodes_from_documents([document])
    texts = [{node.get_content() for node in nodes if node.ref_doc_id == name} for name in OWN]
    assert not texts[0] & texts[1]  # no node is a copy of another one
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=4))
    found = index.as_retriever(similarity_top_k=len(nodes)).retrieve("What becomes of a lost ring?")
    postprocessor = ContextAssemblyPostprocessor(config=AssemblyConfig(order="documents", **options))
    return postprocessor.postprocess_nodes(found, query_str="What becomes of a lost ring?")


@pytest.mark.parametrize("dedup", ["exact", "near"])
def test_a_section_that_two_files_share_stands_once(dedup: Any) -> None:
    nodes = retrieved(dedup=dedup)
    text = "\n\n".join(each.text for each in nodes)
    assert {sentence: text.count(sentence) for sentence in SENTENCES} == dict.fromkeys(SENTENCES, 1)
    assert all(own in text for own in OWN.values())
    assert all(sentence in nodes[0].text for sentence in SENTENCES)


def test_the_trace_says_where_it_stands() -> None:
    nodes = retrieved()
    told = [each for each in nodes[0].node.metadata["trace"]["decisions"] if each["reason"] == "repeated"]
    assert told
    assert all(each["because_of"] in nodes[0].node.metadata["chunk_ids"] for each in told)


def test_switched_off_it_stands_in_both() -> None:
    text = "\n\n".join(each.text for each in retrieved(dedup="none"))
    assert all(text.count(sentence) == 2 for sentence in SENTENCES)
