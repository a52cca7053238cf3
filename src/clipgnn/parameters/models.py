"""All models by name."""

from collections.abc import Mapping

from clipgnn.parameters.import_paths import is_import_path
from clipgnn.parameters.kernels import GRAPH_KERNELS
from clipgnn.parameters.model import Model
from clipgnn.parameters.networks import NETWORKS
from clipgnn.parameters.schema import Parameters

MODELS: Mapping[str, Model] = {**NETWORKS, **GRAPH_KERNELS}
"""Models by name."""


def model_named(name: str) -> Model:
    """Return a model by its name, or a user's network by its import path; imports nothing.

    Args:
        name: a name of `MODELS`, or an import path, which is not checked.
    """
    return Model(name, Parameters) if is_import_path(name) else MODELS[name]
