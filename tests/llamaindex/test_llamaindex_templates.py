"""The prompt templates that ask for labels, in LlamaIndex's own engines."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.response_synthesizers import ResponseMode

from ctxassembly import AssemblyConfig
from ctxassembly.wording.formats import FORMATS
from ctxassembly.wording.languages import LANGUAGES
from ctxassembly.wording.prompts import STYLES, system_prompt
from llamaindex_ctxassembly import (
    CITATION_QA_TEMPLATE,
    CITATION_REFINE_TEMPLATE,
    ContextAssemblyPostprocessor,
    citation_templates,
)
from llamaindex_samples import QUESTION, Answering, splitted

# They are about other things: nobody here has a filter.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning")

ASKS = "Cite the label of the source right after each specific claim, as in [1] or [1][3]."


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("form", FORMATS)
def test_a_prompt_is_that_of_to_messages(style: str, language: Any, form: Any) -> None:
    index = splitted()
    config = AssemblyConfig(format=form, language=language)
    postprocessor = ContextAssemblyPostprocessor(config=config, docstore=index.docstore)
    context = postprocessor.context(index.as_retriever().retrieve(QUESTION), QUESTION)
    templates = citation_templates(style, form=form, language=language)
    system, user = (message["content"] for message in context.to_messages(QUESTION, style))
    assert templates.text_qa.format(context_str=context.text, query_str=QUESTION) == f"{system}\n\n{user}"
    filled = templates.refine.format(context_msg=context.text, query_str=QUESTION, existing_answer="By night.")
    words = LANGUAGES[language]
    assert filled.startswith(system)
    assert filled.endswith(f"{user}\n\n{words.draft} By night.")
    assert words.refine in filled
    chat = templates.context.format(context_str=context.text)
    assert chat == f"{system}\n\n{words.context}\n{context.text}\n\n---\n\n"
    refined = templates.context_refine.format(context_msg=context.text, existing_answer="By night.")
    assert words.refine in refined
    assert refined.endswith(f"{context.text}\n\n---\n\n{words.draft} By night.\n\n")


def test_rules_of_ones_own_and_a_supplement_are_told() -> None:
    made = citation_templates("soft", supplement=True, extra_rules=["Answer as JSON."])
    expected = system_prompt("soft", supplement=True, extra_rules=["Answer as JSON."])
    assert made.text_qa.template.startswith(f"{expected}\n\n")
    assert made.context_refine.template.index("Answer as JSON.") > made.context_refine.template.index("Improve it")


@pytest.mark.parametrize(
    "mode", [ResponseMode.COMPACT, ResponseMode.REFINE, ResponseMode.TREE_SUMMARIZE, ResponseMode.COMPACT_ACCUMULATE]
)
@pytest.mark.parametrize("streaming", [False, True])
def test_every_response_mode_takes_them(mode: ResponseMode, streaming: bool) -> None:
    index, llm = splitted(), Answering()
    streaming = streaming and mode != ResponseMode.COMPACT_ACCUMULATE  # which can't
    engine = index.as_query_engine(
        similarity_top_k=4,
        llm=llm,
        response_mode=mode,
        streaming=streaming,
        node_postprocessors=[ContextAssemblyPostprocessor(docstore=index.docstore)],
        text_qa_template=CITATION_QA_TEMPLATE,
        refine_template=CITATION_REFINE_TEMPLATE,
        summary_template=CITATION_QA_TEMPLATE,
    )
    response = engine.query(QUESTION)
    assert llm.says in str(response)
    assert len(response.source_nodes) == 2
    read = "\n".join(llm.prompts)
    assert all(ASKS in prompt for prompt in llm.prompts)
    assert all(node.text in read for node in response.source_nodes)
    assert len(llm.prompts) == (2 if mode == ResponseMode.REFINE else 1)
    assert (f"Answer so far: {llm.says}" in read) == (mode == ResponseMode.REFINE)
