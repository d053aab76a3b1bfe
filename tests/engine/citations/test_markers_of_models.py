"""Markers as models write them, and what looks like one: each read the same whole and in pieces, in every mode."""

from __future__ import annotations

import pytest

from ctxassembly import AnswerChain, Chunk, Context, Hit, MemoryIndex, RetrievalConfig, assemble

TEXTS = {
    "a": "Alum works as shown before [2]. It keeps [3] well in the dark. Aluin werkt zoals eerder getoond [2]. "
    "如前所示[2]。光に弱いので[3]暗所で保管する。",
    "b": "Two to eight.",
    "c": "One euro.",
}
CONTEXT: Context = assemble([Hit(Chunk(name, name, text, metadata={"source": name})) for name, text in TEXTS.items()])
MODES = ("keep", "renumber", "remove")


def cited(answer: str) -> str:
    """Return the sources cited, after reading `answer` in every mode, whole and in pieces of several sizes."""
    found = set()
    for mode in MODES:
        whole = CONTEXT.resolve(answer, mode)
        for size in (1, 2, 3, 7):
            reader = CONTEXT.reader(mode)
            pieces = [reader.feed(answer[at : at + size]) for at in range(0, len(answer), size)]
            assert "".join([*pieces, reader.close()]) == whole.text
            assert reader.resolved == whole
        found.add("".join(citation.source for citation in whole.citations))
    (sources,) = found
    return sources


THOUGHTS = {
    "a thought": "<think>Perhaps [3] or [2].</think>Water [1].",
    "with lines and code": "<think>\nVielleicht [3]?\n```\n[2]\n</think>\n\nWasser [1].",
    "begun in the prompt": "也许是[3]，或者[2]。</think>\n水[1]。",
    "unknown labels": "Peut-être [9].</think>De l'eau [1].",
    "two thoughts": "<think>[2]</think><think>[3]</think>Agua [1].",
    "another tag": "<thinking>[3]</thinking>Water [1].",
    "tags in brackets": "[THINK]Misschien [3].[/THINK]Water [1].",
    "tags of triangles": "◁think▷[3]◁/think▷Water [1].",
    "a name before": "<seed:think>[3]</seed:think>Water [1].",
}


@pytest.mark.parametrize("answer", THOUGHTS.values(), ids=THOUGHTS)
def test_labels_in_thoughts_do_not_count(answer: str) -> None:
    assert cited(answer) == "a"
    assert CONTEXT.resolve(answer).unknown == ()
    assert CONTEXT.resolve(answer, "keep").text == answer


def test_a_thought_that_does_not_end_is_all_of_the_answer() -> None:
    assert cited("<think>Perhaps [3] or [2]") == ""


@pytest.mark.parametrize("answer", ["Write `<think>` [1].", "If x <= 3 and y<thin it floats [1].", "[Thin] ice [1]."])
def test_what_only_looks_like_a_thought_is_text(answer: str) -> None:
    assert cited(answer) == "a"


LOCATORS = (
    "[1, p. 2]",
    "[1, pp. 2-3]",
    "[1 p. 2]",
    "[1, p.2]",
    "[1, S. 3]",
    "[1, blz. 2]",
    "[1, pág. 3]",
    "[1, page iv]",
    "[1, стр. 2]",
    "[1, 第2页]",
    "[1, 2页]",
    "[1, 3ページ]",
    "[1 § 2]",
    "[1, Abs. 3 Satz 2]",
    "[1, Table 3, row 2]",
    "[1 (p. 2)]",
    "[1: lines 2-3]",
    "[1; p. 2]",
    "[Source 1, page 2]",
    "【1†source】",
    "【1†L2-L3】",
    "【1:2†source】",
)


@pytest.mark.parametrize("marker", LOCATORS)
def test_a_place_in_the_source_is_no_label(marker: str) -> None:
    assert cited(f"Water {marker}.") == "a"
    assert CONTEXT.resolve(f"Eight [2]. Water {marker}.").text == f"Eight [1]. Water {marker.replace('1', '2', 1)}."


SEVERAL = {
    "[1, 2 and 3]": "abc",
    "[1, 2, and 3]": "abc",
    "[1 en 2]": "ab",
    "[1, 2 und 3]": "abc",
    "[1 et 3]": "ac",
    "[1 y 2]": "ab",
    "[1 & 2]": "ab",
    "[1、2和3]": "abc",
    "[1と3]": "ac",
    "[1과 2]": "ab",
    "[1 и 3]": "ac",
    "[1 and 2, p. 3]": "ab",
    "[1, p. 2; 3, p. 2]": "ac",
    "【1†source, 3†source】": "ac",
    "[citation:1]": "a",
    "[Citation: 1, 2]": "ab",
    "[ref 3]": "c",
    "[doc 2]": "b",
    "[^1]": "a",
    "[^1][^2]": "ab",
    "［1］": "a",
    "［１］": "a",
    "［1、3］": "ac",
}


@pytest.mark.parametrize(("marker", "sources"), SEVERAL.items(), ids=SEVERAL)
def test_labels_in_the_forms_of_models(marker: str, sources: str) -> None:
    assert cited(f"Water {marker}.") == sources


@pytest.mark.parametrize(
    "text", ["[2 apples]", "[1, n]", "[1, x2]", "[1, null]", "[2.5]", "[1 2]", "[see 2]", "[12 May 2024]"]
)
def test_other_brackets_with_numbers_are_text(text: str) -> None:
    assert cited(f"Eat {text} [1].") == "a"
    assert CONTEXT.resolve(f"Eat {text} [1].").text == f"Eat {text} [1]."


COPIED = {
    "before its own label": "Alum works as shown before [2] [1].",
    "without a blank": "Alum works as shown before [2][1].",
    "inside the sentence": "It keeps [3] well in the dark [1].",
    "after words of the model's own": "The leaflet says that it keeps [3] well in the dark [1].",
    "Dutch": "Aluin werkt zoals eerder getoond [2] [1].",
    "Chinese": "如前所示[2][1]。",
    "Japanese": "光に弱いので[3]暗所で保管する[1]。",
}


@pytest.mark.parametrize("answer", COPIED.values(), ids=COPIED)
def test_a_marker_copied_with_its_words_stays_as_it_is(answer: str) -> None:
    assert cited(answer) == "a"
    assert CONTEXT.resolve(answer).text == answer
    copied = "[3]" if "[3]" in answer else "[2]"
    assert copied in CONTEXT.resolve(answer, "remove").text


@pytest.mark.parametrize(
    ("answer", "sources"),
    [
        ("Alum works as shown before [2].", "b"),  # alone at the end it may be the model's own
        ("It keeps [3] badly [1].", "ca"),
        ("Alum works in all cases [2] [1].", "ba"),
        ("It keeps [3] well in the dark. Water helps [1].", "ca"),
    ],
)
def test_other_words_before_a_marker_make_it_the_model_s_own(answer: str, sources: str) -> None:
    assert cited(answer) == sources


CODE = (
    "Set list[2] = 5 [1].",
    "Set list[2]=5 [1].",
    "Grow grid[2][3] += 4 [1].",
    "If items[2] == 4 [1].",
    "Setze größe[2] = 4 [1].",
    "Read x[2].name [1].",
    "Read items[2].name [1].",
    "Call f[2](3) [1].",
    "Call handlers[2](event) [1].",
    "Call print(items[2]) [1].",
    "In the interval [2, 3] kg [1].",
    "Zwischen [2, 3] Meter [1].",
    "Dans [2, 3] mètres [1].",
    "For x ∈ [2, 3] it floats [1].",
    "Set x = [2, 3] first [1].",
    "Im Intervall [2, 3] mg [1].",
    "Durante [2, 3] días [1].",
    "区间[2, 3]毫克[1]。",
    "Take [2-3] ml [1].",
    "Heat to [2; 3] °C [1].",
)


@pytest.mark.parametrize("answer", CODE)
def test_an_index_and_an_interval_stay_as_they_are(answer: str) -> None:
    assert cited(answer) == "a"
    assert CONTEXT.resolve(answer).text == answer


@pytest.mark.parametrize(
    ("answer", "sources"),
    [
        ("From two to eight[2], or less.", "b"),
        ("From two to eight[2]. Then more.", "b"),
        ("Von zwei bis acht[2][3].", "bc"),
        ("Eight[2] => open.", "b"),
        ("Water (two to eight[2]) helps.", "b"),
        ("水([2])。", "b"),
        ("Open [2, 3] daily.", "bc"),
        ("Open [2, 3]. Kg are pounds.", "bc"),
        ("Eight[2](https://hospital.example/b).", "b"),
    ],
)
def test_a_label_after_a_word_counts(answer: str, sources: str) -> None:
    assert cited(answer) == sources


@pytest.mark.parametrize(
    "thought", ["<think>Perhaps wine? It says “two”. Or [3].</think>", "Vielleicht Wein? Ja.</think>\n"]
)
def test_thoughts_are_no_sentences_of_the_answer(thought: str) -> None:
    said = "Alum works as shown [1]. Then 9 to 10 [2]."
    index = MemoryIndex([Chunk("a", "a", TEXTS["a"]), Chunk("b", "b", TEXTS["b"])])
    keyword = RetrievalConfig(strategy="keyword")
    plain, thinking = (
        AnswerChain.from_index(index, lambda request, text=text: text, keyword).answer("How does alum work?")
        for text in (said, thought + said)
    )
    assert thinking.quality == plain.quality
    assert thinking.quotes == ()
    found = CONTEXT.check_support(thought + said)
    assert [(one.text, one.score) for one in found] == [(one.text, one.score) for one in CONTEXT.check_support(said)]
    assert all((thought + said)[slice(*one.span)].strip() == one.text for one in found)
