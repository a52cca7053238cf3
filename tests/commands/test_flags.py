"""Library messages name parameters; only the command layer names flags."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import clipgnn
from clipgnn.commands.flags import with_flag

PACKAGE = Path(clipgnn.__file__).parent
LIBRARY = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    # commits.py calls Git, whose flags are not ours.
    if path.name not in ("cli.py", "commits.py")
    and "commands" not in path.relative_to(PACKAGE).parts
)


def messages(path: Path) -> Iterator[str]:
    """String constants of a file, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
        ):
            yield node.value


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_library_names_no_flags(path: Path) -> None:
    words = [word.strip("`'\"(.") for text in messages(path) for word in text.split()]
    assert [word for word in words if word.startswith("--") and word[2:3].isalpha()] == []


def test_only_the_first_occurrence_of_the_whole_word_is_replaced() -> None:
    message = "workers must be set. Got no workers, and coworkers"
    assert with_flag(message, "workers") == ("--workers must be set. Got no workers, and coworkers")
    assert with_flag("coworkers, then workers", "workers") == "coworkers, then --workers"
    assert with_flag(message, None) == message
