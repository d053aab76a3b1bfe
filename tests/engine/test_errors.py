from __future__ import annotations

import subprocess
import sys

import pytest

from ctxassembly import errors


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name.endswith("Error")])
def test_one_tree(name: str):
    assert issubclass(getattr(errors, name), errors.CtxAssemblyError)


def test_the_tree_is_drawn_whole():
    assert errors.__doc__
    assert all(name in errors.__doc__ for name in errors.__all__)


def test_a_missing_extra_names_the_install():
    error = errors.MissingExtraError("the embedded server", "embedded")
    assert isinstance(error, ImportError)
    assert str(error) == "the embedded server needs an optional dependency: pip install 'ctxassembly[embedded]'"


@pytest.mark.parametrize("missing", ["sqlalchemy", "greenlet"])
def test_an_index_on_postgres_names_its_extra_if_a_part_of_it_is_missing(missing: str):
    """LangChain's community package brings SQLAlchemy alone."""
    script = f"import sys; sys.modules[{missing!r}] = None; from ctxassembly import PostgresIndex"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "MissingExtraError" in done.stderr
    assert "pip install 'ctxassembly[postgres]'" in done.stderr


def test_a_config_error_names_parameter_range_and_value():
    error = errors.ConfigError("window", "an integer from 0 to 3", 4)
    assert (str(error), error.parameter) == ("window must be an integer from 0 to 3, got 4", "window")


def test_a_long_value_is_shown_by_its_beginning():
    """A whole tokenizer, for one, in place of a function that counts."""
    error = errors.ConfigError("encoding", "a function", ["token"] * 1_000)
    assert str(error) == f"encoding must be a function, got {['token'] * 1_000!r:.200}"
    assert len(str(error)) < 250
