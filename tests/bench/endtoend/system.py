"""What a system is: a function from a question and its vector to its contexts by budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langchain_core.embeddings import Embeddings

from quality.data import Question, QuestionSet
from quality.filling import Fill
from recall.exact import Vectors

System = Callable[[Question, Sequence[float]], Fill]


class Known(Embeddings):
    """The vectors of a set's chunks and questions, as LangChain asks for them."""

    def __init__(self, questions: QuestionSet, vectors: Vectors, asked: Vectors) -> None:
        texts = [*(chunk.text for chunk in questions.chunks.values()), *(each.text for each in questions.questions)]
        self._vectors: dict[str, list[float]] = dict(zip(texts, [*vectors.tolist(), *asked.tolist()], strict=True))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._vectors[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._vectors[text]
