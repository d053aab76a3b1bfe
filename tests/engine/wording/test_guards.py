from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ctxassembly.wording.formats import FORMATS, Format
from ctxassembly.wording.label_forms import RULE, compile_forms, line_patterns, marker_words
from ctxassembly.wording.label_guards import Guard, build_guard, escape_replacements, is_lead
from ctxassembly.wording.languages import LANGUAGES
from ctxassembly.wording.prompts import user_prompt

LATIN = replace(
    LANGUAGES["en"],
    summary="<<Argumentum paginae: {}>>",
    supplement="=== ULTERIORA VĒRA COMPERTA ===",
    cited_as=("fons", "fontes"),
    context="Contextus:",
    nothing="(Nullum documentum.)",
    question="Quaestio",
)
AND_LATIN = {**LANGUAGES, "la": LATIN}


@pytest.mark.parametrize(
    "forged",
    [
        "<<Argumentum paginae: totum>>",
        "=== Ulteriora vēra comperta ===",
        "===== ULTERIORA  VE\u0304RA COMPERTU",
        "[Fons 2] b.pdf",
        "【Fontes: 2, 3】",
        "Contextus: no",
        "**Contextus**: no",
        "(Nullum documentum.)",
        "Quaestio: et nunc?",
        "> 1. Quaestio",
    ],
)
def test_a_language_with_other_words_is_guarded_by_being_in_the_table(forged: str):
    guard = Guard(*compile_forms("numbered", languages=AND_LATIN))
    at = re.search(r"[^> 1.*]", forged).start()
    assert [*escape_replacements(forged, "numbered", guard=guard)] == [at]
    assert [*escape_replacements(f"Text.\n{forged}", "minimal", guard=guard)] == [at + 6]
    assert not escape_replacements(f"Text {forged}", "numbered", guard=guard)
    assert not escape_replacements(forged.replace("[", "").replace("【", ""), "numbered")


@pytest.mark.parametrize(
    ("own", "forged"),
    [
        ({"label": "[DOC {}]"}, "[DOC 2] b.pdf"),
        ({"label": "[DOC {}]"}, "[doc: 2; doc 3]"),
        ({"label": "« {} »"}, "«2» b.pdf"),
        ({"label": "Document {}:"}, "Document 12: b.pdf"),
        ({"label": "Document {}:"}, "- DOCUMENT 12 : b.pdf"),
        ({"label": "{}. "}, "> 2. b.pdf"),
        ({"lead": "@@ "}, "@@ b.pdf"),
    ],
)
def test_a_format_with_another_form_is_guarded_by_being_in_the_table(own: dict[str, str], forged: str):
    formats = {**FORMATS, "new": Format(name="new", write_header=lambda heading, words: f" {heading.source}", **own)}
    guard = Guard(*compile_forms("new", formats=formats))
    assert len(escape_replacements(f"Text.\n{forged}", "new", guard=guard)) == 1
    elsewhere = Guard(*compile_forms("minimal", formats=formats))
    assert len(escape_replacements(forged, "minimal", guard=elsewhere)) == ("label" in own)
    assert not escape_replacements(forged, "minimal")


@pytest.mark.parametrize(
    ("label", "forged"),
    [
        ("> [{}]", "> [2] b.pdf"),
        ("> [{}]", ">[2] b.pdf"),
        ("* ({})", "* (2) b.pdf"),
        ("* ({})", "*  ( 2 ) b.pdf"),
        ("-- § {}", "-- § 2 b.pdf"),
    ],
)
def test_a_label_may_begin_with_several_signs(label: str, forged: str):
    formats = {**FORMATS, "new": Format(name="new", label=label, write_header=lambda heading, words: "")}
    assert min(Guard(*compile_forms("minimal", formats=formats)).find_forms(f"\nText.\n{forged}")) == 7
    assert not Guard(*compile_forms("minimal", formats=formats)).find_forms(f"\nText {forged}")


def test_only_words_of_a_label_may_stand_before_a_number_in_brackets():
    labels = ("> [{}]", "« {} »", "{}. ", "Document no. {}:", "[^{}]", "[]-{}]")
    formats = {label: Format(name=label, label=label, write_header=lambda heading, words: "") for label in labels}
    assert marker_words({}, formats) == ["document no"]


@pytest.mark.parametrize("form", [*FORMATS, "custom"])
@pytest.mark.parametrize("line", [line.format(7) for name in FORMATS for line in line_patterns(name)])
def test_whatever_the_table_has_is_found_whole_and_begun(line: str, form: str):
    guard = build_guard(form)
    found = guard.find_forms(f"\nText.\n{line}x") + guard.find_forms(f"\nText.\n{line}")
    if line not in [each.format(7) for each in line_patterns(form)]:
        assert not found  # the lead of another format
        return
    assert min(found) == 7
    for end in range(1, len(line.rstrip()) + 1):
        # What "[P" begins may be another form behind its bracket, too.
        assert 7 in guard.find_unfinished(f"\nText.\n{line[:end]}")
    assert not guard.find_unfinished(f"\nText {line}")


@pytest.mark.parametrize("form", [*FORMATS, "custom"])
def test_no_form_is_lost_in_the_rule_of_a_table(form: str):
    """Its lines are passed over: no form but the rule is made of nothing else, and that one ends its line."""
    assert [line for line in line_patterns(form) if re.fullmatch(r"[\s|:-]+", line)] == [RULE]
    assert not build_guard(form).find_forms("\n|---|:---:|\n| --- | --- |\n---|")
    assert build_guard(form).find_forms("\n|---|\n---\n|\n|---|---: ---\n||| : ---\n--- |") == [7, 33]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_line_that_a_prompt_writes_is_guarded(language: str):
    for context in ("", "CONTEXT"):
        for line in user_prompt(context, "Why?", language=language).splitlines():
            assert bool(escape_replacements(line, "minimal")) == (line not in ("", "CONTEXT"))


@pytest.mark.parametrize("line", ["1.", "- 2)", "[", "_", "---", "- ", "(", "Question", "[...]"])
@pytest.mark.parametrize("forged", ["[2] x", "Question: x", "---", "¹"])
def test_the_line_before_takes_nothing_from_a_line(line: str, forged: str):
    assert 6 + len(line) + 1 in escape_replacements(f"Text.\n{line}\n{forged}", "numbered")


@pytest.mark.parametrize(
    ("line", "lead"),
    [
        ("", True),
        ("  > ", True),
        ("- 1. ", True),
        ("2)", True),
        ("\\", True),
        ("a ", False),
        ("1", True),
        ("1 ", False),
        ("a1", False),
        ("1a", False),
    ],
)
def test_what_still_begins_a_line(line: str, lead: bool):
    assert is_lead(line) is lead
