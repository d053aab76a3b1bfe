from __future__ import annotations

import pytest

from ctxassembly.citations.markers import from_superscript, labels_in, relabel, to_superscript


@pytest.mark.parametrize(
    ("inner", "labels"),
    [
        ("1", ["1"]),
        ("01", ["1"]),
        ("1, 2", ["1", "2"]),
        ("2;1 ,3", ["2", "1", "3"]),
        ("1-3", ["1", "2", "3"]),
        ("1–3, 2", ["1", "2", "3"]),
        ("SOURCE 2", ["2"]),
        ("source: 2", ["2"]),
        ("SOURCES 1, 2", ["1", "2"]),
        ("SOURCE 1, SOURCE 4", ["1", "4"]),
        ("SOURCE 1 - SOURCE 3", ["1", "2", "3"]),
        ("Bron 2", ["2"]),
        ("1-50", [str(n) for n in range(1, 51)]),
    ],
)
def test_what_a_marker_names(inner: str, labels: list[str]):
    assert labels_in(inner) == tuple(labels)


@pytest.mark.parametrize(
    ("rule", "inner"),
    [
        ("words are no labels", "see 1"),
        ("nor is nothing", " "),
        ("nor half a list", "1,"),
        ("nor half a range", "1-"),
        ("nor what ends before it begins", "3-1"),
        ("ranges are bounded", "1-51"),
        ("ranges are bounded", "1-999999"),
        ("nor a long number", "1234567"),
        ("nor a date", "2024-01-02"),
        ("nor two numbers without a comma", "1 2"),
    ],
)
def test_what_is_no_marker(rule: str, inner: str):
    assert labels_in(inner) == ()


@pytest.mark.parametrize(
    ("inner", "new", "written"),
    [
        ("1", {"1": "7"}, "7"),
        ("SOURCE 1, SOURCE 4", {"1": "2", "4": "1"}, "SOURCE 2, SOURCE 1"),
        ("2-4", {"2": "1", "3": "2", "4": "3"}, "1-3"),
        ("2 – 4", {"2": "1", "3": "2", "4": "3"}, "1 – 3"),
        ("2-4", {"2": "1", "3": "5", "4": "2"}, "1, 5, 2"),
        ("1, 9", {"1": "2"}, "2, 9"),
    ],
)
def test_a_marker_with_other_labels(inner: str, new: dict[str, str], written: str):
    assert relabel(inner, lambda label: new.get(label, label)) == written


@pytest.mark.parametrize(
    ("superscript", "known", "inner"),
    [
        ("¹²", {"1", "2", "12"}, "12"),
        ("¹²", {"1", "2"}, "1,2"),
        ("¹²", {"1"}, "12"),
        ("¹,²", {"1", "2"}, "1,2"),
        ("¹⁻³", {"1"}, "1-3"),
    ],
)
def test_superscripts_name_the_label_that_there_is(superscript: str, known: set[str], inner: str):
    assert from_superscript(superscript, known) == inner


def test_superscripts_are_written_as_they_are_read():
    assert to_superscript("12, 3-4") == "¹²,³⁻⁴"
