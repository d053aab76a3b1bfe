"""Code and YAML split by LangChain, with the indentation at the beginning of chunks and without."""

from __future__ import annotations

import inspect
import json.encoder
import warnings

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

from ctxassembly import AssemblyConfig, NothingToJoinWarning
from langchain_ctxassembly import ContextAssembler, number_chunks

CODE = inspect.getsource(json.encoder)
SERVICE = "  web{0}:\n    image: nginx\n    ports:\n      - 80{0}:80\n    environment:\n      NAME: web{0}\n"
YAML = "services:\n" + "".join(SERVICE.format(n) for n in range(10, 40))
CONFIG = AssemblyConfig(max_tokens=30_000, format="minimal")


def python_splitter(*, strip_whitespace: bool) -> RecursiveCharacterTextSplitter:
    return RecursiveCharacterTextSplitter.from_language(
        Language.PYTHON, chunk_size=400, chunk_overlap=0, strip_whitespace=strip_whitespace
    )


def assembled(text: str, splitter: RecursiveCharacterTextSplitter) -> str:
    documents = number_chunks(splitter.split_documents([Document(text, metadata={"source": "a"})]))
    return str(ContextAssembler(config=CONFIG).as_context().invoke({"documents": documents, "query": None}))


def test_lost_indentation_is_marked_and_the_warning_names_the_setting():
    splitters = [
        python_splitter(strip_whitespace=True),
        RecursiveCharacterTextSplitter(chunk_size=400, chunk_overlap=0),
    ]
    for text, splitter in zip((CODE, YAML), splitters, strict=True):
        with pytest.warns(NothingToJoinWarning, match="lost its indentation.*strip_whitespace=False"):
            assert "\n[...]\n" in assembled(text, splitter)


def test_code_with_its_indentation_is_joined():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert assembled(CODE, python_splitter(strip_whitespace=False)).split() == CODE.split()
