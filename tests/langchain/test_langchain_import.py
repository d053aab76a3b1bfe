import subprocess
import sys

import pytest

import langchain_ctxassembly


def test_importing_the_package_loads_no_framework() -> None:
    code = (
        "import langchain_ctxassembly, sys; "
        "loaded = {name.partition('.')[0] for name in sys.modules}; "
        "print(sorted(loaded & {'langchain_core', 'langchain_postgres', 'pydantic', 'sqlalchemy', 'numpy'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_assembler_and_the_retriever_need_no_database_driver() -> None:
    code = (
        "import sys; from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever; "
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'langchain_postgres', 'sqlalchemy'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_name_is_there_and_no_other() -> None:
    for name in langchain_ctxassembly.__all__:
        assert getattr(langchain_ctxassembly, name).__name__ == name
        assert name in dir(langchain_ctxassembly)
    with pytest.raises(AttributeError, match="has no attribute 'Absent'"):
        _ = langchain_ctxassembly.Absent
