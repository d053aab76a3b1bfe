from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from builders import hits_of, words_of
from ctxassembly import assemble, resolve
from ctxassembly.conversations.sources import get_field, is_context, iter_contexts, sent_in

CONTEXT = assemble(hits_of([words_of("A", 0), words_of("B", 0)]))
SAVED = json.loads(json.dumps(CONTEXT.to_dict()))


@pytest.mark.parametrize("given", [CONTEXT, SAVED])
def test_a_context_is_known_as_itself_and_from_a_checkpoint(given: Any) -> None:
    assert is_context(given)
    assert [context.text for context in iter_contexts(given)] == [CONTEXT.text]


@pytest.mark.parametrize("given", [None, "passages trace", [], {}, {"passages": []}, {"trace": {}}])
def test_nothing_else_is_one(given: Any) -> None:
    assert not is_context(given)
    assert list(iter_contexts(given)) == []


def test_contexts_are_found_in_messages_and_lists_in_order() -> None:
    message = {"role": "tool", "name": "search", "content": "read", "artifact": SAVED}
    other = {"role": "tool", "name": "weather", "content": "13 degrees", "artifact": {"passages": ["of another tool"]}}
    question = {"role": "user", "content": "May I drink?"}
    assert len(list(iter_contexts([question, message, other, [CONTEXT]], ["search"]))) == 2
    assert [last for _, last in sent_in([question, message, other], ["search"])] == [2]
    assert [one.label for one in resolve("So [2].", [question, message, other], tools=["search"]).citations] == ["2"]


def test_a_field_is_that_of_an_object_or_of_its_dict() -> None:
    assert get_field(SimpleNamespace(query="water"), "query") == get_field({"query": "water"}, "query") == "water"
    assert get_field(SimpleNamespace(), "query") is get_field({}, "query") is None
