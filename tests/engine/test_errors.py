from __future__ import annotations

import pickle

import pytest

from ctxassembly import errors


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name.endswith("Error")])
def test_one_tree(name: str):
    assert issubclass(getattr(errors, name), errors.CtxAssemblyError)


def test_the_tree_is_drawn_whole():
    assert errors.__doc__
    assert all(name in errors.__doc__ for name in errors.__all__)


def test_a_config_error_names_parameter_range_and_value():
    error = errors.ConfigError("window", "an integer from 0 to 3", 4)
    assert (str(error), error.parameter) == ("window must be an integer from 0 to 3, got 4", "window")


def test_a_long_value_is_shown_by_its_beginning():
    """A whole tokenizer, for one, in place of a function that counts."""
    error = errors.ConfigError("encoding", "a function", ["token"] * 1_000)
    assert str(error).startswith("encoding must be a function, got ['token', 'token', ")
    assert len(str(error)) < 250


def test_errors_can_be_pickled():
    error = pickle.loads(pickle.dumps(errors.ConfigError("window", "an integer", "x")))
    assert (str(error), error.parameter) == ("window must be an integer, got 'x'", "window")
    answer = pickle.loads(pickle.dumps(errors.AnswerError("nothing", "half")))
    assert (str(answer), answer.partial) == ("nothing", "half")
