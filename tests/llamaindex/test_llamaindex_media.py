"""Images, audio and video keep their paths through the assembly, and none is lost silently."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.base.llms.types import AudioBlock, ChatMessage, ChatResponse, ImageBlock, LLMMetadata, TextBlock
from llama_index.core.llms import MockLLM
from llama_index.core.schema import ImageNode, NodeWithScore, TextNode
from pydantic import PrivateAttr

from ctxassembly import AssemblyConfig
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, resolve
from llamaindex_samples import Answering, WordEmbedding

# They are about other things: nobody here has a filter, and pictures stand alone.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning"),
    pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning"),
]

PIXEL = b"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
QUESTION = "What does the loom look like?"
PATH = {"image_path": "/pictures/loom.png", "image_mimetype": "image/png"}


@pytest.fixture
def picture(tmp_path: Path) -> str:
    path = tmp_path / "loom.png"
    path.write_bytes(b64decode(PIXEL))
    return str(path)


def captioned(name: str = "loom", **image: Any) -> ImageNode:
    metadata = {"file_name": f"{name}.png"}
    return ImageNode(id_=name, text=f"A {name} of oak, drawn in 1790.", metadata=metadata, **(image or PATH))


def assembled(*nodes: Any, **settings: Any) -> list[NodeWithScore]:
    hits = [NodeWithScore(node=node, score=0.9 - at / 10) for at, node in enumerate(nodes)]
    return ContextAssemblyPostprocessor(**settings).postprocess_nodes(hits, query_str=QUESTION)


def test_the_label_of_a_caption_has_the_image() -> None:
    text = TextNode(id_="t", text="Wool was carded by children.", metadata={"file_name": "wool.pdf"})
    image, plain = assembled(captioned(), text, config=AssemblyConfig(fill=True))
    assert isinstance(image.node, ImageNode)
    assert (image.node.image_path, image.node.image_mimetype) == ("/pictures/loom.png", "image/png")
    assert image.text == "[1] Source: loom.png\nA loom of oak, drawn in 1790."
    assert image.metadata["cited_media"] == [
        {"kind": "image", "chunk_id": "loom", "path": "/pictures/loom.png", "url": None, "mimetype": "image/png"}
    ]
    assert "cited_media" in image.node.excluded_llm_metadata_keys
    assert type(plain.node) is TextNode
    assert "cited_media" not in plain.metadata


@pytest.mark.parametrize(
    ("image", "fields"),
    [
        ({"image_url": "https://example.org/loom.png"}, {"url": "https://example.org/loom.png"}),
        ({"image": PIXEL.decode()}, {}),
        ({"image_path": "/pictures/loom.png"}, {"path": "/pictures/loom.png", "mimetype": "image/png"}),
    ],
)
def test_by_path_by_url_and_by_data(image: dict[str, str], fields: dict[str, str]) -> None:
    [labeled] = assembled(captioned(**image))
    assert isinstance(labeled.node, ImageNode)
    for name, value in image.items():
        assert getattr(labeled.node, name) == value
    nothing = {"path": None, "url": None, "mimetype": None}
    assert labeled.metadata["cited_media"] == [{"kind": "image", "chunk_id": "loom", **nothing, **fields}]
    json.dumps(labeled.metadata)


async def test_an_image_without_text_is_in_the_trace() -> None:
    images = [ImageNode(id_=f"i{at}", image_path=f"/pictures/{at}.png") for at in range(5)]
    hits = [NodeWithScore(node=node) for node in (*images, captioned())]
    assembly = ContextAssemblyPostprocessor()
    note = "5 nodes have an image, audio or video and no text, so no label: 'i0', 'i1', 'i2' and 2 more"
    assert note in assembly.context(hits).trace.notes
    for label, *rest in (assembly.postprocess_nodes(hits), await assembly.apostprocess_nodes(hits)):
        assert note in label.metadata["trace"]["notes"]
        assert [one.node.image_path for one in rest] == [f"/pictures/{at}.png" for at in range(5)]  # type: ignore[attr-defined]
    [one] = assembly.context([NodeWithScore(node=images[0])]).trace.notes
    assert one == "1 node has an image, audio or video and no text, so no label: 'i0'"
    assert assembly.context([NodeWithScore(node=captioned())]).trace.notes == ()


class Seeing(MockLLM):
    """A chat model that sees, and keeps the blocks that it got."""

    _seen: list[Any] = PrivateAttr(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True, context_window=32_000)

    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        self._seen.extend(block for message in messages for block in message.blocks)
        return ChatResponse(message=ChatMessage(content="Of oak [1].", role="assistant"))


def test_a_multimodal_engine_shows_the_text_and_the_image(picture: str) -> None:
    nodes = [captioned(image_path=picture), TextNode(text="Wool.", metadata={"file_name": "wool.pdf"})]
    index = VectorStoreIndex(nodes, embed_model=WordEmbedding())
    llm = Seeing()
    engine = index.as_query_engine(llm=llm, multimodal=True, node_postprocessors=[ContextAssemblyPostprocessor()])
    response = engine.query(QUESTION)
    texts = "".join(block.text for block in llm._seen if isinstance(block, TextBlock))
    images = [block for block in llm._seen if isinstance(block, ImageBlock)]
    assert "[1] Source: loom.png\nA loom of oak" in texts
    assert len(images) == 1
    assert resolve(response).citations[0].source == "loom.png"
    assert not any(isinstance(block, AudioBlock) for block in llm._seen)


@pytest.mark.parametrize("mode", ["compact", "refine"])
def test_a_text_engine_asks_no_more_often_for_it(mode: str) -> None:
    llm = Answering()
    index = VectorStoreIndex([captioned()], embed_model=WordEmbedding())
    engine = index.as_query_engine(llm=llm, response_mode=mode, node_postprocessors=[ContextAssemblyPostprocessor()])
    engine.query(QUESTION)
    assert len(llm.prompts) == 1
    assert "A loom of oak" in llm.prompts[0]
