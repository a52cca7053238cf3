"""A model by name: its parameters, the way it learns, and the class that implements it."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from clipgnn.parameters.import_paths import import_object, is_import_path
from clipgnn.parameters.recipe import Recipe
from clipgnn.parameters.rules import Rule
from clipgnn.parameters.schema import Parameters


@dataclass(frozen=True)
class Model:
    """A model and the way it learns.

    Attributes:
        implementation: the class that implements it, or the import path of a user's class.
        parameters: its parameters. Those of a user's class are known when it is imported, and
            `Parameters` stands for them.
        learner: parameters of its training: a recipe for a network, a support vector machine for a
            kernel, which has no epochs.
        folds_together: whether all folds of a configuration are one job on the CPU too. Kernels
            share the Gram matrix, and small networks are faster that way
            (`clipgnn bench --only together`). On a GPU the folds of every network are one job.
    """

    implementation: str
    parameters: type[Parameters]
    learner: type[Parameters] = Recipe
    folds_together: bool = False

    def load(self) -> Any:
        """Import the class that implements the model; that of a user runs code of the user."""
        if is_import_path(self.implementation):
            return import_object(self.implementation)
        module, name = self.implementation.rsplit(".", 1)
        return getattr(import_module(module), name)

    @property
    def trained(self) -> bool:
        """Whether the model is trained in epochs."""
        return self.learner is Recipe

    @property
    def rules(self) -> Mapping[str, Rule]:
        """The rules of everything that can be chosen: parameters of the model and the learner."""
        own = self.parameters.rules()
        return {
            **{name: own[name] for name in self.parameters.chosen()},
            **self.learner.rules(),
        }
