"""Marks for tests of models that need an optional package."""

import pytest

PACKAGES = {"patchy-san": "igraph", "wl": "grakel"}


def marks_of(model: str) -> list[pytest.MarkDecorator]:
    """Return the marks of a test of a model, for `pytest.param(..., marks=marks_of(name))`."""
    return [pytest.mark.needs(PACKAGES[model])] if model in PACKAGES else []
