"""Public question sets as they are downloaded, read into documents and questions with marked evidence.

Nothing is downloaded here. What each name reads, where it comes from and its license:

chroma  The folder `general_evaluation_data` of Chroma's chunking evaluation: five long English texts, questions with
        exact excerpts. https://github.com/brandonstarxel/chunking_evaluation, MIT; the texts are other people's.
squad   A JSON file in SQuAD's form. The evidence is the sentence with the answer. Among them are
        XQuAD, eleven translations of a part of SQuAD: https://github.com/google-deepmind/xquad, CC BY-SA 4.0;
        COVID-QA, whole papers: https://github.com/deepset-ai/COVID-QA, Apache 2.0.
qmsum   A folder of QMSum's meetings, such as `data/ALL/test`: English transcripts, evidence of whole turns.
        https://github.com/Yale-LILY/QMSum, MIT.
hotpot  A JSON file in HotpotQA's form, which 2WikiMultihopQA has, too: questions that two documents answer, with their
        supporting sentences. The documents are those of all questions. https://hotpotqa.github.io, CC BY-SA 4.0;
        https://github.com/Alab-NII/2wikimultihop, Apache 2.0.
musique A file of JSON or JSON lines in MuSiQue's form: the same with two to four paragraphs for a question.
        https://github.com/StonyBrookNLP/musique, CC BY 4.0.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

from ctxassembly.text.sentences import sentence_ends
from quality.data import DataError, Document, Span


@dataclass(frozen=True, slots=True)
class Asked:
    """A question before anything was retrieved for it."""

    id: str
    text: str
    evidence: tuple[Span, ...]
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    documents: tuple[Document, ...]
    questions: tuple[Asked, ...]


def chroma(folder: Path) -> Source:
    """The texts and questions of Chroma's general evaluation."""
    files = sorted((folder / "corpora").glob("*.md"))
    documents = {file.stem: Document(file.stem, file.stem, _text(file)) for file in files}
    questions = []
    with (folder / "questions_df.csv").open(encoding="utf-8", newline="") as rows:
        for number, row in enumerate(csv.DictReader(rows)):
            document = documents[row["corpus_id"]]
            evidence = []
            for each in json.loads(row["references"]):
                span = Span(document.id, each["start_index"], each["end_index"])
                if document.text[span.start : span.end] != each["content"]:
                    raise DataError(f"{folder}: the evidence of question {number} isn't where it is said to be")
                evidence.append(span)
            questions.append(Asked(f"chroma-{number:04}", row["question"], tuple(evidence)))
    return Source(tuple(documents.values()), tuple(questions))


def squad(file: Path) -> Source:
    """A document for each article, its paragraphs apart by blank lines. Questions without an answer are left out."""
    documents, questions = [], []
    for number, article in enumerate(json.loads(_text(file))["data"]):
        document_id, text = f"{file.stem}-{number:03}", ""
        for paragraph in article["paragraphs"]:
            text += "\n\n" if text else ""
            begin, context = len(text), paragraph["context"]
            text += context
            for each in paragraph["qas"]:
                if answers := [answer for answer in each["answers"] if answer["text"].strip()]:
                    first = answers[0]["answer_start"]
                    start, end = _sentences_around(context, first, first + len(answers[0]["text"]))
                    evidence = Span(document_id, begin + start, begin + end)
                    wordings = tuple(dict.fromkeys(answer["text"] for answer in answers))
                    questions.append(Asked(f"{file.stem}-{each['id']}", each["question"], (evidence,), wordings))
        documents.append(Document(document_id, article.get("title") or document_id, text))
    return Source(tuple(documents), tuple(questions))


def qmsum(folder: Path) -> Source:
    """A document for each meeting, a line for each turn; the questions about particulars."""
    documents, questions = [], []
    for file in sorted(folder.glob("*.json")):
        meeting = json.loads(_text(file))
        text, turns = "", []
        for turn in meeting["meeting_transcripts"]:
            begin = len(text)
            text += f"{turn['speaker']}: {turn['content']}\n"
            turns.append((begin, len(text) - 1))
        documents.append(Document(file.stem, file.stem, text))
        for number, each in enumerate(meeting["specific_query_list"]):
            ranges = [(int(first), int(last)) for first, last in each["relevant_text_span"]]
            evidence = [
                Span(file.stem, turns[first][0], turns[min(last, len(turns) - 1)][1])
                for first, last in ranges
                if first < len(turns)
            ]
            if evidence:
                asked = Asked(f"{file.stem}-{number:02}", each["query"], tuple(evidence), (each["answer"],))
                questions.append(asked)
    return Source(tuple(documents), tuple(questions))


def hotpot(file: Path) -> Source:
    """A document for each title, of all its sentences. The evidence is the supporting sentences."""
    documents: dict[str, Document] = {}
    questions = []
    rows = json.loads(_text(file))
    for title, sentences in (entry for row in rows for entry in row["context"]):
        documents.setdefault(title, Document(f"{file.stem}-{len(documents):04}", title, "".join(sentences)))
    for number, row in enumerate(rows):
        sentences_of = dict(row["context"])
        evidence = []
        for title, place in row["supporting_facts"]:
            bounds = [0, *accumulate(map(len, sentences_of.get(title, ())))]
            if place + 1 < len(bounds):
                evidence.append(Span(documents[title].id, bounds[place], bounds[place + 1]))
        if evidence:
            questions.append(Asked(f"{file.stem}-{number:04}", row["question"], tuple(evidence), (row["answer"],)))
    return Source(tuple(documents.values()), tuple(questions))


def musique(file: Path) -> Source:
    """A document for each title, its paragraphs apart by blank lines. The evidence is the supporting paragraphs."""
    text = _text(file)
    rows = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]
    spans: dict[tuple[str, str], Span] = {}
    texts: dict[str, str] = {}
    ids: dict[str, str] = {}
    for each in (each for row in rows for each in row["paragraphs"]):
        title, paragraph = each["title"], each["paragraph_text"]
        document_id = ids.setdefault(title, f"{file.stem}-{len(ids):04}")
        if (title, paragraph) not in spans:
            before = f"{texts[title]}\n\n" if title in texts else ""
            texts[title] = before + paragraph
            spans[title, paragraph] = Span(document_id, len(before), len(texts[title]))
    questions = []
    for row in rows:
        used = [each for each in row["paragraphs"] if each["is_supporting"]]
        evidence = tuple(spans[each["title"], each["paragraph_text"]] for each in used)
        if evidence:
            questions.append(Asked(row["id"], row["question"], evidence, (row["answer"],)))
    return Source(tuple(Document(ids[title], title, text) for title, text in texts.items()), tuple(questions))


READERS: dict[str, Callable[[Path], Source]] = {
    "chroma": chroma,
    "squad": squad,
    "qmsum": qmsum,
    "hotpot": hotpot,
    "musique": musique,
}


def _sentences_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The sentences that `text[start:end]` is part of, without the white space around them."""
    touched = [(first, last) for first, last in _sentences(text) if first < end and start < last]
    first, last = touched[0][0], touched[-1][1]
    return first + len(text[first:last]) - len(text[first:last].lstrip()), first + len(text[first:last].rstrip())


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    return pairwise((0, *sentence_ends(text), len(text)))


def _text(file: Path) -> str:
    # Offsets count characters as they are: no line end may be turned into another.
    return file.read_bytes().decode("utf-8-sig")
