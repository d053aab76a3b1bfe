"""What a conversation of five turns sends and finds: `python tests/bench/conversations.py FOLDER...`.

A conversation is five questions in a row whose evidence is in one document, in its order. Every turn is assembled with
`repeat="always"` and with `repeat="never"`. Recall of a turn is over everything that the model sees: the contexts of
this turn and of the turns before. A label is resolved if `resolve` leads it to the document of its text.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import Literal, NamedTuple

from ctxassembly import AssemblyConfig, Context, Conversation, MemoryStore, assemble, resolve
from quality.data import Question, QuestionSet, read

TURNS = 5
BUDGETS = (500, 1_000, 2_000, 4_000, 8_000)
Repeat = Literal["never", "always"]
REPEAT: tuple[Repeat, ...] = ("always", "never")


class Row(NamedTuple):
    """Means over the conversations of one set."""

    tokens: float
    """Tokens of all contexts of a conversation."""
    recall: float
    """Of a turn."""
    resolved: float
    """Share of labels."""


def conversations(questions: QuestionSet, every: int = 1) -> list[Sequence[Question]]:
    """Return five questions in a row on each document, in its order; one of so many conversations."""

    def document(question: Question) -> str:
        return question.evidence[0].document_id

    ordered = sorted(questions.questions, key=lambda one: (document(one), one.evidence[0].start))
    found = [[*group] for _, group in groupby(ordered, key=document)]
    return [one[at : at + TURNS] for one in found for at in range(0, len(one) - TURNS + 1, TURNS)][::every]


def contexts_of(
    questions: Sequence[Question], store: MemoryStore, max_tokens: int, repeat: Repeat
) -> Iterator[Context]:
    """Yield the context of each turn."""
    conversation = Conversation()
    config = AssemblyConfig(max_tokens=max_tokens, repeat=repeat, neighbors="unfiltered")
    for question in questions:
        context = assemble(question.hits, config, query=question.text, store=store, conversation=conversation)
        conversation = conversation.after(context)
        yield context


def recall(question: Question, contexts: Sequence[Context]) -> float:
    """Return the share of the question's evidence that `contexts` have, in characters."""
    read_places = {
        (source.document_id, place)
        for context in contexts
        for source in context.provenance
        if source.start is not None and source.end is not None
        for place in range(source.start, source.end)
    }
    wanted = {(span.document_id, place) for span in question.evidence for place in range(span.start, span.end)}
    return len(wanted & read_places) / len(wanted)


def resolved_share(contexts: Sequence[Context]) -> float:
    """Return the share of the labels of all contexts that lead to their document."""
    labels = [citation for context in contexts for citation in context.citations]
    found = (resolve(f"So [{citation.label}].", contexts, mode="keep").citations for citation in labels)
    return mean(
        [bool(own) and own[0].document_id == citation.document_id for own, citation in zip(found, labels, strict=True)]
    )


def measure(questions: QuestionSet, max_tokens: int, repeat: Repeat, every: int = 1) -> Row:
    """Return the means over the conversations of a set."""
    store = MemoryStore(questions.chunks.values())
    rows = []
    for turns in conversations(questions, every):
        contexts = [*contexts_of(turns, store, max_tokens, repeat)]
        recalls = [recall(question, contexts[: at + 1]) for at, question in enumerate(turns)]
        rows.append(Row(sum(one.token_count for one in contexts), mean(recalls), resolved_share(contexts)))
    return Row(*map(mean, zip(*rows, strict=True)))


def main(arguments: list[str] | None = None) -> int:
    """Print a table of all sets and budgets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="question sets, as quality.data says")
    parser.add_argument("--budgets", type=int, nargs="+", default=BUDGETS, metavar="TOKENS")
    parser.add_argument("--every", type=int, default=1, help="one of so many conversations (default: 1)")
    args = parser.parse_args(arguments)
    write = sys.stdout.write
    write(
        "| set | conversations | limit | tokens, always | tokens, never | recall, always | recall, never | resolved |\n"
    )
    write("|---|---|---|---|---|---|---|---|\n")
    for questions in map(read, args.folders):
        count = len(conversations(questions, args.every))
        for budget in args.budgets:
            always, never = (measure(questions, budget, repeat, args.every) for repeat in REPEAT)
            sent = f"{always.tokens:,.0f} | {never.tokens:,.0f} ({1 - never.tokens / always.tokens:.0%} less)"
            found = f"{always.recall:.3f} | {never.recall:.3f} | {never.resolved:.3f}"
            write(f"| {questions.name} | {count} | {budget:,} | {sent} | {found} |\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
