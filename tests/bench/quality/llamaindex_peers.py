"""LlamaIndex's node postprocessors, which know no budget either."""

from __future__ import annotations

from typing import Any

from ctxassembly import Chunk
from quality import minilm
from quality.aligned import source_runs
from quality.data import QuestionSet
from quality.filling import Answer, Case, Fill, Strategy, cut, whole

NEEDS = "llama_index"


def prev_next(questions: QuestionSet) -> Strategy:
    """PrevNextNodePostprocessor, one node on both sides, cut in the order that it gives."""
    from llama_index.core.postprocessor import PrevNextNodePostprocessor
    from llama_index.core.schema import NodeWithScore
    from llama_index.core.storage.docstore import SimpleDocumentStore

    nodes = {chunk.id: node(questions, chunk) for chunk in questions.chunks.values()}
    docstore = SimpleDocumentStore()
    docstore.add_documents(list(nodes.values()))
    postprocessor = PrevNextNodePostprocessor(docstore=docstore, num_nodes=1, mode="both")

    def strategy(case: Case) -> Fill:
        found = [NodeWithScore(node=nodes[hit.chunk.id], score=hit.score) for hit in case.hits]
        return cut([whole(questions.chunks[each.node.node_id]) for each in postprocessor.postprocess_nodes(found)])

    return strategy


def reorder(_: QuestionSet) -> Strategy:
    """LongContextReorder over what fits by rank."""
    return lambda case: cut([whole(hit.chunk) for hit in case.hits], _reordered)


def sentences(questions: QuestionSet) -> Strategy:
    """SentenceEmbeddingOptimizer with the cutoff of its documentation, cut by rank.

    It keeps the half of a node's sentences most similar to the question, best first, each with its neighbors.
    """
    from llama_index.core.postprocessor import SentenceEmbeddingOptimizer
    from llama_index.core.schema import NodeWithScore

    optimizer = SentenceEmbeddingOptimizer(embed_model=_embeddings(), percentile_cutoff=0.5)

    def strategy(case: Case) -> Fill:
        found = [NodeWithScore(node=node(questions, hit.chunk), score=hit.score) for hit in case.hits]
        optimized = optimizer.postprocess_nodes(found, query_str=case.question.text)
        texts = [each.node.get_content() for each in optimized]
        pairs = zip(texts, case.hits, strict=True)
        return cut([Answer(text, source_runs(text, hit.chunk)) for text, hit in pairs])

    return strategy


def _embeddings() -> Any:
    """MiniLM as LlamaIndex asks for it."""
    from llama_index.core.base.embeddings.base import BaseEmbedding

    class MiniLM(BaseEmbedding):
        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            vectors: list[list[float]] = minilm.embed_cached(texts).tolist()
            return vectors

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    return MiniLM()


def _reordered(pieces: list[Answer]) -> list[Answer]:
    from llama_index.core.postprocessor import LongContextReorder
    from llama_index.core.schema import NodeWithScore, TextNode

    # It sorts by score, lowest first, so the rank stands for it: equal scores would mix the ranks up.
    nodes = [
        NodeWithScore(node=TextNode(id_=str(rank), text=piece.text), score=-float(rank))
        for rank, piece in enumerate(pieces)
    ]
    return [pieces[int(each.node.node_id)] for each in LongContextReorder().postprocess_nodes(nodes)]


def node(questions: QuestionSet, chunk: Chunk) -> Any:
    """A chunk as LlamaIndex has it: it knows the one before it and the one after it."""
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

    index = chunk.index or 0
    sides = ((NodeRelationship.PREVIOUS, index - 1), (NodeRelationship.NEXT, index + 1))
    relationships: dict[Any, Any] = {
        relationship: RelatedNodeInfo(node_id=near.id)
        for relationship, place in sides
        if (near := questions.places.get((chunk.document_id, place)))
    }
    return TextNode(id_=chunk.id, text=chunk.text, relationships=relationships)
