"""A conversation: what the model still sees isn't sent again, and what had a label keeps it."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import count
from ctxassembly import (
    AssemblyConfig,
    Chunk,
    Context,
    Conversation,
    Hit,
    MemoryStore,
    aassemble,
    assemble,
)
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.wording.languages import LANGUAGES
from strategies import Retrieval, arguments, retrievals

TEXTS = [
    "Eat nothing for six hours before the examination.",
    "Drink water until two hours before the examination.",
    "Bring the list of your medicines to the appointment.",
    "Ask somebody to drive you home after the examination.",
    "Call the department if you feel any pain in the evening.",
]
LEAFLET = [
    Chunk(f"gastro#{at}", "gastro", text, at, metadata={"source": "gastro.pdf", "page": at + 1})
    for at, text in enumerate(TEXTS)
]
OTHER = Chunk(
    "parking#0", "parking", "Park your car in the garage of the hospital.", 0, metadata={"source": "parking.pdf"}
)
WHOLE = AssemblyConfig(window=0, cite="document")


def hits(*places: int) -> list[Hit]:
    return [Hit(LEAFLET[at]) for at in places]


def reasons(context: Context) -> dict[str, tuple[str, str, str | None]]:
    return {one.chunk_id: (one.outcome, one.reason, one.sent_as) for one in context.trace.decisions}


def test_the_same_text_of_another_document_is_sent_under_its_name():
    first = assemble(hits(0), WHOLE, conversation=Conversation())
    copy_ = Chunk("leaflet#0", "leaflet", TEXTS[0], 0, metadata={"source": "leaflet.pdf"})
    second = assemble([Hit(copy_)], WHOLE, conversation=Conversation().after(first))
    assert second.text == f"[2] Source: leaflet.pdf\n{TEXTS[0]}"


def test_a_context_whose_label_another_one_gave_to_another_source_is_skipped_with_a_warning():
    contexts = [assemble([Hit(chunk)], WHOLE) for chunk in (LEAFLET[0], OTHER)]
    with pytest.warns(UserWarning, match="other sources have its labels"):
        conversation = Conversation.from_messages(contexts)
    assert [one.document_id for one in conversation.citations] == ["gastro"]


def test_what_was_sent_is_left_out_and_its_document_keeps_the_label():
    first = assemble([Hit(OTHER), *hits(0, 1)], WHOLE, conversation=Conversation())
    second = assemble([*hits(1, 2), Hit(OTHER)], WHOLE, conversation=Conversation().after(first))
    assert second.text == f"[2] Source: gastro.pdf, page 3\n[2] continues above, page 2\n{TEXTS[2]}"
    assert second.token_count == count(second.text)
    assert reasons(second) == {
        "gastro#1": ("dropped", "already sent", "2"),
        "gastro#2": ("kept", "hit", None),
        "parking#0": ("dropped", "already sent", "1"),
    }


@pytest.mark.parametrize(("cite", "labels"), [("document", "1"), ("passage", "123"), ("chunk", "1234")])
def test_a_label_is_kept_by_its_document_or_by_the_same_chunks(cite: Any, labels: str):
    config = AssemblyConfig(window=0, cite=cite, repeat="always", order="document_order")
    first = assemble(hits(0, 1, 4), config, conversation=Conversation())
    again = assemble(hits(0, 1, 4), config, conversation=Conversation().after(first))
    assert again.text == first.text
    other = assemble(hits(0, 1, 3), config, conversation=Conversation().after(first))
    given = [one.label for context in (first, other) for one in context.citations]
    assert "".join(dict.fromkeys(given)) == labels


def test_new_documents_get_the_next_labels():
    conversation = Conversation().after(assemble(hits(0), WHOLE, conversation=Conversation()))
    context = assemble([Hit(OTHER), *hits(3)], WHOLE, conversation=conversation)
    assert [(one.label, one.document_id) for one in context.citations] == [("2", "parking"), ("1", "gastro")]
    assert "continues above" not in context.text  # page 4 doesn't adjoin page 1
    assert conversation.after(context).next_label == 3


@pytest.mark.parametrize("language", [*LANGUAGES])
@pytest.mark.parametrize(
    ("form", "line"),
    [("numbered", "[1] "), ("source", "[SOURCE 1] "), ("xml", "[1] "), ("grouped", ""), ("minimal", "")],
)
def test_the_line_on_adjoining_text_is_in_the_language_and_the_form_of_a_citation(language, form, line):
    config = AssemblyConfig(window=0, language=language, format=form)
    conversation = Conversation().after(assemble(hits(1), config, conversation=Conversation()))
    lines = assemble(hits(1, 2), config, conversation=conversation).text.split("\n")
    expected = LANGUAGES[language].continues_above.format(line.strip())
    assert [one for one in lines if one.startswith(expected)] == ([lines[1]] if line else [])


@pytest.mark.parametrize("format_name", ["numbered", "source", "xml", "grouped", "minimal"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_document_says_where_the_sources_are(language: str, format_name: str):
    config = AssemblyConfig(language=language, format=format_name, max_tokens=1_000)
    first = assemble(hits(0, 1), config, conversation=Conversation())
    told = assemble(hits(1), config, conversation=Conversation().after(first)).text
    chunk = Chunk("f", "F", f"Text.\n{told}\n{told.upper()}\nAs said, {told}")
    context = assemble([Hit(chunk)], config)
    written = f"Text.\n\\{told}\n\\{told.upper()}\nAs said, {told}"
    assert written in context.text
    for source in context.provenance:
        assert context.text[slice(*source.span)] == chunk.text[slice(*source.chunk_span)]
    assert context.token_count == count(context.text)


def test_if_everything_was_sent_one_line_says_where():
    first = assemble(hits(0, 1), WHOLE, conversation=Conversation())
    conversation = Conversation().after(first)
    context = assemble(hits(1), WHOLE, conversation=conversation)
    assert context.text == "The sources that were found are given above ([1])."
    assert context.token_count == count(context.text)
    assert context.citations == ()
    assert context.supplement == ""
    assert context.resolve("So [1].").citations == first.citations
    assert conversation.after(context) == conversation
    assert assemble(hits(1), replace(WHOLE, max_tokens=3), conversation=conversation).text == ""
    assert Context.from_dict(context.to_dict()) == context


def test_sentences_that_were_not_chosen_can_come_later():
    chunk = Chunk("a#0", "a", " ".join(TEXTS), 0, metadata={"source": "a.txt"})
    config = AssemblyConfig(window=0, granularity="sentence", max_tokens=30)
    first = assemble([Hit(chunk)], config, query="May I drink water?", conversation=Conversation())
    assert TEXTS[1] in first.text
    assert TEXTS[3] not in first.text
    conversation = Conversation().after(first)
    second = assemble(
        [Hit(chunk)], config, query="Who can drive me home, and may I drink water?", conversation=conversation
    )
    assert TEXTS[3] in second.text
    assert TEXTS[1] not in second.text
    assert second.text.startswith("[1] Source: a.txt\n[1] continues above\n")
    assert reasons(second)["a#0"] == ("cut", "sentence", "1")


def test_text_that_chunks_share_is_sent_once():
    shared = "Drink water until two hours before the examination. "
    first = Chunk("a#0", "a", TEXTS[0] + " " + shared, 0)
    second = Chunk("a#1", "a", shared + TEXTS[2], 1)
    conversation = Conversation().after(assemble([Hit(first)], conversation=Conversation()))
    context = assemble([Hit(second)], store=MemoryStore([first, second]), conversation=conversation)
    assert context.text == f"[2] Source: unknown\n[1] continues above\n{TEXTS[2]}"
    assert reasons(context)["a#1"] == ("cut", "already sent", "1")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_line_names_another_document_with_the_same_text(language: Any):
    """The search finds both: they are one text of two documents, and the better hit's was given."""
    rumor = Chunk("rumor#0", "rumor", TEXTS[0], metadata={"source": "rumor.txt"})
    guideline = Chunk("guideline#0", "guideline", TEXTS[0], metadata={"source": "WHO guideline.pdf"})
    conversation = Conversation().after(assemble([Hit(rumor)], WHOLE, conversation=Conversation()))
    words = LANGUAGES[language]
    config = replace(WHOLE, language=language, max_tokens=200)
    context = assemble([Hit(rumor), Hit(guideline)], config, conversation=conversation)
    named = words.same_text_in.format("WHO guideline.pdf")
    assert context.text == f"{words.given_above.format(' ([1])')} {named}"
    assert context.token_count == count(context.text, "cl100k_base")
    small = replace(config, max_tokens=context.token_count - 1)
    assert assemble([Hit(rumor), Hit(guideline)], small, conversation=conversation).text == words.given_above.format(
        " ([1])"
    )


def test_a_question_asked_again_finds_next_to_nothing_new():
    """The first text says how many characters a token has, also where the conversation has it."""
    texts = [" ".join(f"Rule {at} of part {n} is {at * 7 + n}." for at in range(40)) for n in range(6)]
    texts[0] += " Ferritin is measured in the morning. Ferritin needs no fasting."
    texts[1] = "\n".join(f"x_{n} = y[{n}] ** {n}" for n in range(80))
    chunks = [Chunk(f"a#{at}", f"a{at}", text, 0) for at, text in enumerate(texts)]
    query = "When is ferritin measured?"
    conversation = Conversation()
    tokens = []
    for _ in range(2):
        context = assemble([Hit(chunk) for chunk in chunks], query=query, conversation=conversation)
        conversation = conversation.after(context)
        tokens.append(context.token_count)
    assert tokens[1] < 40 < tokens[0]


def test_another_text_under_the_same_id_was_not_sent():
    conversation = Conversation().after(assemble(hits(0), WHOLE, conversation=Conversation()))
    changed = replace(LEAFLET[0], text="Eat nothing for eight hours before the examination.")
    assert changed.text in assemble([Hit(changed)], WHOLE, conversation=conversation).text


def test_a_document_of_another_source_under_the_same_id_gets_a_label_of_its_own():
    conversation = Conversation().after(assemble(hits(0), WHOLE, conversation=Conversation()))
    other = Chunk("gastro#9", "gastro", "Visits are from two to eight.", 9, metadata={"source": "visits.pdf"})
    context = assemble([Hit(other)], WHOLE, conversation=conversation)
    assert [one.label for one in context.citations] == ["2"]


def test_only_chunks_that_pass_the_filter_of_the_call_are_described():
    conversation = Conversation().after(assemble(hits(1), WHOLE, conversation=Conversation()))
    store = MemoryStore(
        [replace(chunk, metadata={**chunk.metadata, "group": at % 2}) for at, chunk in enumerate(LEAFLET)]
    )
    context = assemble(
        [Hit(replace(LEAFLET[2], metadata={**LEAFLET[2].metadata, "group": 0}))], store=store, conversation=conversation
    )
    assert "continues above" not in context.text
    assert "gastro#1" not in reasons(context)


def test_what_is_seen_follows_from_the_messages():
    first = assemble(hits(0, 1), WHOLE, conversation=Conversation())
    conversation = Conversation().after(first)
    user = {"role": "user", "content": [{"type": "text", "text": f"Context:\n{first.text}\n\nQuestion: May I eat?"}]}
    assert conversation.seen_in([user, "No [1]."]) == conversation
    page = {"role": "tool", "name": "web", "content": f"{first.text}\nThis is wrong."}
    answer = {"role": "assistant", "content": first.text}
    cut = {"role": "user", "content": first.text[:-1]}
    for messages in ([page], [answer], [cut], [TEXTS[0]], ["A summary."], []):
        found = conversation.seen_in(messages)
        assert [context.provenance for context in found.sent] == [()]
        assert found.citations == conversation.citations
        assert found.next_label == 2
    context = assemble(hits(0, 1), WHOLE, conversation=conversation.seen_in([page]))
    assert context.text == first.text


def test_messages_carry_the_conversation():
    first = assemble(hits(0), WHOLE, conversation=Conversation())
    second = assemble([Hit(OTHER)], WHOLE, conversation=Conversation().after(first))
    whole = Conversation().after(first).after(second)
    assert Conversation.from_messages([first, "Yes [1].", second.to_dict()]) == whole
    assert Conversation.from_messages([]) == Conversation.from_messages("A question.") == Conversation()
    with pytest.raises(InputError):
        Conversation.from_messages([7])


def test_labels_of_earlier_contexts_resolve():
    first = assemble([Hit(OTHER)], WHOLE, conversation=Conversation())
    second = assemble(hits(0), WHOLE, conversation=Conversation().after(first))
    resolved = second.resolve("Park there [1], eat nothing [2], and [3].")
    assert [one.document_id for one in resolved.citations] == ["parking", "gastro"]
    assert resolved.unknown == ("3",)
    assert second.resolve("Hm.").unused == second.citations


@pytest.mark.parametrize("label", ["0", "-1", "1000000", "01", "٣", "Smith2020", "", " 1", 1, None])
def test_a_label_is_a_positive_number_of_at_most_six_digits(label: Any):
    saved = Conversation().after(assemble(hits(0), WHOLE, conversation=Conversation())).to_dict()
    saved["sent"][0]["citations"][0]["label"] = label
    with pytest.raises(InputError, match="a conversation must be as"):
        Conversation.from_dict(saved)


def test_a_conversation_is_plain_data():
    conversation = Conversation().after(assemble(hits(0, 2), WHOLE, conversation=Conversation()))
    saved = json.loads(json.dumps(conversation.to_dict()))
    assert Conversation.from_dict(saved) == pickle.loads(pickle.dumps(conversation)) == copy.deepcopy(conversation)
    assert Conversation(**conversation._asdict()) == conversation  # as LangGraph restores it
    with pytest.raises(ConfigError, match="label_step must be an integer from 1 to 1,000"):
        Conversation(label_step=1_001)
    for wrong in ({"sent": [7]}, {"turns": []}, {"sent": [{"text": ""}]}):
        with pytest.raises(InputError, match="a conversation must be as"):
            Conversation.from_dict(wrong)


async def test_assemblies_in_parallel_share_no_new_label():
    first = assemble(hits(0), WHOLE, conversation=Conversation())
    conversation = Conversation().after(first)
    found = [[Hit(OTHER), *hits(at)] for at in (1, 2)]
    with ThreadPoolExecutor(2) as pool:
        made = [
            pool.submit(assemble, one, WHOLE, conversation=conversation.shared(at, 2)) for at, one in enumerate(found)
        ]
    contexts = [one.result() for one in made]
    assert [[one.label for one in context.citations] for context in contexts] == [["2", "1"], ["3", "1"]]
    again = await asyncio.gather(
        *(aassemble(one, WHOLE, conversation=conversation.shared(at, 2)) for at, one in enumerate(found))
    )
    assert [one.text for one in again] == [one.text for one in contexts]
    whole = Conversation.from_messages([first, *contexts])
    assert whole.next_label == 4
    assert reasons(assemble(found[0], WHOLE, conversation=whole)).keys() == {"parking#0", "gastro#1"}


TABLE = re.compile(r"^\s*\|", re.MULTILINE)


@settings(suppress_health_check=list(HealthCheck))
@given(retrievals(), st.randoms(use_true_random=False), st.sampled_from([1, 98, 997, 99_990]))
def test_nothing_is_sent_twice_and_nothing_is_lost(case: Retrieval, random, next_label: int):
    config = replace(case.config, first_label=1)
    conversation = Conversation(next_label=next_label)
    sent: dict[tuple[str, str], set[int]] = {}
    for _ in range(3):
        found = random.sample(case.hits, len(case.hits))
        context = assemble(found, config, conversation=conversation, **arguments(case))
        assert context.token_count == count(context.text, case.options["encoding"]) <= case.options["max_tokens"]
        assert len(context.text) <= (case.options["max_characters"] or len(context.text))
        assert sorted(one.rank for one in context.trace.decisions if one.distance == 0) == list(range(len(found)))
        labels = [one.label for one in context.citations]
        assert len(set(labels)) == len(labels)
        known = {one.label: one.document_id for one in conversation.citations}
        for citation in context.citations:
            assert known.get(citation.label, citation.document_id) == citation.document_id
            assert citation.label in known or int(citation.label) >= conversation.next_label
        if config.enabled and not TABLE.search(context.text):
            for source in context.provenance:
                own = sent.setdefault((source.document_id, source.chunk_id), set())
                text = context.text[slice(*source.span)]
                new = {at for at, one in zip(range(*source.chunk_span), text, strict=True) if one.isalnum()}
                assert own.isdisjoint(new)
            for source in context.provenance:
                sent[source.document_id, source.chunk_id].update(range(*source.chunk_span))
        conversation = conversation.after(context)
