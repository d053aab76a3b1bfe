"""Labels over several contexts of one conversation."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier, local

import pytest
from hypothesis import given, settings

from builders import words_of
from ctxassembly import AssemblyConfig, Conversation, Hit, Labels, MemoryStore, assemble
from ctxassembly.errors import ConfigError
from strategies import Retrieval, arguments, retrievals

HITS = [Hit(words_of(name, 0, metadata={"source": f"{name}.pdf"})) for name in "ABCDEFGHIJKL"]


def test_contexts_of_a_conversation_have_labels_of_their_own():
    labels = Labels()
    conversation = Conversation(labels=labels)
    contexts = [assemble(HITS[at : at + 3], conversation=conversation) for at in (0, 3, 6)]
    assert [each.label for context in contexts for each in context.citations] == [str(n) for n in range(1, 10)]
    assert labels.next == 10
    assert assemble(HITS[:1]).citations[0].label == "1"


def test_what_takes_no_label_leaves_no_gap():
    labels = Labels(4)
    conversation = Conversation(labels=labels)
    assert assemble([], conversation=conversation).text == ""
    assert len(assemble(HITS, AssemblyConfig(max_tokens=60), conversation=conversation).citations) < len(HITS)
    with pytest.raises(ConfigError):
        assemble(HITS, AssemblyConfig(compress="llm"), conversation=conversation)
    assert labels.next == 4 + len(assemble(HITS, AssemblyConfig(max_tokens=60)).citations)


@pytest.mark.parametrize("cite", ["document", "passage", "chunk"])
@pytest.mark.parametrize("enabled", [True, False])
def test_labels_are_different_in_threads(cite: str, enabled: bool):
    """Each is held while it is counted, so that they overlap."""
    together = Barrier(4, timeout=20)
    labels = Labels()
    conversation = Conversation(labels=labels)
    chunks = [words_of(name, n) for name in "ABC" for n in range(9)]
    hits = [Hit(chunk) for chunk in chunks if chunk.index in (1, 4, 7)]
    waited = local()

    def counting(text: str) -> int:
        if not getattr(waited, "once", False):
            waited.once = True
            together.wait()
        return len(text.split())

    config = AssemblyConfig(cite=cite, enabled=enabled, encoding=counting)  # type: ignore[arg-type]
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda _: assemble(hits, config, store=MemoryStore(chunks), conversation=conversation), range(4))
        )
    given = [each.label for context in found for each in context.citations]
    assert len(set(given)) == len(given) > 4


@given(retrievals())
@settings(max_examples=60)
def test_no_context_has_more_labels_than_it_took(case: Retrieval):
    labels = Labels()
    conversation = Conversation(labels=labels)
    config = replace(case.config, first_label=1)
    taken: list[int] = []
    take = labels.reserve
    labels.reserve = lambda most, least: taken.append(most) or take(most, least)  # type: ignore[method-assign, assignment]
    context = assemble(case.hits, config, conversation=conversation, **arguments(case))
    assert len(context.citations) <= sum(taken)
    assert labels.next == 1 + len(context.citations)


def test_labels_that_are_copied_count_together_and_those_that_are_pickled_go_on():
    labels = Labels(3)
    assert copy.deepcopy({"labels": labels})["labels"] is copy.copy(labels) is labels
    again = pickle.loads(pickle.dumps(labels))
    assert (again.next, repr(again)) == (3, "Labels(3)")


def test_documents_keep_their_labels_while_new_ones_are_counted():
    conversation = Conversation(labels=Labels())
    first = assemble(HITS[:2], conversation=conversation)
    conversation = conversation.after(first).seen_in([])
    assert [one.label for one in assemble(HITS[1:4], conversation=conversation).citations] == ["2", "3", "4"]
    assert [one.label for one in assemble(HITS[4:6], conversation=conversation).citations] == ["5", "6"]
    restored = Conversation.from_dict(conversation.to_dict())
    assert (restored.next_label, restored.labels) == (7, None)
