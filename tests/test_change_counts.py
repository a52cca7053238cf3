"""The numbers of source files that a change touches, as docs/architecture.md states them.

An implementation may be named in its own file and in the table it is registered in, and nowhere
else: then adding another one touches two files.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

import clipgnn
from clipgnn.experiments.executors import EXECUTORS
from clipgnn.parameters import COLORINGS, MODELS
from clipgnn.report import FORMATS

SOURCE = Path(clipgnn.__file__).parent


@cache
def _names() -> dict[str, set[str]]:
    """Identifiers in the code of each file, and the ends of dotted names in its strings."""
    return {
        str(path.relative_to(SOURCE)): {
            name for node in ast.walk(ast.parse(path.read_text())) for name in _names_of(node)
        }
        for path in SOURCE.rglob("*.py")
    }


def _files_that_name(identifier: str) -> set[str]:
    return {path for path, names in _names().items() if identifier in names}


def _names_of(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
            return [name]
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            return [name]
        case ast.Constant(value=str(text)) if text.startswith("clipgnn."):
            return [text.rsplit(".", 1)[1]]
    return []


def _file_of(dotted: str) -> str:
    return f"{dotted.rsplit('.', 1)[0].removeprefix('clipgnn.').replace('.', '/')}.py"


@pytest.mark.parametrize("dotted", [path for name, path in COLORINGS.items() if name != "random"])
def test_a_coloring_scheme_is_named_in_two_files(dotted: str) -> None:
    expected = {_file_of(dotted), "parameters/networks.py"}
    assert _files_that_name(dotted.rsplit(".", 1)[1]) == expected


@pytest.mark.parametrize("name", [name for name in MODELS if name != "clip"])
def test_a_baseline_is_named_in_two_files(name: str) -> None:
    dotted = MODELS[name].implementation
    table = "parameters/networks.py" if MODELS[name].trained else "parameters/kernels.py"
    assert _files_that_name(dotted.rsplit(".", 1)[1]) == {_file_of(dotted), table}


@pytest.mark.parametrize("name", EXECUTORS)
def test_an_executor_is_named_in_two_files(name: str) -> None:
    factory = EXECUTORS[name]
    owner = factory.__self__.__name__  # type: ignore[attr-defined]
    own = f"{factory.__module__.removeprefix('clipgnn.').replace('.', '/')}.py"
    assert _files_that_name(owner) == {own, "experiments/executors/__init__.py"}


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_format_is_named_in_two_files(name: str) -> None:
    render = FORMATS[name].render
    own = f"{render.__module__.removeprefix('clipgnn.').replace('.', '/')}.py"
    assert _files_that_name(render.__name__) == {own, "report/__init__.py"}
