"""Documents split by LangChain, read for a question: what is found in the middle of them, whole and with its header."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

from builders import count
from ctxassembly import AssemblyConfig, Context
from langchain_ctxassembly import ContextAssembler, number_chunks
from langchain_samples import memory_store

ANSWER = "Ferritin is measured in the morning, before breakfast."


def split(texts: dict[str, str], size: int, **settings: Any) -> list[Document]:
    splitter = RecursiveCharacterTextSplitter(chunk_size=size, add_start_index=True, **settings)
    sources = [Document(text, metadata={"source": name}) for name, text in texts.items()]
    return number_chunks(splitter.split_documents(sources))


def assembled(hits: list[Document], query: str, stored: list[Document] | None = None, **settings: Any) -> Context:
    config = AssemblyConfig(neighbors="unfiltered", **settings)
    store = None if stored is None else memory_store(stored)
    return ContextAssembler(config=config, store=store).as_context().invoke({"documents": hits, "query": query})


def visit(name: str, number: int) -> str:
    return f"In room {number} of {name} the visitors wait for their doctor and read the news of day {number}."


@pytest.mark.parametrize("cite", ["document", "passage", "chunk"])
def test_the_answer_is_in_the_first_label_and_all_else_comes_once(cite: Any) -> None:
    texts = {name: [visit(name, number) for number in range(50)] for name in ("A", "B", "C")}
    texts["B"].insert(25, ANSWER)
    joined = {name: " ".join(sentences) for name, sentences in texts.items()}
    hits = split(joined, 900, chunk_overlap=180, separators=[". "], keep_separator="end")
    context = assembled(hits, "When is ferritin measured?", max_tokens=4_000, fill=True, cite=cite)
    assert ANSWER in context.text[slice(*context.citations[0].span)]
    assert context.text.index(visit("B", 24)) < context.text.index(visit("A", 5))
    assert count(context.text[: context.text.index(visit("B", 23))]) < 500
    assert all(context.text.count(visit(name, number)) == 1 for name in texts for number in range(50))


STEPS = "".join(f"{number}. Press button {number} and wait for the lamp to be green.\n" for number in range(1, 9))
ASIDES = "".join(
    f"## The {name} lab\n\nA centrifuge of the {name} lab is cleaned elsewhere, by other people of another team.\n\n"
    for name in ("northern", "southern", "western", "eastern", "upper", "lower")
)


def test_a_section_is_kept_to_its_end_where_its_heading_answers() -> None:
    page = f"# Manual\n\nAbout machines.\n\n## Cleaning the centrifuge\n\n{STEPS}\n{ASIDES}"
    separators = RecursiveCharacterTextSplitter.get_separators_for_language(Language.MARKDOWN)
    stored = split({"manual": page}, 300, chunk_overlap=0, separators=separators, is_separator_regex=True)
    hits = [one for one in stored if "entrifuge" in one.page_content]
    query = "How do I go about cleaning the centrifuge?"
    context = assembled(hits, query, stored, max_tokens=210, format="minimal", granularity="sentence")
    assert STEPS.strip() in context.text


HEAD = "| dish | price in euros | allergens |\n|---|---|---|"
DISHES = [f"| dish {number} with cheese | {number}.50 | milk and nuts |" for number in range(90)]


@pytest.mark.parametrize("granularity", ["auto", "sentence", "chunk", "passage"])
def test_rows_of_the_next_chunk_have_the_header_of_their_table(granularity: Any) -> None:
    menu = f"# Menu\n\n{'The kitchen is open from noon to nine. ' * 9}\n\n{HEAD}\n" + "\n".join(DISHES)
    stored = split({"menu.md": menu}, 600, chunk_overlap=60)
    for dish in (5, 9):
        hits = [one for one in stored if DISHES[dish] in one.page_content][:1]
        query = f"What does dish {dish} cost?"
        context = assembled(hits, query, stored, max_tokens=400, format="minimal", granularity=granularity)
        assert HEAD in context.text.partition(DISHES[dish])[0]
        assert DISHES[dish] in context.text


FILLER = "The certificate covers the whole organization, and the auditors renew it each year. "


@pytest.mark.parametrize("max_tokens", [120, 300])
@pytest.mark.parametrize(
    ("asked", "other"), [("ISO27001", "ISO27002"), ("get_user_name", "get_user_mail"), ("a != b", "a == b")]
)
def test_an_identifier_is_not_taken_for_one_that_begins_alike(asked: str, other: str, max_tokens: int) -> None:
    others = [f"{FILLER * 3}Part {n} has the requirements of {other} with all controls. " * 2 for n in range(6)]
    texts = [*others[:3], f"{FILLER * 2}The annex has the requirements of {asked}. {FILLER * 2}", *others[3:]]
    hits = split({f"{n}.pdf": text for n, text in enumerate(texts)}, 600, chunk_overlap=60)
    context = assembled(hits, f"What are the requirements of {asked}?", max_tokens=max_tokens)
    assert f"The annex has the requirements of {asked}." in context.text
