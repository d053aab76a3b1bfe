from __future__ import annotations

import pytest

from ctxassembly.citations.markers import SpokenText

MARK = None


def spoken(*parts: str | None) -> str:
    speech, said = SpokenText(), []
    for part in parts:
        if part is MARK:
            speech.skip_marker()
        else:
            said += speech.feed(part)
    return "".join((*said, *speech.close()))


@pytest.mark.parametrize(
    ("rule", "parts", "said"),
    [
        ("blanks before a marker go with it", ("A fact ", MARK, "."), "A fact."),
        ("all of them", ("A fact \t\u00a0", MARK, "."), "A fact."),
        ("and the ones after it stay", ("A fact ", MARK, " and more."), "A fact and more."),
        ("a comma between two markers goes", ("A fact ", MARK, ", ", MARK, "."), "A fact."),
        ("at most one", ("A fact ", MARK, ",, ", MARK, "."), "A fact,,."),
        ("one before a word stays", ("A fact ", MARK, ", and more."), "A fact, and more."),
        ("a line that begins with one begins with its text", ("Yes.\n", MARK, " No."), "Yes.\nNo."),
        ("so does the answer", (MARK, " No."), "No."),
        ("the end of a line stays", ("Yes ", MARK, "\nNo."), "Yes\nNo."),
        ("a blank that parted two words stays", ("A fact ", MARK, "and more."), "A fact and more."),
        ("where there was none, none comes", ("事実", MARK, "です"), "事実です"),
        ("blanks elsewhere stay", ("  a  b ", "  c  "), "  a  b   c  "),
        ("so do commas", ("a, ,b", ",", " c;"), "a, ,b, c;"),
    ],
)
def test_what_a_voice_reads(rule: str, parts: tuple[str | None, ...], said: str):
    assert spoken(*parts) == said
    letters = [each for part in parts for each in ([part] if part is MARK else part)]
    assert spoken(*letters) == said
