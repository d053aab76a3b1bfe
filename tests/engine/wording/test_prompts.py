from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from builders import hits_of, words_of
from ctxassembly import AssemblyConfig, Context, Heading, assemble
from ctxassembly.errors import ConfigError, InputError

STYLES = ("grounded", "strict", "soft")
LANGUAGES = ("en", "nl", "de", "fr", "es")
EXACTLY = "I don't have enough information in the provided context to answer this question."


def system_prompt(style: str = "grounded", *, form: Any = "numbered", language: str = "en", supplement: bool = False):
    config = AssemblyConfig(format=(lambda heading: "H") if form == "custom" else form, language=language)
    context = assemble(hits_of([words_of("A", 0)]), config, supplement="A fact." if supplement else None)
    return context.to_messages("Why?", style)[0]["content"]


def user_prompt(text: str, question: Any, *, language: str = "en", extra_instructions: Any = None):
    context = Context(text, len(text), language=language)
    return context.to_messages(question, extra_instructions=extra_instructions)[1]["content"]


@pytest.mark.parametrize(
    ("rule", "settings", "says"),
    [
        ("grounded: only the context", {"style": "grounded"}, "Use only what the context says."),
        ("grounded: say so when it does not suffice", {"style": "grounded"}, "If the context does not suffice, say so"),
        ("grounded: cite labels for specific claims", {"style": "grounded"}, "after each specific claim, as in [1]"),
        ("be concise", {"style": "grounded"}, "Be concise."),
        ("strict: as grounded", {"style": "strict"}, "Use only what the context says."),
        ("strict: no inference", {"style": "strict"}, "Do not infer"),
        ("strict: else exactly", {"style": "strict"}, EXACTLY),
        ("soft: context first", {"style": "soft"}, "Rely on the context first."),
        ("soft: and cited", {"style": "soft"}, "after each specific claim, as in [1]"),
        ("soft: general knowledge may clarify", {"style": "soft"}, "general knowledge to clarify"),
        ("the labels that the format shows", {"form": "source"}, "[SOURCE 1]"),
        ("in XML the index", {"form": "xml"}, "index of the chunk"),
        ("for voice no markers", {"form": "minimal"}, "Write no reference marks."),
        ("how to use a supplement", {"supplement": True}, "supplementary information"),
        ("Dutch", {"language": "nl"}, "Gebruik alleen wat in de context staat."),
        ("Dutch, strict", {"language": "nl", "style": "strict"}, "niet genoeg informatie"),
        ("Dutch, voice", {"language": "nl", "form": "minimal"}, "Schrijf geen verwijzingstekens."),
        ("Dutch, supplement", {"language": "nl", "supplement": True}, "aanvullende informatie"),
        ("German", {"language": "de"}, "Setzen Sie das Label der Quelle direkt hinter jede konkrete Aussage"),
        ("German, two examples", {"language": "de"}, "zum Beispiel [1] oder [1][3]."),
        ("French, strict", {"language": "fr", "style": "strict"}, "Le contexte fourni ne contient pas assez"),
        ("French, source", {"language": "fr", "form": "source"}, "par exemple [SOURCE 1]."),
        ("Spanish, soft", {"language": "es", "style": "soft"}, "Básese ante todo en el contexto."),
        ("Spanish, XML", {"language": "es", "form": "xml"}, "el índice del chunk entre corchetes"),
    ],
)
def test_what_the_model_is_told(rule: str, settings: dict, says: str):
    assert says in system_prompt(**settings)


@pytest.mark.parametrize(
    ("rule", "settings", "never"),
    [
        ("grounded has no fixed sentence", {"style": "grounded"}, EXACTLY),
        ("nor has soft", {"style": "soft"}, EXACTLY),
        ("grounded adds no knowledge", {"style": "grounded"}, "general knowledge"),
        ("nor does strict", {"style": "strict"}, "general knowledge"),
        ("soft is not held to the context", {"style": "soft"}, "Use only"),
        ("one way to say that it does not suffice", {"style": "strict"}, "what is missing"),
        ("no supplement, no word of it", {}, "supplement"),
    ],
)
def test_what_the_model_is_not_told(rule: str, settings: dict, never: str):
    assert never not in system_prompt(**settings)


@pytest.mark.parametrize(("style", "language"), list(product(STYLES, LANGUAGES)))
@pytest.mark.parametrize("form", ["minimal", "grouped", "custom"])
def test_no_labels_are_asked_for_where_none_are_shown(style: str, language: str, form: str):
    prompt = system_prompt(style, form=form, language=language)
    assert "[" not in prompt
    assert "label" not in prompt


@pytest.mark.parametrize(("style", "form"), list(product(STYLES, ["numbered", "source", "xml", "minimal"])))
def test_all_languages_have_the_same_rules(style: str, form: str):
    prompts = [system_prompt(style, form=form, language=language, supplement=True) for language in LANGUAGES]
    rules = [prompt.splitlines() for prompt in prompts]
    assert {len(each) for each in rules} == {len(rules[0])}
    assert len({line for each in rules for line in each}) == len(rules) * len(rules[0])


@pytest.mark.parametrize(
    ("language", "extra", "expected"),
    [
        ("en", None, "Context:\n[1] x\ny\n\n---\n\nQuestion: Why?"),
        ("nl", None, "Contextdocumenten:\n[1] x\ny\n\n---\n\nVraag: Why?"),
        ("de", None, "Kontext:\n[1] x\ny\n\n---\n\nFrage: Why?"),
        ("fr", None, "Contexte :\n[1] x\ny\n\n---\n\nQuestion : Why?"),
        ("es", None, "Contexto:\n[1] x\ny\n\n---\n\nPregunta: Why?"),
        ("en", "Answer in French.", "Context:\n[1] x\ny\n\n---\n\nQuestion: Why?\n\nAnswer in French."),
        ("en", "", "Context:\n[1] x\ny\n\n---\n\nQuestion: Why?"),
    ],
)
def test_the_question_stands_under_the_context(language: str, extra: str | None, expected: str):
    assert user_prompt("[1] x\ny", "Why?", language=language, extra_instructions=extra) == expected


@pytest.mark.parametrize(("language", "says"), [("en", "(No documents were found.)"), ("nl", "geen documenten")])
def test_an_empty_context_says_so(language: str, says: str):
    assert says in user_prompt("", "Why?", language=language)


def test_braces_are_mere_text():
    assert user_prompt("{x} {0}", "{question}?", extra_instructions="{}").count("{") == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"style": "loose"}, "style must be one of 'grounded', 'strict', 'soft', got 'loose'"),
        ({"language": "xx"}, f"language must be one of {str([*LANGUAGES])[1:-1]}, got 'xx'"),
    ],
)
def test_wrong_settings_are_errors(settings: dict, message: str):
    with pytest.raises(ConfigError, match=message):
        system_prompt(**settings)


@pytest.mark.parametrize("texts", [{"question": None}, {"question": "Why?", "extra_instructions": ["Short."]}])
def test_a_question_is_text(texts: dict):
    with pytest.raises(InputError, match="must be a string"):
        user_prompt("x", **texts)


@pytest.mark.parametrize("form", ["numbered", "source", "xml", "grouped", "minimal"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_messages_fit_the_context(form: str, language: str):
    context = assemble(hits_of([words_of("A", 0)]), AssemblyConfig(format=form, language=language))
    assert context.to_messages("Why?", "strict", "Kind.") == [
        {"role": "system", "content": system_prompt("strict", form=form, language=language)},
        {
            "role": "user",
            "content": user_prompt(context.text, "Why?", language=language, extra_instructions="Kind."),
        },
    ]
    assert context.to_messages("Why?")[0]["content"] == system_prompt("grounded", form=form, language=language)


def test_a_context_without_room_for_labels_asks_for_none():
    context = assemble(hits_of([words_of("A", 0)]), AssemblyConfig(max_tokens=3))
    assert context.text
    assert not context.has_labels
    assert "[" not in context.to_messages("Why?")[0]["content"]


def test_a_context_made_by_hand_is_numbered_and_english():
    system, user = Context("[1] x\ny", 5).to_messages("Why?")
    assert system["content"] == system_prompt()
    assert user["content"].startswith("Context:\n[1] x")


def test_a_supplement_is_spoken_of_if_there_is_one():
    hits = hits_of([words_of("A", 0)])
    told = system_prompt(supplement=True)
    assert assemble(hits, supplement="A fact of the graph.").to_messages("Why?")[0]["content"] == told
    assert assemble(hits).to_messages("Why?")[0]["content"] != told


def test_a_function_of_the_callers_shows_labels_that_nobody_knows():
    context = assemble(hits_of([words_of("A", 0)]), AssemblyConfig(format=lambda heading: f"<{heading.number}>"))
    assert context.format == "custom"
    assert "[" not in context.to_messages("Why?")[0]["content"]


@pytest.mark.parametrize(
    ("form", "template", "asked_for"),
    [
        ("numbered", "[{n}] {s}", "as in [1] or [1][3]"),
        ("numbered", "Bron [{n}]: {s}", "as in [1] or [1][3]"),
        ("source", "[SOURCE {n}] {s}", "as in [SOURCE 1]"),
        ("xml", '<chunk index="{n}" file="{s}">', "index of the chunk"),
    ],
)
def test_a_function_that_writes_our_labels_is_prompted_for_them_and_read(form: str, template: str, asked_for: str):
    def header(heading: Heading) -> str:
        return template.format(n=heading.number, s=heading.source)

    hits = hits_of([words_of("A", 0), words_of("B", 0)])
    context = assemble(hits, AssemblyConfig(format=header))
    assert (context.format, context.has_labels) == (form, True)
    assert asked_for in context.to_messages("Why?")[0]["content"]
    resolved = context.resolve("So it is [2].")
    assert [citation.document_id for citation in resolved.citations] == ["B"]
    assert not assemble(hits, AssemblyConfig(format=header, max_tokens=3)).has_labels


@pytest.mark.parametrize("template", ["{n}. {s}", "[1] {s}", "report[{n}].pdf", "[{n}"])
def test_other_headers_are_not(template: str):
    form = AssemblyConfig(format=lambda heading: template.format(n=heading.number, s=heading.source))
    assert assemble(hits_of([words_of("A", 0), words_of("B", 0)]), form).format == "custom"


def test_rules_of_the_callers_come_last():
    context = assemble(hits_of([words_of("A", 0)]))
    told = context.to_messages("Why?", extra_rules=["Answer in Dutch.", "Name the page."])[0]["content"]
    assert told == system_prompt() + "\n- Answer in Dutch.\n- Name the page."
    for wrong in ("Answer in Dutch.", [7]):
        with pytest.raises(InputError, match="extra_rules must be a sequence of strings"):
            context.to_messages("Why?", extra_rules=wrong)


def test_the_user_message_may_have_a_template_of_its_own():
    context = assemble(hits_of([words_of("A", 0)]), AssemblyConfig(language="nl"))
    template = "Contextdocumenten:\n{context}\n\nVraag: {question}"
    user = context.to_messages("Wat zegt {context}?", template=template)[1]["content"]
    assert user == f"Contextdocumenten:\n{context.text}\n\nVraag: Wat zegt {{context}}?"
    assert context.to_messages("Wat?", "strict", "Kort.", template=template)[1]["content"].endswith("Wat?\n\nKort.")
    assert (
        "(Er zijn geen documenten gevonden.)"
        in Context("", 0, language="nl").to_messages("Wat?", template=template)[1]["content"]
    )
    for wrong in ("{context}", "{question}", "{context} {context} {question}", "", 7):
        with pytest.raises(ConfigError, match=r"template must be a text with {context} and {question}, each once"):
            context.to_messages("Wat?", template=wrong)
