from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys
from dataclasses import fields

import pytest

from ctxassembly import AssemblyConfig, RetrievalConfig
from ctxassembly.answering import AnswerConfig, Intent, Mode
from ctxassembly.data import validation
from ctxassembly.data.validation import describe_fields
from ctxassembly.enrichment import EnrichmentConfig
from ctxassembly.retrieval import Boost

CLASSES = (AnswerConfig, AssemblyConfig, Boost, EnrichmentConfig, Mode, RetrievalConfig)


@pytest.mark.parametrize("settings", CLASSES, ids=lambda one: one.__name__)
def test_help_explains_every_setting(settings: type):
    helped = pydoc.plain(pydoc.render_doc(settings))
    explained = dict(describe_fields(settings))
    assert len(explained) == len(fields(settings))
    for setting, declaration in zip(fields(settings), explained, strict=True):
        assert declaration.startswith(f"{setting.name}: ")
        assert len(explained[declaration]) >= 20
        assert f" |  {declaration}\n |      {explained[declaration].splitlines()[0]}" in helped


@pytest.mark.parametrize("settings", CLASSES, ids=lambda one: one.__name__)
def test_an_explanation_says_what_the_setting_is(settings: type):
    for declaration, text in describe_fields(settings):
        assert text[0].isupper(), declaration
        assert text.endswith((".", ".)")), declaration


def test_a_field_without_a_docstring_is_no_setting_that_is_explained():
    assert [line.partition(":")[0] for line, _ in describe_fields(Intent)] == ["description", "answer"]


def test_without_the_source_the_class_docstring_is_left(monkeypatch: pytest.MonkeyPatch):
    def bundled(_: object) -> str:
        raise OSError("could not get source code")

    validation.describe_fields.cache_clear()
    monkeypatch.setattr(inspect, "getsource", bundled)
    assert (AssemblyConfig.__doc__ or "").startswith("The settings of an assembly.")
    assert "max_tokens: " not in (AssemblyConfig.__doc__ or "")
    validation.describe_fields.cache_clear()


@pytest.mark.parametrize("option", ["-B", "-OO"])
def test_importing_reads_no_source(option: str):
    code = (
        "import inspect\n"
        "read, inspect.getsource = inspect.getsource, None\n"
        "from ctxassembly import AssemblyConfig, RetrievalConfig\n"
        "from ctxassembly.answering import AnswerConfig\n"
        "AssemblyConfig(), AnswerConfig(), RetrievalConfig()\n"
        "inspect.getsource = read\n"
        "print('max_tokens: ' in AssemblyConfig.__doc__)\n"
    )
    done = subprocess.run([sys.executable, option, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


@pytest.mark.parametrize("settings", CLASSES, ids=lambda one: one.__name__)
def test_a_setting_that_there_is_not_is_an_error(settings: type):
    with pytest.raises(TypeError, match="unexpected keyword argument 'neighbours'"):
        settings(neighbours="auto")


@pytest.mark.parametrize("settings", CLASSES, ids=lambda one: one.__name__)
def test_the_parameters_are_the_settings(settings: type):
    assert list(inspect.signature(settings).parameters) == [field.name for field in fields(settings)]
