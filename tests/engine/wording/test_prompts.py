from __future__ import annotations

from typing import Any

import pytest

from builders import hits_of, words_of
from ctxassembly import AssemblyConfig, Context, Heading, assemble
from ctxassembly.errors import ConfigError, InputError

STYLES = ("grounded", "strict", "soft")
LANGUAGES = ("en", "nl", "de", "fr", "es")
EXACTLY = "I don't have enough information in the provided context to answer this question."
HITS = hits_of([words_of("A", 0), words_of("B", 0)])


def system_prompt(style: str = "grounded", *, supplement: bool = False, **options: Any) -> str:
    context = assemble(HITS, AssemblyConfig(**options), supplement="A fact." if supplement else None)
    return context.to_messages("Why?", style)[0]["content"]


@pytest.mark.parametrize(
    ("style", "says", "never"),
    [
        ("grounded", "Use only what the context says.", EXACTLY),
        ("grounded", "If the context does not suffice, say so", "general knowledge"),
        ("grounded", "after each specific claim, as in [1] or [1][3].", "supplement"),
        ("grounded", "Be concise.", "Do not infer"),
        ("strict", "Do not infer", "what is missing"),
        ("strict", EXACTLY, "supplement"),
        ("soft", "Rely on the context first.", "Use only"),
        ("soft", "general knowledge to clarify", EXACTLY),
    ],
)
def test_what_the_model_is_told_and_what_not(style: str, says: str, never: str):
    prompt = system_prompt(style)
    assert says in prompt
    assert never not in prompt
    assert "supplementary information" in system_prompt(style, supplement=True)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("form", ["numbered", "source", "xml", "grouped", "minimal", lambda heading: "H"])
def test_all_languages_have_the_same_rules_and_ask_for_no_labels_where_none_are_shown(style: str, form: Any):
    prompts = [system_prompt(style, format=form, language=code, supplement=True) for code in LANGUAGES]
    rules = [prompt.splitlines() for prompt in prompts]
    assert {len(each) for each in rules} == {len(rules[0])}
    assert len({line for each in rules for line in each}) == len(rules) * len(rules[0])
    shows_labels = form in ("numbered", "source", "xml")
    for code in LANGUAGES:
        prompt = system_prompt(style, format=form, language=code)
        assert ("[" in prompt) == shows_labels
        assert shows_labels or "label" not in prompt


def test_the_question_stands_under_the_context_and_what_the_caller_adds_after_it():
    context = Context("[1] {x} {0}\ny", 5)
    system, user = context.to_messages("{question}?")
    assert system["content"] == system_prompt()
    assert user == {"role": "user", "content": "Context:\n[1] {x} {0}\ny\n\n---\n\nQuestion: {question}?"}
    assert context.to_messages("{question}?", extra_instructions="")[1] == user
    extended = context.to_messages("{question}?", "strict", "Answer in French.")
    assert extended[0]["content"] == system_prompt("strict")
    assert extended[1]["content"] == user["content"] + "\n\nAnswer in French."
    assert "(No documents were found.)" in Context("", 0).to_messages("Why?")[1]["content"]
    ruled = context.to_messages("Why?", extra_rules=["Answer in Dutch.", "Name the page."])
    assert ruled[0]["content"] == system_prompt() + "\n- Answer in Dutch.\n- Name the page."


def test_the_user_message_may_have_a_template_of_its_own():
    context = assemble(HITS, AssemblyConfig(language="nl"))
    template = "Contextdocumenten:\n{context}\n\nVraag: {question}"
    user = context.to_messages("Wat zegt {context}?", "strict", "Kort.", template=template)[1]["content"]
    assert user == f"Contextdocumenten:\n{context.text}\n\nVraag: Wat zegt {{context}}?\n\nKort."
    empty = Context("", 0, language="nl").to_messages("Wat?", template=template)[1]["content"]
    assert "(Er zijn geen documenten gevonden.)" in empty


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"style": "loose"}, "style must be one of 'grounded', 'strict', 'soft', got 'loose'"),
        *(
            ({"template": wrong}, r"template must be a text with {context} and {question}, each once")
            for wrong in ("{context}", "{context} {context} {question}", 7)
        ),
        ({"question": None}, "question must be a string"),
        ({"extra_instructions": ["Short."]}, "extra_instructions must be a string"),
        *(({"extra_rules": wrong}, "extra_rules must be a sequence of strings") for wrong in ("Answer in Dutch.", [7])),
    ],
)
def test_wrong_arguments_are_errors(given: dict[str, Any], message: str):
    with pytest.raises((ConfigError, InputError), match=message):
        Context("x", 1).to_messages(**{"question": "Why?", **given})


def test_a_context_without_room_for_labels_asks_for_none():
    context = assemble(HITS, AssemblyConfig(max_tokens=3))
    assert context.text
    assert not context.has_labels
    assert "[" not in context.to_messages("Why?")[0]["content"]


@pytest.mark.parametrize(
    ("form", "template", "asked_for"),
    [
        ("numbered", "[{n}] {s}", "as in [1] or [1][3]"),
        ("numbered", "Bron [{n}]: {s}", "as in [1] or [1][3]"),
        ("source", "[SOURCE {n}] {s}", "as in [SOURCE 1]"),
        ("xml", '<chunk index="{n}" file="{s}">', "index of the chunk"),
        *(("custom", other, "no reference marks") for other in ("{n}. {s}", "[1] {s}", "report[{n}].pdf", "[{n}")),
        ("custom", r"{n}: \[{n}] (x)", "no reference marks"),
    ],
)
def test_a_function_that_writes_our_labels_is_prompted_for_them_and_read(form: str, template: str, asked_for: str):
    def header(heading: Heading) -> str:
        return template.format(n=heading.number, s=heading.source)

    context = assemble(HITS, AssemblyConfig(format=header))
    assert (context.format, context.has_labels) == (form, form != "custom")
    assert asked_for in context.to_messages("Why?")[0]["content"]
    assert [citation.document_id for citation in context.resolve("So it is [2].").citations] == ["B"]
    assert not assemble(HITS, AssemblyConfig(format=header, max_tokens=3)).has_labels
