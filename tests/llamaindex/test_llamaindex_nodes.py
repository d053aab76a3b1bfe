import math
from typing import Any

import pytest
from llama_index.core.schema import (
    ImageNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
    TextNode,
)

from ctxassembly import AssemblyConfig, MetadataKeys
from llamaindex_ctxassembly import ContextAssemblyPostprocessor
from llamaindex_ctxassembly.convert.nodes import is_media, to_chunk, to_hits
from llamaindex_samples import HOSTILE, document

KEYS = MetadataKeys()


def node(metadata: dict[str, Any] | None = None, **fields: Any) -> TextNode:
    return TextNode(id_="n", text="Text.", metadata=metadata or {}, **fields)


def test_a_chunk_has_the_source_as_document_and_the_links_of_its_node() -> None:
    chunk = to_chunk(document("A")[1], KEYS)

    assert (chunk.id, chunk.document_id, chunk.prev_id, chunk.next_id) == ("A-1", "A", "A-0", "A-2")


def test_the_first_chunk_of_a_document_has_no_previous_one() -> None:
    assert to_chunk(document("A")[0], KEYS).prev_id is None


def test_the_text_comes_without_metadata_whatever_the_templates_say() -> None:
    hostile = node(HOSTILE, text_template="<<{metadata_str}>> {content}", metadata_template="{key}")

    assert hostile.get_content(MetadataMode.LLM) != "Text."
    assert to_chunk(hostile, KEYS).text == "Text."


@pytest.mark.parametrize(
    ("metadata", "keys", "expected"),
    [
        ({"document_id": "D"}, KEYS, "D"),
        ({"ref_doc_id": "R"}, KEYS, "R"),
        ({"file_path": "/f"}, MetadataKeys(document_id="file_path"), "/f"),
        ({}, KEYS, None),
    ],
)
def test_without_a_source_the_metadata_name_the_document(
    metadata: dict[str, Any], keys: MetadataKeys, expected: str | None
) -> None:
    assert to_chunk(node(metadata), keys).document_id == expected


def test_the_source_goes_before_the_metadata() -> None:
    first = document("A", metadata={"document_id": "other"})[0]

    assert to_chunk(first, KEYS).document_id == "A"


def test_a_relationship_that_is_a_list_is_no_link_and_no_error() -> None:
    many = [RelatedNodeInfo(node_id="x"), RelatedNodeInfo(node_id="y")]
    odd = node(relationships={NodeRelationship.SOURCE: many, NodeRelationship.NEXT: many})

    chunk = to_chunk(odd, KEYS)

    assert chunk.document_id is None
    assert chunk.next_id is None


@pytest.mark.parametrize("index", [7, "7", 7.0, "seven"])
def test_an_index_is_passed_on_as_it_is(index: object) -> None:
    assert to_chunk(node({"chunk_index": index}), KEYS).index is index


def test_the_offset_is_the_nodes_own_else_that_of_the_metadata() -> None:
    assert to_chunk(node({"start_index": 5}, start_char_idx=0), KEYS).start == 0
    assert to_chunk(node({"start_index": 5}), KEYS).start == 5


def test_a_score_in_the_metadata_counts_only_where_the_node_has_none() -> None:
    with_metadata = node({"rerank_score": 0.2})

    assert to_hits(NodeWithScore(node=with_metadata, score=0.0), KEYS)[0].score == 0.0
    assert to_hits(NodeWithScore(node=with_metadata), KEYS)[0].score == 0.2
    assert to_hits(NodeWithScore(node=node()), KEYS)[0].score is None
    assert math.isnan(to_hits(NodeWithScore(node=node(), score=math.nan), KEYS)[0].score or 0)


PIXEL = "aGVsbG8="


@pytest.mark.parametrize(
    ("media", "expected"),
    [
        (ImageNode(image=PIXEL), True),
        (ImageNode(image_path="/nowhere.png"), True),
        (ImageNode(image=PIXEL, text="A loom."), False),
        (ImageNode(), False),
        (Node(audio_resource=MediaResource(data=b"sound")), True),
        (Node(text_resource=MediaResource(text="Said."), audio_resource=MediaResource(data=b"sound")), False),
        (TextNode(text=" "), False),
    ],
)
def test_media_are_nodes_with_something_to_see_or_hear_and_nothing_to_read(media: Any, expected: bool) -> None:
    assert is_media(NodeWithScore(node=media)) is expected


def test_what_a_node_keeps_from_the_llm_is_not_written() -> None:
    said = {"author": "J.", "year": 2020, "page_summary": "Sum.", "file_name": "x.pdf"}
    kept = TextNode(text="Text.", metadata=said)
    kept.excluded_llm_metadata_keys = ["author", "page_summary", "file_name"]
    config = AssemblyConfig(header_keys=("author", "year"))
    context = ContextAssemblyPostprocessor(config=config).context([NodeWithScore(node=kept)])
    assert context.text == "[1] Source: unknown\nyear: 2020\nText."
    assert context.citations[0].source == "x.pdf"
    kept.excluded_llm_metadata_keys = []
    context = ContextAssemblyPostprocessor(config=config).context([NodeWithScore(node=kept)])
    assert context.text == "[1] Source: x.pdf\nauthor: J.\nyear: 2020\n[Page context: Sum.]\nText."
