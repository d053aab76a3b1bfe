from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from builders import hits_of, words_of
from ctxassembly import AssemblyConfig, Context, MetadataKeys, assemble


def test_a_context_knows_how_it_was_written():
    keys = MetadataKeys(source="file")
    config = AssemblyConfig(format="xml", language="nl", keys=keys)
    context = assemble(hits_of([words_of("A", 0)]), config)
    assert (context.format, context.language, context.keys) == ("xml", "nl", keys)


@pytest.mark.parametrize(
    ("form", "labeled"),
    [("numbered", True), ("source", True), ("xml", True), ("minimal", False), ("grouped", False), ("custom", False)],
)
def test_labels_are_shown_by_some_formats(form: str, labeled: bool):
    assert Context("text", 1, format=form).has_labels is labeled


def test_a_context_without_room_for_a_header_is_minimal():
    hits = hits_of([words_of("A", 0)])
    tiny = assemble(hits, AssemblyConfig(max_tokens=3))
    assert tiny.format == "minimal"
    assert tiny.text == assemble(hits, AssemblyConfig(max_tokens=3, format="minimal")).text


def test_a_context_can_be_pickled():
    context = assemble(hits_of([words_of("A", 0)]))
    assert pickle.loads(pickle.dumps(context)) == context


def test_assembling_loads_nothing_that_reads_answers():
    code = (
        "import sys; from ctxassembly import assemble; assemble([]); "
        "print([name for name in ('answer', 'markers', 'prompts', 'quotes', 'references', 'speech') "
        "if f'ctxassembly.{name}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
