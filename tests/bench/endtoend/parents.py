"""Retrievers that find small chunks and give larger ones: four chunks of a set make a parent."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from ctxassembly import Chunk
from endtoend.system import Known, System
from quality import llamaindex_peers
from quality.data import Question, QuestionSet, Span
from quality.filling import Answer, Fill, cut, whole
from recall.exact import Vectors

CHILDREN = 4
"""Chunks in a parent: LlamaIndex's HierarchicalNodeParser has parents four times as long."""


class Parent(NamedTuple):
    id: str
    chunks: tuple[Chunk, ...]
    piece: Answer


def parents(questions: QuestionSet) -> list[Parent]:
    """Each document's chunks by fours, as what stands there in the document."""
    made = []
    places = sorted(questions.places)
    for (document_id, number), group in groupby(places, lambda place: (place[0], place[1] // CHILDREN)):
        chunks = tuple(questions.places[place] for place in group)
        end = max((chunk.start or 0) + len(chunk.text) for chunk in chunks)
        span = Span(document_id, chunks[0].start or 0, end)
        text = questions.documents[document_id].text[span.start : end]
        made.append(Parent(f"{document_id}/{number}", chunks, Answer(text, (span,))))
    return made


def parent_documents(questions: QuestionSet, embeddings: Known, most: int) -> System:
    """LangChain's ParentDocumentRetriever: the parent of each of the best chunks, once.

    Its stores are filled as it would fill them if its splitters made these parents and these chunks.
    """
    from langchain_classic.retrievers import ParentDocumentRetriever
    from langchain_core.documents import Document
    from langchain_core.stores import InMemoryStore
    from langchain_core.vectorstores import InMemoryVectorStore
    from langchain_text_splitters import CharacterTextSplitter

    made = parents(questions)
    pieces = {parent.id: parent.piece for parent in made}
    vectorstore, docstore = InMemoryVectorStore(embeddings), InMemoryStore()
    vectorstore.add_documents(
        [
            Document(chunk.text, id=chunk.id, metadata={"doc_id": parent.id})
            for parent in made
            for chunk in parent.chunks
        ]
    )
    docstore.mset([(parent.id, Document(parent.piece.text, id=parent.id)) for parent in made])
    retriever = ParentDocumentRetriever(
        vectorstore=vectorstore,
        docstore=docstore,
        child_splitter=CharacterTextSplitter(),
        search_kwargs={"k": most},
    )

    def ask(question: Question, vector: Sequence[float]) -> Fill:
        return cut([pieces[str(document.id)] for document in retriever.invoke(question.text)])

    return ask


def auto_merging(questions: QuestionSet, vectors: Vectors, most: int) -> System:
    """LlamaIndex's AutoMergingRetriever: a parent in place of its chunks where more than half of them were found."""
    from llama_index.core import MockEmbedding, StorageContext, VectorStoreIndex
    from llama_index.core.retrievers import AutoMergingRetriever, VectorIndexRetriever
    from llama_index.core.schema import NodeRelationship, QueryBundle, TextNode

    leaves = {id_: llamaindex_peers.node(questions, chunk) for id_, chunk in questions.chunks.items()}
    pieces = {id_: whole(chunk) for id_, chunk in questions.chunks.items()}
    for leaf, vector in zip(leaves.values(), vectors.tolist(), strict=True):
        leaf.embedding = vector
    storage = StorageContext.from_defaults()
    for parent in parents(questions):
        node = TextNode(id_=parent.id, text=parent.piece.text)
        children = [leaves[chunk.id] for chunk in parent.chunks]
        node.relationships[NodeRelationship.CHILD] = [child.as_related_node_info() for child in children]
        for child in children:
            child.relationships[NodeRelationship.PARENT] = node.as_related_node_info()
        storage.docstore.add_documents([node])
        pieces[parent.id] = parent.piece
    storage.docstore.add_documents(list(leaves.values()))
    index = VectorStoreIndex(list(leaves.values()), embed_model=MockEmbedding(vectors.shape[1]))
    retriever = AutoMergingRetriever(VectorIndexRetriever(index, similarity_top_k=most), storage)

    def ask(question: Question, vector: Sequence[float]) -> Fill:
        found = retriever.retrieve(QueryBundle(question.text, embedding=[float(each) for each in vector]))
        return cut([pieces[each.node.node_id] for each in found])

    return ask
