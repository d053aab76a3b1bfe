"""What of a text is prose, and what belongs to a list, a table or code."""

from __future__ import annotations

import pytest

from ctxassembly.text.sentences import classify_sentences

PROSE = "The gate opens at six. It closes at ten."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PROSE, ["The gate opens at six.", "It closes at ten."]),
        ("門は六時に開く。十時に閉まる。", ["門は六時に開く。", "十時に閉まる。"]),
        ("# Hours.\n\n" + PROSE, ["The gate opens at six.", "It closes at ten."]),
        ("Hours\nThe gate opens at six.", ["The gate opens at six."]),
        ("- The gate opens at six. It closes at ten.\n  On Sundays it stays shut.\n\nCome in.", ["Come in."]),
        ("| gate | opens at six. |\n|---|---|\n| door | never. |\n\nCome in.", ["Come in."]),
        ("Gate     opens at six.\nDoor\tnever.\nCome in.", ["Come in."]),
        ("```\nprint('It opens.')\nIt closes.\n```\nCome in.", ["Come in."]),
        (">>> # It opens.\n// It closes.\n# It is shut.\nCome in.", ["Come in."]),
        ("Come in. And then the text is cut", ["Come in."]),
        (" \n ", []),
    ],
)
def test_prose_is_what_ends_with_a_stop_and_stands_in_no_list_table_or_code(text: str, expected: list[str]):
    found = classify_sentences([text])[0]
    assert [each.text for each in found if each.is_prose] == expected
    assert "".join(text[each.start : each.end] for each in found) == text


def test_what_belongs_together_is_told_from_headings():
    belong = {each.text: each.is_structured for each in classify_sentences(["Hours\n\n- six\n- ten\n\nDays\n"])[0]}
    assert belong == {"Hours": False, "- six": True, "- ten": True, "Days": False}
