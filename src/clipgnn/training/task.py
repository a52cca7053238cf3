"""Kinds of targets that networks are trained for."""

from typing import Literal

from torch import Tensor

from clipgnn.parameters import Recipe

Task = Literal["classes", "binary", "numbers"]
"""Kinds of targets: one class for each graph, binary targets, or real numbers."""


def task_of(recipe: Recipe, targets: Tensor) -> Task:
    """The kind of targets that a recipe trains for.

    A user-defined loss of float targets is one for binary targets if its metric is.
    """
    if not targets.is_floating_point() and recipe.loss != "binary-cross-entropy":
        return "classes"
    return "binary" if recipe.maximize else "numbers"
