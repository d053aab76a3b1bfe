"""`evaluate` over retrievers and query engines of LlamaIndex."""

from __future__ import annotations

from pydoc_data.topics import topics

from llama_index.core import Document, VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.query_engine import RetrieverQueryEngine

from ctxassembly import AssemblyConfig
from ctxassembly.evaluate import evaluate
from llamaindex_ctxassembly import ContextAssemblyPostprocessor

TOPICS = ("with", "try", "while")
CORPUS = {name: "\n".join(map(str.strip, topics[name].splitlines())) for name in TOPICS}
START = CORPUS["while"].index('A "break" statement executed in the first suite')
QUESTION = {
    "question": "What does break do in a while loop?", "document_id": "while", "start": START, "end": START + 80,
}  # fmt: skip


def test_retrievers_and_query_engines_are_measured():
    nodes = SentenceSplitter(chunk_size=200, chunk_overlap=40).get_nodes_from_documents(
        [Document(text=text, id_=name) for name, text in CORPUS.items()]
    )
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=4))
    retriever = index.as_retriever(similarity_top_k=40)
    processor = ContextAssemblyPostprocessor(config=AssemblyConfig(max_tokens=400), docstore=index.docstore)
    engines = {
        name: RetrieverQueryEngine.from_args(retriever, llm=MockLLM(max_tokens=5), node_postprocessors=processors)
        for name, processors in (("plain engine", []), ("engine", [processor]))
    }
    systems = {
        "retriever": retriever,
        **engines,
        "context": lambda question: processor.context(retriever.retrieve(question), question),
    }
    report = evaluate([QUESTION], systems, corpus=CORPUS, progress=False)
    assert not report.errors
    assert report.estimate("retriever", "recall").mean == 1
    assert report.estimate("plain engine", "recall") == report.estimate("retriever", "recall")
    for measure in ("recall", "tokens", "within_250"):
        assert report.estimate("engine", measure) == report.estimate("context", measure)
    assert report.estimate("engine", "tokens").mean <= 400
    assert report.rows[1].answer is not None
