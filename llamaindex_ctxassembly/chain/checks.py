"""The checks of an answer engine's parts."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any

from llama_index.core.base.llms.base import BaseLLM

from ctxassembly.config.answering import AnswerConfig
from ctxassembly.errors import ConfigError
from llamaindex_ctxassembly.chain.evidence import Evidence


def checked_config(config: Any) -> AnswerConfig:
    """`config`; the default settings for None.

    Raises:
        ConfigError: it is something else.
    """
    if not (config is None or isinstance(config, AnswerConfig)):
        raise ConfigError("config", "an AnswerConfig or None", config)
    return config or AnswerConfig()


def check_models(llm: Any, models: Mapping[str, Any]) -> None:
    """Check the LLM, and those by mode.

    Raises:
        ConfigError: one of them is no LLM.
    """
    for name, model in {"llm": llm, **{f"models[{mode!r}]": given for mode, given in models.items()}}.items():
        if not isinstance(model, BaseLLM):
            raise ConfigError(name, "a LlamaIndex LLM", model)


def parameters_of(index: Any, retriever: Any) -> set[str]:
    """Return the names that `index.as_retriever` and the classes of the `retriever` it made have parameters for.

    These classes take any other name, too, and do nothing with it.
    """
    made = (retriever, *(getattr(retriever, "sub_retrievers", None) or ()))
    own = (vars(kind).get("__init__") for one in made for kind in type(one).__mro__)
    functions = [index.as_retriever, *filter(None, own)]
    parameters = (one for function in functions for one in signature(function).parameters.values())
    many = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return {one.name for one in parameters if one.kind not in many} - {"self"} | {"vector_store_kwargs"}


def check_cache(cache: Any, evidence: Evidence) -> None:
    """Check the cache beside the evidence of an engine.

    Raises:
        ConfigError: it is no cache, or there are labels that a kept answer would not have.
    """
    if not (cache is None or (hasattr(cache, "get") and hasattr(cache, "set"))):
        raise ConfigError("cache", "an object with get(key) and set(key, entry)", cache)
    if cache is not None and evidence.labels is not None:
        raise ConfigError("cache", "None where there are labels=: a kept answer has the labels it had", cache)
