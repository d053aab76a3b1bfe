"""What a model reaches that asks for what was left out: `python tests/bench/left_out.py sets/chroma --every 8`.

A first context of 800 tokens, then requests as to `left_out_tool`, each within 800 tokens: the scripted model asks by
the words of the question again and again. It stops once it has read all of the evidence, or the tool has nothing new.
It is compared with one context of 4,000 tokens.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from ctxassembly import AssemblyConfig, Context, Conversation, MemoryStore, assemble
from ctxassembly.conversations.left_out import find_left_out, left_out_refs
from quality.data import Question, QuestionSet, read

FIRST, WHOLE, MAX_REQUESTS = 800, 4_000, 4


class Reading(NamedTuple):
    """The recall of the evidence in what a model has read, and its tokens."""

    recall: float
    tokens: int


def measure(question: Question, questions: QuestionSet, contexts: Iterable[Context]) -> Reading:
    """Return the recall of `contexts`: the share of the evidence's characters, without white space, that they have."""
    contexts = list(contexts)
    sources = [source for context in contexts for source in context.provenance]
    wanted = found = 0
    for span in question.evidence:
        text = questions.documents[span.document_id].text
        places = {at for at in range(span.start, span.end) if not text[at].isspace()}
        spans = [(one.start, one.end) for one in sources if one.document_id == span.document_id]
        wanted += len(places)
        found += len(places & {at for start, end in spans for at in range(start or 0, end or 0)})
    return Reading(found / wanted, sum(context.token_count for context in contexts))


def readings(question: Question, questions: QuestionSet, store: MemoryStore) -> Iterator[Reading]:
    """Yield what the model has read after the first context, and after each request."""
    config = AssemblyConfig(max_tokens=FIRST, neighbors="unfiltered")
    contexts = [assemble(question.hits, config, query=question.text, store=store)]
    conversation = Conversation().after(contexts[0])
    for _ in range(MAX_REQUESTS + 1):
        reading = measure(question, questions, contexts)
        yield reading
        found = find_left_out(contexts, store.fetch(left_out_refs(contexts)), words=question.text)
        if reading.recall < 1 and found.hits:
            more = assemble(found.hits, found.config(config), query=found.query, store=store, conversation=conversation)
            contexts += [more] if more.citations else []
            conversation = conversation.after(more)


def main() -> None:
    """Print the table for question sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--every", type=int, default=1, help="one in so many questions")
    args = parser.parse_args()
    columns = ["set", "questions", f"first {FIRST}", *_requests(), f"one of {WHOLE:,}"]
    sys.stdout.write("| " + " | ".join(columns) + " |\n")
    sys.stdout.write("|---" * len(columns) + "|\n")
    for folder in args.folders:
        questions = read(folder)
        asked = questions.questions[:: args.every]
        store = MemoryStore(questions.chunks.values())
        config = AssemblyConfig(max_tokens=WHOLE, neighbors="unfiltered")
        rows = [
            [
                *readings(question, questions, store),
                measure(question, questions, [assemble(question.hits, config, query=question.text, store=store)]),
            ]
            for question in asked
        ]
        cells = (
            f"{mean(reading.recall for reading in column):.3f} at {mean(reading.tokens for reading in column):,.0f}"
            for column in zip(*rows, strict=True)
        )
        sys.stdout.write(f"| {questions.name} | {len(rows)} | " + " | ".join(cells) + " |\n")


def _requests() -> list[str]:
    return [f"{number} request{'s' if number > 1 else ''}" for number in range(1, MAX_REQUESTS + 1)]


if __name__ == "__main__":
    main()
