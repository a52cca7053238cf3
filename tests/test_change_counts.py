"""The numbers of source files that a change touches, as docs/architecture.md states them.

An implementation may be named in its own file and in the table it is registered in, and nowhere
else: then adding another one touches two files.
"""

import ast
from pathlib import Path

import pytest

import clipgnn
from clipgnn.experiments.executors import EXECUTORS
from clipgnn.parameters import COLORINGS, MODELS
from clipgnn.report import FORMATS

SOURCE = Path(clipgnn.__file__).parent


def _files_that_name(identifier: str) -> set[str]:
    """Files in which an identifier occurs in code, or at the end of a dotted name in a string."""
    return {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if any(_names(node, identifier) for node in ast.walk(ast.parse(path.read_text())))
    }


def _names(node: ast.AST, identifier: str) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
            return name == identifier
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            return name == identifier
        case ast.Constant(value=str(text)):
            return text.startswith("clipgnn.") and text.endswith(f".{identifier}")
    return False


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
