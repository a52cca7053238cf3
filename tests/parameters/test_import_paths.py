"""Import paths: their form, and one clear line for each import that fails."""

import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from clipgnn.errors import InvalidParameterError
from clipgnn.parameters import MODELS, Parameters, is_import_path, model_named
from clipgnn.parameters.import_paths import import_object, search_in

NUMBERS = count()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A new module in the search path."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    search_in([str(tmp_path)])
    path = tmp_path / f"own_module_{next(NUMBERS)}.py"
    yield path
    sys.modules.pop(path.stem, None)


@pytest.mark.parametrize("name", ["a:b", "my_package.nets:Net", "_a._b.c1:_D", "ünlü:größe"])
def test_import_paths(name: str) -> None:
    assert is_import_path(name)
    assert model_named(name).parameters is Parameters
    assert model_named(name).trained


@pytest.mark.parametrize(
    "name",
    [
        *(None, 1, "", "clip", "a.b", "a:", ":a", "a:b:c", "a.:b", "a..b:c", "1a:b", "a:b.c"),
        *("a b:c", "a/b:c", "../a:b", "a:b()", "a:b\n", "tu:IMDB-BINARY", "https://a.b:c"),
    ],
)
def test_other_names(name: object) -> None:
    assert not is_import_path(name)


def test_models_of_clipgnn_have_their_names() -> None:
    assert all(model_named(name) is model for name, model in MODELS.items())


def test_an_object_is_imported(module: Path) -> None:
    module.write_text("value = 3\n")
    assert import_object(f"{module.stem}:value") == 3
    assert model_named(f"{module.stem}:value").load() == 3


def test_folders_are_searched_after_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = [*sys.path]
    search_in([str(tmp_path), str(tmp_path), before[0]])
    search_in([str(tmp_path)])
    assert sys.path == [*before, str(tmp_path)]


@pytest.mark.parametrize(
    ("text", "attribute", "message"),
    [
        ("value = 3", "valu", r"has no 'valu'\. Did you mean 'value'\?"),
        ("1 / 0", "value", r"raised ZeroDivisionError: division by zero \(own_module_\d+.py, line"),
        ("value = (", "value", r"raised SyntaxError: '\(' was never closed \(own_mod.*line 1\)\."),
        ("import own_missing", "value", r"must be importable.*No module named 'own_missing'"),
        ("raise SystemExit(0)", "value", "raised SystemExit: 0"),
        ("raise ValueError('two\\nlines')", "value", r"raised ValueError: two \("),
        ("import json; json.loads('{')", "value", r"JSONDecodeError: .*own_module_\d+.py, line 1"),
    ],
)
def test_imports_that_fail(module: Path, text: str, attribute: str, message: str) -> None:
    module.write_text(text)
    with pytest.raises(InvalidParameterError, match=message) as caught:
        import_object(f"{module.stem}:{attribute}")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("path", ["own_missing:load", "own_missing.data:load", "json.own:load"])
def test_modules_that_do_not_exist(path: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"module of '{path}' must be found by Python"):
        import_object(path)
