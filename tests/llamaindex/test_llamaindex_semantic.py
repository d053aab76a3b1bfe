"""`embeddings=` of the LlamaIndex adapter, and the embeddings that nodes bring along."""

from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import NodeWithScore, TextNode
from pydantic import PrivateAttr

from ctxassembly import AssemblyConfig
from llamaindex_ctxassembly import ContextAssemblyPostprocessor

SEMANTIC = AssemblyConfig(dedup="semantic")
TEXTS = {"water": "You may drink water.", "park": "The car park is open.", "drink": "Drinking is allowed."}


def meaning(text: str) -> list[float]:
    return [1.0, 0.0] if "rink" in text else [0.0, 1.0]


class AboutDrinking(BaseEmbedding):
    _asked: list[str] = PrivateAttr(default_factory=list)

    def _get_text_embedding(self, text: str) -> list[float]:
        self._asked.append(text)
        return meaning(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return meaning(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return meaning(query)


def nodes(*, embedded: bool = False) -> list[NodeWithScore]:
    return [
        NodeWithScore(node=TextNode(id_=name, text=text, embedding=meaning(text) if embedded else None))
        for name, text in TEXTS.items()
    ]


def ids(found: list[NodeWithScore]) -> list[str]:
    return [each.node.metadata["citation"]["best_chunk_id"] for each in found]


def test_nodes_with_embeddings_need_no_model() -> None:
    postprocessor = ContextAssemblyPostprocessor(config=SEMANTIC)
    assert ids(postprocessor.postprocess_nodes(nodes(embedded=True))) == ["water", "park"]


def test_nodes_with_embeddings_are_not_embedded_again() -> None:
    model = AboutDrinking()
    ContextAssemblyPostprocessor(config=SEMANTIC, embeddings=model).postprocess_nodes(nodes(embedded=True))
    assert model._asked == []


def test_the_model_is_left_out_of_json() -> None:
    assert "embeddings" not in ContextAssemblyPostprocessor(config=SEMANTIC, embeddings=AboutDrinking()).to_dict()
