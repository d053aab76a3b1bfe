from __future__ import annotations

import importlib.util
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import count, encoding
from ctxassembly.tokens import counter as tokens
from ctxassembly.tokens.counter import FAST_ENCODINGS, MAX_CHARS, SAFE_CHARACTERS, _probes, counter_for, faster_counter
from strategies import FRAGMENTS

real = pytest.mark.skipif(not importlib.util.find_spec("toktok"), reason="needs toktok-rs: ctxassembly[fast]")

CLASSES = "Aas1 \t\n\r'./é中\u0301\u00a0ǅ½😀ſ\u3000ʰ\u200d²٣\x00\u0378\u088f\U00010940\ud83d"
"""Characters of every kind that the patterns tell apart; the last four are unassigned, new or a surrogate."""


def settled() -> Iterator[str]:
    return (c for c in map(chr, range(sys.maxunicode + 1)) if re.match(f"[{SAFE_CHARACTERS}]", c))


class Toktok(SimpleNamespace):
    """What `import toktok` gives: it counts by `counted` and keeps what it was asked."""

    def __init__(self, counted: Callable[[str, str], int] = count) -> None:
        super().__init__(counted=counted, asked=[])

    def truncate(self, text: str, max_tokens: int, encoding: str) -> tuple[str, int]:
        self.asked.append(text)
        return text, self.counted(text, encoding)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    """Make something what `import toktok` gives (None: it is not installed), for counters that are made anew."""

    def installed(module: Any) -> Any:
        monkeypatch.setitem(sys.modules, "toktok", module)
        monkeypatch.setattr(tokens, "_tiktoken_counter", cache(tokens._tiktoken_counter.__wrapped__))
        return module

    return installed


def asked_for(text: str, toktok: Toktok) -> bool:
    """Whether toktok is asked to count `text`."""
    toktok.asked.clear()
    assert counter_for("cl100k_base")(text) == count(text)
    return text in toktok.asked


def test_one_that_counts_right_is_used(install: Callable[[Any], Any]):
    toktok = install(Toktok())
    assert asked_for("Bring your card.", toktok)
    assert asked_for("診察の前に水を飲んでもよい。 Café, \uf0b7 \ufb01n 👩‍👩‍👧 🇧🇪 ☕️", toktok)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("a letter since Unicode 17", "a\u088f's"),
        ("a digit since Unicode 17", "1\U00011de023"),
        ("a small letter until Unicode 17", "SʕTe"),
        ("an s in 's to tiktoken alone", "e'ſ'Rete"),
        ("unassigned", "\u0378"),
        ("a lone surrogate", "a \ud83d b"),
        ("so long that tiktoken may give up", "a " * (MAX_CHARS // 2) + "b"),
    ],
)
def test_what_they_may_disagree_about_is_not_asked(install: Callable[[Any], Any], rule: str, text: str):
    assert not asked_for(text, install(Toktok()))


def no_such_encoding(text: str, name: str) -> int:
    raise KeyError(f"unknown encoding {name!r}")


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (Toktok(lambda text, name: count(text, name) + 1), r"toktok-rs counts '' differently from tiktoken"),
        (
            Toktok(lambda text, name: len(encoding(name).encode(text, allowed_special="all"))),
            "toktok-rs counts 'def area",
        ),
        (Toktok(no_such_encoding), r"toktok-rs fails \(KeyError\(\"unknown encoding 'cl100k_base'\"\)\)"),
    ],
)
def test_one_that_is_wrong_is_not_used_and_named_once(install: Callable[[Any], Any], module: Any, reason: str):
    install(module)
    with pytest.warns(
        RuntimeWarning, match=rf"(?s)^The tokenizer {reason}.* Tokens of cl100k_base are counted by tiktoken, "
    ) as caught:
        counts = [counter_for("cl100k_base")(text) for text in ("Bring your card.", "", "Ḁ's")]
    assert len(caught) == 1
    assert counts == [count("Bring your card."), 0, count("Ḁ's")]


def test_settled_characters_are_assigned_in_every_python():
    assert {unicodedata.category(c) for c in settled()}.isdisjoint({"Cn", "Cs"})


def test_the_probes_show_every_range_and_nothing_else():
    probed = "".join(_probes())
    assert re.fullmatch(f"[{SAFE_CHARACTERS}]*", probed)
    assert all(end in probed for end in SAFE_CHARACTERS.replace("-", ""))


@cache
def with_toktok(name: str) -> Callable[[str], int]:
    return faster_counter(name, lambda text: count(text, name))


@real
@pytest.mark.parametrize("name", FAST_ENCODINGS)
def test_the_real_one_is_used(name: str):
    def by_tiktoken(text: str) -> int:
        return count(text, name)

    assert faster_counter(name, by_tiktoken) is not by_tiktoken


@real
@pytest.mark.parametrize("name", FAST_ENCODINGS)
@given(st.lists(st.sampled_from(FRAGMENTS) | st.sampled_from(CLASSES) | st.text(max_size=6)).map("".join))
def test_the_real_one_counts_what_tiktoken_counts(name: str, text: str):
    assert with_toktok(name)(text) == count(text, name)


@real
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_the_real_one_takes_every_character_it_may_see_for_what_tiktoken_does(name: str):
    for c in islice(settled(), 0, None, 7):
        text = f"{c}'s 1{c}23 A{c}BC  {c}\n\n{c}/"
        assert with_toktok(name)(text) == count(text, name)
